SELECT constraint_schema, table_name, constraint_name, update_rule, delete_rule
FROM information_schema.referential_constraints
WHERE {scope:constraint_schema}
