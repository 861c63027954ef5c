SELECT table_schema, table_name, table_type, comment, row_count, bytes
FROM INFORMATION_SCHEMA.TABLES
WHERE table_schema <> 'INFORMATION_SCHEMA'
