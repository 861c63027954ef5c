"""One suite for every engine: the same declared schema must give the same neutral catalog.

How it works
    `model.py` declares schemas, tables, keys, views and rows in neutral words, `shop.py` the one
    schema that all engines are tested with. Every declared element may `need` facts; an engine's
    `unsupported` mapping (fact -> reason) leaves those elements out, both when the database is
    built and when the result is compared (`Declaration.adapted`). What remains must come back from
    `Engine.read_catalog` exactly (`neutral.py`); `test_conformance.py` asserts it, prints nothing
    away silently (the reasons are part of the test ids' report), and counts catalog statements.

Plugging in an engine
    1. Write `tests/conformance/engine_<name>.py` with

           @contextmanager
           def running(request: pytest.FixtureRequest, folder: Path) -> Iterator[EngineUnderTest]: ...

       `request.getfixturevalue("postgres")` gives session fixtures; `folder` is a fresh directory.
       Skip loudly (and fail when CI is set) when a server is missing.
    2. Add the name to `ENGINES` below.

    An `EngineUnderTest` says what it is called, which facts it leaves out and why, how many catalog
    statements it may send, and builds a database from a declaration. `ddl.py` renders declarations
    as SQL; a test server may instead take the declaration as its catalog, never the product's queries.
"""

from __future__ import annotations

ENGINES = ("duckdb", "sqlite", "postgres", "mysql", "sqlserver", "snowflake", "databricks")
"""Names of the `engine_<name>` modules beside this one."""
