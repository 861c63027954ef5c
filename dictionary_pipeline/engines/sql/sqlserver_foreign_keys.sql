SELECT f.object_id, f.name, f.parent_object_id, f.referenced_object_id, f.is_disabled, f.is_not_trusted,
       f.update_referential_action, f.delete_referential_action, k.constraint_column_id, c.name, r.name, s.name, o.name
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id
LEFT JOIN sys.columns AS r ON r.object_id = k.referenced_object_id AND r.column_id = k.referenced_column_id
LEFT JOIN sys.objects AS o ON o.object_id = f.referenced_object_id
LEFT JOIN sys.schemas AS s ON s.schema_id = o.schema_id
