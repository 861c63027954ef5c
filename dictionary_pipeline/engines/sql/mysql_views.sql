SELECT table_schema, table_name, view_definition
FROM information_schema.views
WHERE {scope}
