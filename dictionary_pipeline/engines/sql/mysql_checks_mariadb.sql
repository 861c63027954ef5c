SELECT constraint_schema, table_name, constraint_name, check_clause, 'YES'
FROM information_schema.check_constraints
WHERE {scope:constraint_schema}
