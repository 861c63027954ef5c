SELECT DISTINCT d.referencing_id, d.referenced_id, d.referenced_schema_name, d.referenced_entity_name
FROM sys.sql_expression_dependencies AS d
JOIN sys.objects AS o ON o.object_id = d.referencing_id
WHERE o.type = 'V' AND d.referenced_class = 1 AND d.referenced_server_name IS NULL AND d.referenced_database_name IS NULL
