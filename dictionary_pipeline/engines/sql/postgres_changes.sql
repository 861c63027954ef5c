-- How often rows of a table and its partitions were changed since the server began to count, and the
-- files they lie in, which TRUNCATE and REFRESH replace. Nothing on a standby, which does not count.
, family AS (
    SELECT oid AS ancestor, oid AS member FROM described WHERE relkind IN ('r', 'p', 'm')
    UNION
    SELECT f.ancestor, i.inhrelid FROM family f JOIN pg_catalog.pg_inherits i ON i.inhparent = f.member
)
SELECT d.nspname, d.relname, pg_catalog.concat_ws(
    ' ',
    pg_catalog.sum(pg_catalog.pg_stat_get_tuples_inserted(f.member)),
    pg_catalog.sum(pg_catalog.pg_stat_get_tuples_updated(f.member)),
    pg_catalog.sum(pg_catalog.pg_stat_get_tuples_deleted(f.member)),
    pg_catalog.sum(m.relfilenode::int8)
)
FROM family f
JOIN described d ON d.oid = f.ancestor
JOIN pg_catalog.pg_class m ON m.oid = f.member
WHERE NOT pg_catalog.pg_is_in_recovery() AND pg_catalog.current_setting('track_counts')::bool
GROUP BY d.oid, d.nspname, d.relname
