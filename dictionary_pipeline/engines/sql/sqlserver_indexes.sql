SELECT i.object_id, i.name, i.is_primary_key, i.is_unique_constraint, i.is_unique, i.has_filter, i.is_disabled,
       k.key_ordinal, c.name
FROM sys.indexes AS i
JOIN sys.objects AS o ON o.object_id = i.object_id
JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND i.type IN (1, 2, 7) AND i.is_hypothetical = 0 AND k.key_ordinal > 0
