SELECT table_schema, table_name, constraint_name, ordinal_position, column_name,
       referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE {scope} AND referenced_table_name IS NOT NULL
