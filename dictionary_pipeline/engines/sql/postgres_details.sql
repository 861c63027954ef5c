-- Facts that the server works out by opening the relation, so that a lock or a broken object can
-- get in the way: sizes, view text, defaults, CHECK expressions. One row per fact.
, chosen AS (
    SELECT oid, relkind FROM described /*only*/
), family AS (
    SELECT oid AS ancestor, oid AS member FROM chosen WHERE relkind <> 'v'
    UNION
    SELECT f.ancestor, i.inhrelid FROM family f JOIN pg_catalog.pg_inherits i ON i.inhparent = f.member
)
SELECT 'size', f.ancestor::int8, 0::int8, pg_catalog.sum(pg_catalog.pg_relation_size(f.member))::text
FROM family f
JOIN pg_catalog.pg_class m ON m.oid = f.member
WHERE m.relkind IN ('r', 'm')
GROUP BY f.ancestor
UNION ALL
SELECT 'view', oid::int8, 0::int8, pg_catalog.pg_get_viewdef(oid, true)
FROM chosen
WHERE relkind IN ('v', 'm')
UNION ALL
SELECT 'default', x.adrelid::int8, x.adnum::int8, pg_catalog.pg_get_expr(x.adbin, x.adrelid)
FROM chosen
JOIN pg_catalog.pg_attrdef x ON x.adrelid = chosen.oid
UNION ALL
SELECT 'check', k.conrelid::int8, k.oid::int8, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
FROM chosen
JOIN pg_catalog.pg_constraint k ON k.conrelid = chosen.oid AND k.contype = 'c'
