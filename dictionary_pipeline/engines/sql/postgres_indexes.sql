-- Indexes other than those of primary and unique keys. Only a complete, valid index over plain
-- columns makes rows unique; expressions have column number 0, INCLUDE columns come after the key.
SELECT
    i.indrelid::int8,
    x.relname::text,
    pg_catalog.to_json(ARRAY(
        SELECT a.attname::text
        FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS part (attnum, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = part.attnum
        WHERE part.place <= i.indnkeyatts AND part.attnum > 0
        ORDER BY part.place
    ))::text,
    i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
FROM described d
JOIN pg_catalog.pg_index i ON i.indrelid = d.oid
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = i.indrelid
      AND k.contype IN ('p', 'u')
)
