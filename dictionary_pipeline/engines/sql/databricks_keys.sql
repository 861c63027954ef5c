SELECT c.constraint_schema, c.constraint_name, c.constraint_type, c.table_schema, c.table_name, k.column_name,
       k.ordinal_position
FROM {catalog}.information_schema.table_constraints AS c
JOIN {catalog}.information_schema.key_column_usage AS k
  ON k.constraint_catalog = c.constraint_catalog AND k.constraint_schema = c.constraint_schema
 AND k.constraint_name = c.constraint_name AND k.table_schema = c.table_schema AND k.table_name = c.table_name
WHERE c.constraint_type IN ('PRIMARY KEY', 'UNIQUE')
