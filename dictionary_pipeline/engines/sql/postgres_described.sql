-- The start of every catalog statement: the relations that the dictionary describes.
-- Partitions belong to their parent; schemas named pg_... are the server's own (temporary ones too);
-- what an extension brought along describes the extension, not the database.
WITH RECURSIVE described AS (
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relnamespace
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT c.relispartition
      AND n.nspname <> 'information_schema'
      AND n.nspname !~ '^pg_'
      AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_depend d
          WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
      )
)
