SELECT table_schema, table_name, table_type, CAST(last_altered AS STRING)
FROM {catalog}.information_schema.tables
WHERE table_schema <> 'information_schema'
