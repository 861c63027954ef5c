-- Relations that another session holds, or waits for, exclusively: opening them would block.
SELECT DISTINCT COALESCE(pg_catalog.pg_partition_root(l.relation), l.relation)::int8
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = pg_catalog.current_database()
WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
