"""A canary password shows in nothing that the package returns or raises."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable

import pytest
from config_project import ProjectFolder

from dictionary_pipeline.config.targets import resolve_target
from dictionary_pipeline.errors import DictionaryError

CANARY = "canary-T0p5ecret"
MYSQL = "type: mysql, host: h, user: u, database: d"


@pytest.mark.parametrize(
    "connection",
    [
        f"{{{MYSQL}, password: {CANARY}}}",
        f"{{{MYSQL}, password: \"{{{{ env_var('UNSET', '{CANARY}') }}}}\"}}",
        f"{{{MYSQL}, password: \"{{{{ env_var('CANARY') }}}}\"}}",
        f"{{type: sqlalchemy, url: 'mysql://u:{CANARY}@h/d'}}",
        f"{{type: sqlalchemy, url: 'postgresql://u@h/d?password={CANARY}'}}",
        "{url: \"{{ env_var('CANARY_URL') }}\"}",
    ],
)
def test_a_configured_secret_is_revealed_only_on_request(
    project: ProjectFolder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    connection: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CANARY", CANARY)
    monkeypatch.setenv("CANARY_URL", f"postgresql://u:{CANARY}@h/d")
    config = project.config(f"connection: {connection}\n")
    loaded = project.load()
    assert config.connection.secrets["password"].reveal() == CANARY
    for shown in (config, loaded, config.connection, config.warnings, config.connection.secrets):
        assert CANARY not in repr(shown) and CANARY not in str(shown)
    assert len(config.warnings) == (1 if CANARY in connection else 0)
    with pytest.raises(TypeError):
        pickle.dumps(config)
    out, err = capfd.readouterr()
    assert CANARY not in out + err + caplog.text


def shown(error: BaseException) -> str:
    """Everything that a traceback, a log or a serialised error could show, contexts included."""
    parts = []
    current: BaseException | None = error
    while current is not None:
        parts += [repr(current), str(current), repr(current.args), repr(vars(current))]
        parts += traceback.format_exception(current)
        current = current.__cause__ or current.__context__
    return "\n".join(parts)


@pytest.mark.parametrize(
    "text",
    [
        f"connection: {{{MYSQL}, pasword: {CANARY}}}",
        f"connection: {{{MYSQL}, port: {CANARY}}}",
        f"connection: {{{MYSQL}, password: [{CANARY}]}}",
        f"connection: {{{MYSQL}, password: {CANARY}, password: {CANARY}}}",
        f"connection:\n  password: *{CANARY}",
        f"connection:\n  password: !{CANARY} x",
        f"connection:\n  password: @{CANARY}",
        f"connection:\n  password: {CANARY}: x",
        f"connection:\n  password: '{CANARY}",
        f'connection:\n  password: "{CANARY}\\q"',
        f"connection: {CANARY}",
        f"connection: {{type: sqlalchemy, url: {CANARY}}}",
        f"connection: {{type: sqlalchemy, url: 'mysql://u:a/{CANARY}@h/d'}}",
        f"connection: {{type: sqlalchemy, url: 'mysql://u:a@b/{CANARY}@h/d'}}",
        f"connection: {{type: sqlalchemy, url: 'mysql://u:12?{CANARY}@h/d'}}",
        f"connection: {{type: sqlalchemy, url: 'mysqll://u:{CANARY}@h/d'}}",
        f"connection: {{type: sqlalchemy, url: 'mysql://u:{CANARY}@h:port/d'}}",
        f"connection: {{{MYSQL}, port: \"{{{{ env_var('CANARY') | int }}}}\"}}",
        f'connection: {{{MYSQL}, password: "{{{{ {CANARY} }}}}"}}',
        f"profile: shop\nlimits: {{row_limit: {CANARY}}}",
        f"profile: shop\npublish: {CANARY}",
    ],
)
def test_an_error_about_a_file_never_quotes_a_secret(
    project: ProjectFolder, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    project.write("databases/x.yml", "")
    (project.root / "dbt_like_configs/databases/x.yml").write_text(text + "\n")
    loaded = project.load()
    (invalid,) = loaded.invalid
    assert invalid.error
    assert CANARY not in repr(loaded) + invalid.error + "\n".join(project.errors())
    from dictionary_pipeline.config.loader import validate_project

    for error in validate_project(project.root):
        assert CANARY not in shown(error)


@pytest.mark.parametrize(
    "target",
    [
        f"postgresql://u:{CANARY}@h:port/d",
        f"postgresql://u:x/{CANARY}@h/d",
        f"nosuch://u:{CANARY}@h/d",
        f"host=h password={CANARY}",
        f"u:{CANARY}@h/d",
        f"sqlite://u:{CANARY}@h/d",
        "env:CANARY",
    ],
)
def test_an_error_about_a_target_never_quotes_a_secret(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    assert CANARY not in shown(_error(lambda: resolve_target(target, folder=None)))


def _error(call: Callable[[], object]) -> DictionaryError:
    with pytest.raises(DictionaryError) as caught:
        call()
    return caught.value
