SELECT c.object_id, c.column_id, c.name, COALESCE(b.name, y.name), c.max_length, c.precision, c.scale, c.is_nullable,
       c.is_identity, c.is_computed, c.generated_always_type, COALESCE(d.definition, m.definition),
       CAST(p.value AS NVARCHAR(4000))
FROM sys.columns AS c
JOIN sys.objects AS o ON o.object_id = c.object_id
JOIN sys.types AS y ON y.user_type_id = c.user_type_id
LEFT JOIN sys.types AS b ON y.is_user_defined = 1 AND b.user_type_id = y.system_type_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
LEFT JOIN sys.computed_columns AS m ON m.object_id = c.object_id AND m.column_id = c.column_id
LEFT JOIN sys.extended_properties AS p
  ON p.class = 1 AND p.major_id = c.object_id AND p.minor_id = c.column_id AND p.name = N'MS_Description'
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND (c.is_hidden = 0 OR c.generated_always_type <> 0)
