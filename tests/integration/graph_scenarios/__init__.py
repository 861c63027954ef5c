"""Small databases, and by hand all that their knowledge graphs have to say.

Each folder holds `schema.sql` (tables and rows), `database.yml` (the file of `dbt_like_configs/databases/`),
`expected_exact.json` (every entity and edge that the catalog and the data prove) and maybe `documents/`.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

SCENARIOS = ("order", "shifts", "deliveries")
FOLDER = Path(__file__).parent


def make_project(name: str, folder: Path) -> Path:
    """Lay out a project of the one database in `folder`: its file, its configuration, its documents.

    Returns:
        The project folder.
    """
    script = (FOLDER / name / "schema.sql").read_text(encoding="utf-8")
    if name == "order":
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
            connection.executescript(script)
    else:
        with duckdb.connect(str(folder / f"{name}.duckdb")) as database:
            database.execute(script)
    configs = folder / "dbt_like_configs"
    (configs / "databases").mkdir(parents=True)
    (configs / "profiles.yml").write_text("{}\n")
    shutil.copy(FOLDER / name / "database.yml", configs / "databases" / f"{name}.yml")
    if (FOLDER / name / "documents").is_dir():
        shutil.copytree(FOLDER / name / "documents", folder / "documents")
    return folder
