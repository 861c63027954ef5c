-- Primary, unique and foreign keys and CHECK constraints, columns in the order of the key.
-- conparentid <> 0 marks the copies that a key to or from a partitioned table has per partition.
SELECT
    k.oid::int8,
    k.conrelid::int8,
    k.conname::text,
    k.contype::text,
    k.convalidated,
    pg_catalog.to_json(ARRAY(
        SELECT a.attname::text
        FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY AS part (attnum, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = part.attnum
        ORDER BY part.place
    ))::text,
    tn.nspname::text,
    t.relname::text,
    pg_catalog.to_json(ARRAY(
        SELECT a.attname::text
        FROM pg_catalog.unnest(k.confkey) WITH ORDINALITY AS part (attnum, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = part.attnum
        ORDER BY part.place
    ))::text,
    k.confupdtype::text,
    k.confdeltype::text
FROM described d
JOIN pg_catalog.pg_constraint k ON k.conrelid = d.oid
LEFT JOIN pg_catalog.pg_class t
    ON k.contype = 'f' AND t.oid = COALESCE(pg_catalog.pg_partition_root(k.confrelid), k.confrelid)
LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
WHERE k.contype IN ('p', 'u', 'f', 'c') AND k.conparentid = 0
