SELECT t.table_schema, t.table_name, t.constraint_name, c.check_clause, t.enforced
FROM information_schema.table_constraints AS t
JOIN information_schema.check_constraints AS c
  ON c.constraint_schema = t.constraint_schema AND c.constraint_name = t.constraint_name
WHERE t.constraint_type = 'CHECK' AND {scope:t.table_schema}
