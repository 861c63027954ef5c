"""Writes a commented configuration to start from; never overwrites a file."""

from __future__ import annotations

import importlib.resources
import re
import string
from pathlib import Path

from dictionary_pipeline.config.loader import CONFIG_FOLDER, DATABASE_NAME
from dictionary_pipeline.config.variables import OWN, PREDECESSOR, Variable
from dictionary_pipeline.errors import ConfigurationError

_EXAMPLE_CONNECTION = "# Which connection of ../profiles.yml to use.\nprofile: warehouse\n# target: prod\n"


def write_project(folder: Path) -> tuple[Path, ...]:
    """Write `dbt_like_configs/`, `.env.example` and `.gitignore` into a folder, leaving files that exist as they are.

    Returns:
        The files that were written.

    Raises:
        ConfigurationError: the folder cannot be written to.
    """
    configs = folder / CONFIG_FOLDER
    files = {
        configs / "project.yml": template("project.yml"),
        configs / "profiles.yml": template("profiles.yml"),
        configs / "databases" / "example.yml.disabled": _database_text(_EXAMPLE_CONNECTION),
        folder / ".env.example": env_example(),
        folder / ".gitignore": ".env\npublished/\n.dagster_home/\n",
    }
    return tuple(path for path, text in files.items() if _write_new(path, text))


def write_database(folder: Path, name: str, *, profile: str | None, url_env: str | None) -> Path:
    """Write `databases/<name>.yml`.

    Args:
        folder: The project folder.
        name: Name of the database.
        profile: Profile to connect with; `name` when neither it nor `url_env` is given.
        url_env: Environment variable that holds the URL.

    Raises:
        ConfigurationError: the name does not fit, the file exists, or it cannot be written.
    """
    if not DATABASE_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot name a database",
            fix="Use lower-case letters, digits, '-' and '_', a letter or digit first.",
        )
    if profile is not None and url_env is not None:
        raise ConfigurationError("a profile and a URL are given", fix="Give one of the two.")
    if url_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", url_env):
        # Not shown: it may be the URL itself.
        raise ConfigurationError(
            "this is not the name of an environment variable",
            fix="Put the URL into a variable, in .env for example, and give the variable's name.",
        )
    path = folder / CONFIG_FOLDER / "databases" / f"{name}.yml"
    if path.with_suffix(".yaml").exists() or not _write_new(path, _database_text(_connection(name, profile, url_env))):
        raise ConfigurationError(
            "the database is already configured", where=str(path), fix="Edit the file, or choose another name."
        )
    return path


def template(name: str) -> str:
    """The text of a template file."""
    return (importlib.resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


def env_example() -> str:
    """The text of `.env.example`: the variables of the profile examples and all that the product reads."""
    return "\n".join(
        [
            template("env.txt").rstrip("\n"),
            *_section("The product and the tools it stands on.", OWN),
            *_section(
                "Read by `data_dictionary build postgres` and the like, as the Text2SQL accelerator did.", PREDECESSOR
            ),
            "",
        ]
    )


def _section(title: str, variables: tuple[Variable, ...]) -> list[str]:
    # Comments have their own lines: after an empty value they would be taken for the value.
    return ["", f"# {title}", *(line for item in variables for line in (f"# {item.meaning}", f"#{item.name}="))]


def _connection(name: str, profile: str | None, url_env: str | None) -> str:
    if url_env is not None:
        call = f"{{{{ env_var('{url_env}') }}}}"
        return f'# The URL is in an environment variable or .env.\nconnection:\n  url: "{call}"\n'
    shown = profile or name
    quoted = shown if re.fullmatch(r"[A-Za-z][\w-]*", shown) else '"' + re.sub(r'(["\\])', r"\\\1", shown) + '"'
    return f"# Which connection of ../profiles.yml to use.\nprofile: {quoted}\n# target: prod\n"


def _database_text(connection: str) -> str:
    return string.Template(template("database.yml")).substitute(connection=connection)


def _write_new(path: Path, text: str) -> bool:
    """Write a file that does not exist yet; false when it does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:  # no half-written file that the next attempt would keep
                path.unlink()
                raise
    except FileExistsError:
        if path.exists():
            return False
        raise ConfigurationError(
            "a file stands where a folder is needed", where=str(path.parent), fix="Move it."
        ) from None
    except OSError as error:
        reason = error.strerror or "input/output error"
        raise ConfigurationError(
            f"cannot be written ({reason})", where=str(path), fix="Check the folder and its permissions."
        ) from None
    return True
