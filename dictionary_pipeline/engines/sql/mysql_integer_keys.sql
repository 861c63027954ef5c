SELECT table_schema, table_name, MIN(column_name), MAX(extra LIKE '%auto_increment%')
FROM information_schema.columns
WHERE {scope} AND column_key = 'PRI'
GROUP BY table_schema, table_name
HAVING COUNT(*) = 1 AND MIN(data_type) IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
