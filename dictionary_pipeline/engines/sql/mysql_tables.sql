SELECT table_schema, table_name, table_type, table_comment, table_rows, data_length, engine
FROM information_schema.tables
WHERE {scope} AND table_type <> 'SEQUENCE'
