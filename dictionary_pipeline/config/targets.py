"""What `data_dictionary build TARGET` describes."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dictionary_pipeline.config.environment import load_env_file, variable
from dictionary_pipeline.config.loader import CONFIG_FOLDER, project_profiles
from dictionary_pipeline.config.predecessor import ENGINES, predecessor_connection
from dictionary_pipeline.config.profiles import Profiles
from dictionary_pipeline.config.resolved import ConnectionSpec
from dictionary_pipeline.config.urls import default_name, spec_from_url
from dictionary_pipeline.config.yamlfile import user_path
from dictionary_pipeline.errors import ConfigurationError, ConnectionFailed, NotADatabase
from dictionary_pipeline.suggestions import closest

PROFILES_DIR_VARIABLE = "DBT_PROFILES_DIR"
"""dbt's own: the folder of `profiles.yml` outside a project of ours."""
_ORIGIN = "the command line"
_KINDS = "a URL, env:VARIABLE, profile:NAME, a SQLite or DuckDB file, or one of: " + ", ".join(sorted(ENGINES))


def resolve_target(target: str, *, folder: Path | None) -> tuple[ConnectionSpec, str]:
    """Find out what a TARGET of the command line means; connects to nothing.

    Args:
        target: A URL, `env:VAR`, `profile:NAME[.TARGET]`, a database file, or an engine name of
            the predecessor in any case.
        folder: The project folder, for its `.env` and profiles; null outside a project, where the
            `.env` of the working directory and dbt's profiles are read.

    Returns:
        The connection, and the name of the database unless the user gives one.

    Raises:
        ConfigurationError: it means nothing, or something it needs is missing.
        NotADatabase: it is a file that neither SQLite nor DuckDB wrote.
    """
    load_env_file(folder or Path.cwd())
    spec = _connection(target.strip(), folder)
    return spec, default_name(spec)


def _connection(target: str, folder: Path | None) -> ConnectionSpec:
    kind, _, rest = target.partition(":")
    if kind == "profile" and rest:
        return _profile(rest, folder)
    if kind == "env" and rest:
        return _url_or_file(variable(rest, target), f"the environment variable {rest}")
    if target.lower() in ENGINES:
        return _checked(predecessor_connection(target.lower(), folder=Path.cwd()))
    return _url_or_file(target, _ORIGIN)


def _url_or_file(text: str, origin: str) -> ConnectionSpec:
    if "://" in text:
        return _checked(spec_from_url(text, origin=origin, folder=Path.cwd()))
    path = user_path(text)
    if _is_there(path):
        return ConnectionSpec(_file_type(path), {"path": str(path.absolute())}, {}, origin)
    raise _unknown(text, origin)


def _checked(spec: ConnectionSpec) -> ConnectionSpec:
    """The connection, once its database file, if it is one, was found to be of its engine."""
    if spec.type not in ("sqlite", "duckdb"):
        return spec
    path = Path(str(spec.options["path"]))
    if not _is_there(path):
        raise ConfigurationError("the database file does not exist", where=str(path), fix="Check the path.")
    found = _file_type(path)
    if found != spec.type:
        raise NotADatabase(
            f"the file is a {found} database, not a {spec.type} one", where=str(path), fix="Name the file alone."
        )
    return spec


def _is_there(path: Path) -> bool:
    """Whether there is a file, or may be one in a folder that nobody lets us look into: opening it will tell."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _file_type(path: Path) -> str:
    """Engine of a file by its first bytes (SQLite file format 1.2, DuckDB storage header)."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except IsADirectoryError:
        raise ConfigurationError("this is a folder", where=str(path), fix="Name the database file inside it.") from None
    except OSError as error:
        raise ConnectionFailed(
            "the file cannot be read", where=str(path), fix="Check its permissions.", code=str(error.errno)
        ) from None
    if head == b"SQLite format 3\0":
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    what = "the file is empty" if not head else "the file is neither a SQLite nor a DuckDB database"
    raise NotADatabase(what, where=str(path), fix="Name a SQLite or DuckDB file; other databases are given by URL.")


def _profile(text: str, folder: Path | None) -> ConnectionSpec:
    profiles = project_profiles(folder) if folder is not None and (folder / CONFIG_FOLDER).is_dir() else _dbt_profiles()
    name, dot, target = text.rpartition(".")
    if dot and text not in profiles.names():
        return profiles.connection(name, target).spec
    return profiles.connection(text).spec


def _dbt_profiles() -> Profiles:
    """dbt's own search order: its variable, the working directory, the home directory."""
    here = Path.cwd()
    folders = [here, user_path("~/.dbt")]
    if PROFILES_DIR_VARIABLE in os.environ:
        folders.insert(0, user_path(os.environ[PROFILES_DIR_VARIABLE]).absolute())
    paths = [folder / "profiles.yml" for folder in folders]
    return Profiles(next((path for path in paths if path.exists()), paths[-1]), here)


def _unknown(text: str, origin: str) -> ConfigurationError:
    """The text is shown only where it cannot hold a password: on the command line, as a plain word or path."""
    if origin != _ORIGIN or re.search(r"[@=;]", text):
        return ConfigurationError(
            "the value is neither a URL nor a database file", where=origin, fix="Write it like postgresql://host/name."
        )
    looks_like_path = bool(re.search(r"[/\\.]", text))
    if looks_like_path:
        return ConfigurationError(f"there is no file {text!r}", where=origin, fix=f"TARGET is {_KINDS}.")
    near = closest(text, ENGINES)
    fix = f"{f'Did you mean {near!r}? ' if near else ''}TARGET is {_KINDS}."
    return ConfigurationError(f"{text!r} is neither an engine nor a file", where=origin, fix=fix)
