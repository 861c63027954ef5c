SELECT CONCAT_WS('-',
  (SELECT CONCAT_WS('.', COUNT(*), SUM(CRC32(CONCAT_WS(0x1F, table_schema, table_name, table_type, table_comment))))
   FROM information_schema.tables WHERE {scope}),
  (SELECT CONCAT_WS('.', COUNT(*), SUM(CRC32(CONCAT_WS(0x1F, table_schema, table_name, column_name, ordinal_position,
      column_type, is_nullable, column_default, extra, column_comment))))
   FROM information_schema.columns WHERE {scope}),
  (SELECT CONCAT_WS('.', COUNT(*), SUM(CRC32(CONCAT_WS(0x1F, table_schema, table_name, index_name, non_unique,
      seq_in_index, column_name))))
   FROM information_schema.statistics WHERE {scope}),
  (SELECT CONCAT_WS('.', COUNT(*), SUM(CRC32(CONCAT_WS(0x1F, table_schema, table_name, constraint_name, column_name,
      referenced_table_schema, referenced_table_name, referenced_column_name))))
   FROM information_schema.key_column_usage WHERE {scope}),
  (SELECT CONCAT_WS('.', COUNT(*), SUM(CRC32(CONCAT_WS(0x1F, table_schema, table_name, view_definition))))
   FROM information_schema.views WHERE {scope}))
