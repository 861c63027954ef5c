-- Moves with DDL and comments, not with ANALYZE and VACUUM: those rewrite rows of pg_class only,
-- of which just the names are looked at. Temporary objects and partitions come and go unseen.
-- Numbers below 16384 are the server's own objects.
WITH relation AS (
    SELECT c.oid, pg_catalog.hashtext(c.relname || '.' || c.relkind::text || c.relnamespace::text) AS mark
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname !~ '^pg_'
), change AS (
    SELECT 1 AS source, oid, 0 AS part, mark AS moved FROM relation
    UNION ALL
    SELECT 2, a.attrelid, a.attnum, a.xmin::text::int8
    FROM pg_catalog.pg_attribute a JOIN relation r ON r.oid = a.attrelid WHERE a.attnum > 0
    UNION ALL
    SELECT 3, i.indexrelid, 0, i.xmin::text::int8
    FROM pg_catalog.pg_index i JOIN relation r ON r.oid = i.indrelid
    UNION ALL
    SELECT 4, w.oid, 0, w.xmin::text::int8
    FROM pg_catalog.pg_rewrite w JOIN relation r ON r.oid = w.ev_class
    UNION ALL
    SELECT 5, k.oid, 0, k.xmin::text::int8
    FROM pg_catalog.pg_constraint k
    WHERE k.oid >= 16384 AND (k.contypid <> 0 OR k.conrelid IN (SELECT oid FROM relation))
    UNION ALL
    SELECT 6, c.objoid, c.objsubid, c.xmin::text::int8
    FROM pg_catalog.pg_description c JOIN relation r ON r.oid = c.objoid
    WHERE c.classoid = 'pg_catalog.pg_class'::regclass
    UNION ALL
    SELECT 7, x.oid, 0, x.xmin::text::int8
    FROM pg_catalog.pg_attrdef x JOIN relation r ON r.oid = x.adrelid
    UNION ALL
    SELECT 8, e.oid, 0, e.xmin::text::int8
    FROM pg_catalog.pg_enum e WHERE e.oid >= 16384
    UNION ALL
    SELECT 9, t.oid, 0, t.xmin::text::int8
    FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typtype IN ('d', 'e')
    UNION ALL
    SELECT 10, n.oid, 0, pg_catalog.hashtext(n.nspname)
    FROM pg_catalog.pg_namespace n WHERE n.oid >= 16384 AND n.nspname !~ '^pg_'
)
SELECT pg_catalog.count(*)::text || ':' || COALESCE(
    pg_catalog.sum(pg_catalog.hashint8(
        moved # (pg_catalog.hashint8(oid::int8 * 65536 + part * 16 + source)::int8 << 32)
    )), 0
)::text
FROM change
