-- One row per column, in order. Types are spelt out once each by postgres_types.sql.
SELECT
    a.attrelid::int8,
    a.attnum::int4,
    a.attname::text,
    a.atttypid::int8,
    a.atttypmod,
    a.attnotnull,
    a.attidentity <> '',
    a.attgenerated <> '',
    c.description
FROM described d
JOIN pg_catalog.pg_attribute a ON a.attrelid = d.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_description c
    ON c.objoid = a.attrelid AND c.classoid = 'pg_catalog.pg_class'::regclass AND c.objsubid = a.attnum
ORDER BY 1, 2
