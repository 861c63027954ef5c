SELECT table_schema, table_name, column_name, ordinal_position, data_type, character_maximum_length,
       numeric_precision, numeric_scale, is_nullable, column_default, is_identity, comment
FROM INFORMATION_SCHEMA.COLUMNS
WHERE table_schema <> 'INFORMATION_SCHEMA'
