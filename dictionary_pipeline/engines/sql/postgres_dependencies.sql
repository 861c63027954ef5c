-- Which relations a view reads. The catalog knows the columns read too, but not which column of
-- the view each of them feeds, so nothing is said about columns.
SELECT DISTINCT v.oid::int8, s.oid::int8
FROM described v
JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.oid AND r.rulename = '_RETURN'
JOIN pg_catalog.pg_depend d
    ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
   AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.deptype = 'n'
JOIN described s ON s.oid = COALESCE(pg_catalog.pg_partition_root(d.refobjid), d.refobjid)
WHERE v.relkind IN ('v', 'm') AND s.oid <> v.oid
