-- One row per type and modifier in use. A domain stands for the type below it and carries the
-- constraints of every domain on the way down.
, used AS (
    SELECT DISTINCT a.atttypid, a.atttypmod
    FROM described d
    JOIN pg_catalog.pg_attribute a ON a.attrelid = d.oid AND a.attnum > 0 AND NOT a.attisdropped
), chain AS (
    SELECT DISTINCT u.atttypid AS typid, u.atttypid AS link FROM used u
    UNION
    SELECT c.typid, t.typbasetype
    FROM chain c
    JOIN pg_catalog.pg_type t ON t.oid = c.link
    WHERE t.typtype = 'd'
), resolved AS (
    SELECT
        c.typid,
        pg_catalog.max(t.oid::int8) FILTER (WHERE t.typtype <> 'd')::oid AS base,
        pg_catalog.bool_or(t.typtype = 'd' AND t.typnotnull) AS not_null
    FROM chain c
    JOIN pg_catalog.pg_type t ON t.oid = c.link
    GROUP BY c.typid
)
SELECT
    u.atttypid::int8,
    u.atttypmod,
    pg_catalog.format_type(u.atttypid, u.atttypmod),
    b.typtype::text,
    b.typcategory::text,
    b.typname::text,
    r.not_null,
    CASE WHEN b.typtype = 'e' THEN pg_catalog.to_json(ARRAY(
        SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = b.oid ORDER BY e.enumsortorder
    ))::text END,
    (
        SELECT pg_catalog.json_agg(pg_catalog.pg_get_expr(k.conbin, 0) ORDER BY k.conname, k.oid)::text
        FROM chain c
        JOIN pg_catalog.pg_constraint k ON k.contypid = c.link AND k.contype = 'c' AND k.convalidated
        WHERE c.typid = u.atttypid
    )
FROM used u
JOIN resolved r ON r.typid = u.atttypid
JOIN pg_catalog.pg_type b ON b.oid = r.base
