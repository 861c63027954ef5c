SELECT table_schema, table_name, column_name, ordinal_position, full_data_type, is_nullable, column_default, comment
FROM {catalog}.information_schema.columns
WHERE table_schema <> 'information_schema'
