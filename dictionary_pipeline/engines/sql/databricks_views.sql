SELECT table_schema, table_name, view_definition
FROM {catalog}.information_schema.views
WHERE table_schema <> 'information_schema'
