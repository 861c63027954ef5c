SELECT object_id, SUM(row_count), SUM(used_page_count) * 8192
FROM sys.dm_db_partition_stats
WHERE index_id IN (0, 1)
GROUP BY object_id
