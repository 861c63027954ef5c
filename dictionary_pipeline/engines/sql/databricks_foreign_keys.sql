SELECT fk.table_schema, fk.table_name, rc.constraint_name, fk.ordinal_position, fk.column_name,
       rc.unique_constraint_catalog, rc.unique_constraint_schema, rc.unique_constraint_name,
       pk.table_catalog, pk.table_schema, pk.table_name, pk.column_name, rc.update_rule, rc.delete_rule
FROM {catalog}.information_schema.referential_constraints AS rc
JOIN {catalog}.information_schema.key_column_usage AS fk
  ON fk.constraint_catalog = rc.constraint_catalog AND fk.constraint_schema = rc.constraint_schema
 AND fk.constraint_name = rc.constraint_name
LEFT JOIN {parents}.information_schema.key_column_usage AS pk
  ON pk.constraint_catalog = rc.unique_constraint_catalog AND pk.constraint_schema = rc.unique_constraint_schema
 AND pk.constraint_name = rc.unique_constraint_name AND pk.ordinal_position = fk.position_in_unique_constraint
