-- One row per relation. Row estimates add up over partitions and inheriting tables, because a
-- parent's SELECT reads them too. Until release 14 zero rows on zero pages meant "never counted".
, family AS (
    SELECT oid AS ancestor, oid AS member FROM described WHERE relkind <> 'v'
    UNION
    SELECT f.ancestor, i.inhrelid FROM family f JOIN pg_catalog.pg_inherits i ON i.inhparent = f.member
), extent AS (
    SELECT
        f.ancestor,
        pg_catalog.sum(m.reltuples) FILTER (
            WHERE m.reltuples > 0 OR m.relpages > 0
               OR (m.reltuples = 0 AND pg_catalog.current_setting('server_version_num')::int4 >= 140000)
        )::int8 AS row_estimate
    FROM family f
    JOIN pg_catalog.pg_class m ON m.oid = f.member
    WHERE m.relkind IN ('r', 'm', 'f')
    GROUP BY f.ancestor
), granted AS (
    SELECT
        oid,
        pg_catalog.has_schema_privilege(relnamespace, 'USAGE') AS on_schema,
        pg_catalog.has_table_privilege(oid, 'SELECT') AS on_table,
        pg_catalog.has_any_column_privilege(oid, 'SELECT') AS on_columns
    FROM described
)
SELECT
    d.oid::int8,
    d.nspname::text,
    d.relname::text,
    CASE d.relkind
        WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized_view' WHEN 'f' THEN 'foreign_table' ELSE 'table'
    END,
    c.description,
    e.row_estimate,
    COALESCE(g.on_schema AND (g.on_table OR g.on_columns), false),
    CASE WHEN g.on_schema AND g.on_columns AND NOT g.on_table THEN pg_catalog.to_json(ARRAY(
        SELECT a.attname::text
        FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = d.oid AND a.attnum > 0 AND NOT a.attisdropped
          AND NOT pg_catalog.has_column_privilege(d.oid, a.attnum, 'SELECT')
        ORDER BY a.attnum
    ))::text END
FROM described d
JOIN granted g ON g.oid = d.oid
LEFT JOIN extent e ON e.ancestor = d.oid
LEFT JOIN pg_catalog.pg_description c
    ON c.objoid = d.oid AND c.classoid = 'pg_catalog.pg_class'::regclass AND c.objsubid = 0
ORDER BY 2, 3
