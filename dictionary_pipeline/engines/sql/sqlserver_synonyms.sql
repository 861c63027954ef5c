SELECT y.object_id, s.name, y.name, y.base_object_name
FROM sys.synonyms AS y
JOIN sys.schemas AS s ON s.schema_id = y.schema_id
