SELECT object_id, SUM(rows), NULL
FROM sys.partitions
WHERE index_id IN (0, 1)
GROUP BY object_id
