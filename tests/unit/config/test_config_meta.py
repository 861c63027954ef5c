"""Every key of `meta:` that is read or written stands in the configuration reference."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dictionary_pipeline.config import meta
from dictionary_pipeline.config.meta import META_KEYS, column_meta, table_meta
from dictionary_pipeline.config.reference import configuration_markdown
from dictionary_pipeline.config.resolved import Approval
from dictionary_pipeline.config.yamlfile import read_yaml
from dictionary_pipeline.human_yaml import HumanEdit, write_human


class Recording(dict[str, Any]):
    """A `meta:` that remembers which keys were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return default

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        raise KeyError(key)


def documented(owner: str) -> set[str]:
    """Keys that the page lists for tables or columns."""
    section = configuration_markdown().partition("### sources: meta")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip("| `") for row in rows if owner in row[1].split(" or ")}


@pytest.mark.parametrize(("owner", "read"), [("table", table_meta), ("column", column_meta)])
def test_keys_that_are_read_are_on_the_page(owner: str, read: Callable[..., Any]) -> None:
    given = Recording()
    read(given, lambda key, text: None)
    assert given.read == documented(owner)


@pytest.mark.parametrize(("owner", "column"), [("table", None), ("column", "c")])
def test_keys_that_are_written_are_on_the_page(tmp_path: Path, owner: str, column: str | None) -> None:
    file = tmp_path / "shop.yml"
    file.write_text("connection: {type: sqlite, path: shop.db}\n")
    about_values: dict[str, Any] = {"allowed_values": ("x",), "value_synonyms": {"x": ("y",)}} if column else {}
    name = {} if column else {"entity_name": "Name"}
    noted = {"approved_from": "model", "approved_for": "s0123456789a", "rejected": ("h0123456789a",)}
    write_human(file, [HumanEdit("s", "t", column, **name, **noted, **about_values)], folder=tmp_path)
    entry = read_yaml(file, folder=tmp_path).data["sources"][0]["tables"][0]
    entry = entry["columns"][0] if column else entry
    assert set(entry["meta"]) == documented(owner)


def test_no_other_module_reads_meta_keys_by_name() -> None:
    """The readers above are all there are: the names of the keys stand in no other literal of the package's config."""
    names = {key.name for key in META_KEYS} - {"allowed_values", "entity_name", "value_synonyms"}
    folder = Path(inspect.getfile(meta)).parent
    for path in sorted(folder.glob("*.py")):
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert path.name == "meta.py" or not texts & names, path.name


def test_an_approval_is_read_and_strange_ones_are_somebody_elses() -> None:
    def warn(key: str, text: str) -> None:
        raise AssertionError(text)

    noted = {"approved_from": "model", "approved_for": "s0123456789a"}
    assert table_meta(noted, warn).approval == column_meta(noted, warn).approval == Approval("model", "s0123456789a")
    assert table_meta({"approved_from": "derived", "approved_for": 7}, warn).approval == Approval("derived", None)
    assert table_meta({"approved_from": "the board"}, warn).approval is None


def test_a_misspelled_key_is_named_with_the_right_one() -> None:
    said: list[str] = []
    table_meta({"aproved_for": "s0123456789a"}, lambda key, text: said.append(text))
    assert said == ["meta.aproved_for is not used. Did you mean 'approved_for'?"]
