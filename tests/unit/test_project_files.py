"""The files that surround the package keep their promises."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from ruamel.yaml import YAML

from dictionary_pipeline import errors

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def locked() -> list[Requirement]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


def test_lock_pins_every_package_exactly() -> None:
    for requirement in locked():
        assert [spec.operator for spec in requirement.specifier] == ["=="], requirement


def test_lock_names_no_index_and_no_file() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?://|file:|--(extra-)?index-url|--find-links", text)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_lock_satisfies_every_declared_dependency(python: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    pins = {
        pin.name.lower().replace("_", "-").replace(".", "-"): Version(str(pin.specifier).removeprefix("=="))
        for pin in locked()
        if pin.marker is None or pin.marker.evaluate(environment)
    }
    for text in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        declared = Requirement(text)
        name = declared.name.lower().replace(".", "-")
        assert name in pins, f"run `make lock`: {declared} is not locked"
        assert declared.specifier.contains(pins[name]), f"run `make lock`: {declared} against {pins[name]}"


def test_workspace_loads_the_definitions_module() -> None:
    (entry,) = YAML(typ="safe").load(ROOT / "workspace.yaml")["load_from"]
    assert entry["python_module"] == {
        "module_name": "dictionary_pipeline.definitions",
        "location_name": "dictionary_pipeline",
    }


def test_ci_script_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_readme_shows_demo_and_test_as_first_commands() -> None:
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert [line.split("#")[0].strip() for line in block[1].splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_of_the_documents_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (document.parent / target).exists()]
    assert not missing


def test_operations_guide_explains_every_error() -> None:
    guide = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    classes = [
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.DictionaryError)
    ]
    explained = set(re.findall(r"^### (\w+)", guide, re.MULTILINE))
    assert set(classes) - {"DictionaryError"} <= explained


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A project folder and a `bin/` with make's needs but no Python."""
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).touch()
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "rm", "make"):
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def make_venv(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", ".venv"]
    return subprocess.run(
        command, cwd=folder, env={"PATH": str(folder / "bin")}, capture_output=True, text=True, check=False
    )


def fake_python(folder: Path, *, version: str, has_venv: bool) -> None:
    script = folder / "bin" / "python3"
    script.write_text(
        f"""#!/bin/sh
case "$2" in
    *"sys.exit"*) exit {0 if version in ("3.11", "3.12", "3.13") else 1} ;;
    *ensurepip*) exit {0 if has_venv else 1} ;;
    *print*) echo {version} ;;
esac
"""
    )
    script.chmod(0o755)


def test_make_names_the_package_when_python_is_missing(bare_machine: Path) -> None:
    result = make_venv(bare_machine)
    assert result.returncode != 0
    assert "Install the package python3" in result.stderr


def test_make_refuses_a_python_that_is_too_old(bare_machine: Path) -> None:
    fake_python(bare_machine, version="3.10", has_venv=True)
    result = make_venv(bare_machine)
    assert result.returncode != 0
    assert "Python 3.11, 3.12 or 3.13 is needed" in result.stderr


def test_make_names_the_package_when_venv_is_missing(bare_machine: Path) -> None:
    fake_python(bare_machine, version="3.12", has_venv=False)
    result = make_venv(bare_machine)
    assert result.returncode != 0
    assert "Install the package python3.12-venv" in result.stderr
    assert not (bare_machine / ".venv").exists()
