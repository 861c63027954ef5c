SELECT table_schema, table_name, table_type, comment
FROM {catalog}.information_schema.tables
WHERE table_schema <> 'information_schema'
