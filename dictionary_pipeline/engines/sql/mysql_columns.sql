SELECT table_schema, table_name, column_name, ordinal_position, column_type, data_type, is_nullable, column_default,
       extra, generation_expression, column_comment
FROM information_schema.columns
WHERE {scope}
