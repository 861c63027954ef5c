SELECT o.object_id, s.name, o.name, RTRIM(o.type), CAST(p.value AS NVARCHAR(4000)), t.is_external,
       HAS_PERMS_BY_NAME(CONCAT(QUOTENAME(s.name), N'.', QUOTENAME(o.name)), N'OBJECT', N'SELECT')
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
LEFT JOIN sys.extended_properties AS p
  ON p.class = 1 AND p.major_id = o.object_id AND p.minor_id = 0 AND p.name = N'MS_Description'
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0
