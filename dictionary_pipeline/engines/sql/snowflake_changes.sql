SELECT table_schema, table_name, TO_VARCHAR(last_altered, 'YYYY-MM-DD HH24:MI:SS.FF9')
FROM INFORMATION_SCHEMA.TABLES
WHERE table_type = 'BASE TABLE'
