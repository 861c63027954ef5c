"""The last good content of a database's file, for unattended runs while the file itself is invalid.

What is kept is the parsed content, without comments and with `env_var` calls unevaluated. Content
that holds a secret literally is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.connections import read_connection
from dictionary_pipeline.config.engine_options import is_secret_name
from dictionary_pipeline.config.environment import parse_template
from dictionary_pipeline.config.loader import CONFIG_FOLDER, read_project_file, resolve_database
from dictionary_pipeline.config.resolved import DatabaseConfig
from dictionary_pipeline.config.yamlfile import Document, Loc, read_yaml, scalar_text
from dictionary_pipeline.errors import ConfigurationError


def good_content(folder: Path, name: str) -> bytes | None:
    """The content of a database's file to keep, or null when it holds a secret.

    Args:
        folder: The project folder.
        name: Name of the database.

    Raises:
        ConfigurationError: the file is invalid.
    """
    paths = [folder / CONFIG_FOLDER / "databases" / f"{name}{ending}" for ending in (".yml", ".yaml")]
    document = read_yaml(next((path for path in paths if path.exists()), paths[0]), folder=folder)
    resolve_database(document, name, folder, read_project_file(folder))
    if _holds_secret(document, folder):
        return None
    return jsontext.pretty(document.data).encode()


def load_good(folder: Path, name: str, content: bytes) -> DatabaseConfig:
    """Evaluate kept content with today's `project.yml`, profiles and environment.

    Raises:
        ConfigurationError: it does not fit them.
    """
    label = f"the last good configuration of {name}"
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise ConfigurationError("it is damaged", where=label, fix=f"Correct databases/{name}.yml.")
    return resolve_database(Document(Path(label), label, data, {}), name, folder, read_project_file(folder))


def _holds_secret(document: Document, folder: Path) -> bool:
    """Whether the connection in the file, not one of the profiles, holds a secret, used or not."""
    connection, loc = document.data.get("connection"), ("connection",)
    if not isinstance(connection, dict):
        return False
    told = read_connection(connection, document, loc, folder=folder, label="connection", strict=True)
    return bool(told.warnings) or _secret_below(connection, document, loc)


def _secret_below(data: Mapping[str, Any], document: Document, loc: Loc) -> bool:
    for key, value in data.items():
        if isinstance(value, dict):
            if _secret_below(value, document, (*loc, key)):
                return True
        elif is_secret_name(key) and parse_template(scalar_text(value), document, (*loc, key)).literal_text:
            return True
    return False
