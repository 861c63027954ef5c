"""Writing people's words into a database's YAML file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dictionary_pipeline.config.resolved import HumanRelationship
from dictionary_pipeline.config.yamlfile import read_yaml
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.human_yaml import HumanEdit, write_human

FILE = """\
# Our shop.
connection: {type: sqlite,   path: shop.db}   # a file

sources:
  - name: main     # the schema
    tables:
      # People.
      - name: customer
        description: >-
          Everybody who
          ever ordered.
        # Not everything needs a word.
        columns:
          - name: tier
            description: "Loyalty."   # January
            meta:
              allowed_values: ['a',   'b']

      # Orders of all channels.
      - name: Orders

# Two keys.
relationships:
  - from: main.a
    columns: [x]
    to: main.b
    to_columns: [y]

# The end.
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yml"
    path.write_text(FILE)
    return path


def write(path: Path, *edits: HumanEdit, relationships: tuple[HumanRelationship, ...] = ()) -> bool:
    return write_human(path, edits, relationships, folder=path.parent)


def test_nothing_to_write_touches_nothing(file: Path) -> None:
    before = file.stat().st_mtime_ns
    assert write(file) is False
    assert write(file, HumanEdit("main", "customer", "tier", description="Loyalty.")) is False
    assert (file.read_text(), file.stat().st_mtime_ns) == (FILE, before)


def test_additions_keep_every_line_and_comments_stay_with_what_follows_them(file: Path) -> None:
    edits = (
        HumanEdit("main", "customer", entity_name="Client", approved_from="model"),
        HumanEdit("main", "customer", "email", description="Where to write: the address.", approved_from="model"),
        HumanEdit("main", "orders", "state", value_synonyms={"open": ("new", "yes")}, allowed_values=("open", 1)),
        HumanEdit("main", "region", description="Sales areas."),
        HumanEdit("hr", "staff", description="Employees."),
    )
    assert write(file, *edits, relationships=(HumanRelationship("main", "c", ("p", "q"), "hr", "d", ("r", "s")),))
    after = file.read_text()
    assert [line for line in FILE.splitlines() if line not in after.splitlines()] == []
    assert "          - name: email\n            description: 'Where to write: the address.'\n" in after
    assert "\n      # Orders of all channels.\n      - name: Orders\n        columns:\n" in after
    assert "    to_columns: [r, s]\n\n# The end.\n" in after
    assert "        description: Employees.\n\n# Two keys.\nrelationships:\n" in after


@pytest.mark.parametrize("rest", ["", "\n# sources:\n#   - name: main\n"])
def test_a_first_block_of_sources_stands_apart_from_what_is_above_it(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "shop.yml"
    path.write_text(f"connection:\n  type: sqlite\n{rest}")
    write(path, HumanEdit("main", "region", description="Areas."))
    added = "sources:\n  - name: main\n    tables:\n      - name: region\n        description: Areas.\n"
    assert path.read_text() == f"connection:\n  type: sqlite\n\n{added}{rest}"


def test_what_was_written_is_read_back(file: Path) -> None:
    long = "An order is one purchase, at a till or in the shop; returns are orders with a negative amount of money."
    write(
        file, HumanEdit("MAIN", "ORDERS", description=long), HumanEdit("main", "Orders", "note", description="a\nb: c")
    )
    (source,) = read_yaml(file, folder=file.parent).data["sources"]
    assert [table["name"] for table in source["tables"]] == ["customer", "Orders"]
    orders = source["tables"][1]
    assert orders["description"] == long
    assert orders["columns"] == [{"name": "note", "description": "a\nb: c"}]


def test_replacing_a_folded_text_keeps_the_comment_below_it(file: Path) -> None:
    write(file, HumanEdit("main", "customer", description="Clients."))
    after = file.read_text()
    assert "# Not everything needs a word.\n        columns:" in after
    (source,) = read_yaml(file, folder=file.parent).data["sources"]
    assert source["tables"][0]["description"] == "Clients."
    assert '            description: "Loyalty."   # January\n' in after


def test_a_persons_own_text_is_no_longer_marked_as_the_models(file: Path) -> None:
    write(file, HumanEdit("main", "customer", "tier", description="Of the model.", approved_from="model"))
    assert "approved_from: model" in file.read_text()
    write(file, HumanEdit("main", "customer", "tier", description="Of a person."))
    after = file.read_text()
    assert "approved_from" not in after
    assert "              allowed_values: ['a',   'b']" in after


def test_rejections_are_added_once(file: Path) -> None:
    edit = HumanEdit("main", "customer", "tier", rejected=("h1",))
    assert write(file, edit)
    assert write(file, edit) is False
    assert write(file, HumanEdit("main", "customer", "tier", rejected=("h2",)))
    column = read_yaml(file, folder=file.parent).data["sources"][0]["tables"][0]["columns"][0]
    assert column["meta"]["rejected"] == ["h1", "h2"]


def test_line_ends_byte_order_mark_permissions_and_links_stay(tmp_path: Path, file: Path) -> None:
    file.write_bytes(("\ufeff" + FILE.replace("\n", "\r\n")).encode())
    file.chmod(0o640)
    link = tmp_path / "link.yml"
    link.symlink_to(file)
    write(link, HumanEdit("main", "region", description="Sales areas."))
    raw = file.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf#")
    assert raw.count(b"\n") == raw.count(b"\r\n") == FILE.count("\n") + 2
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.yml", "shop.yml"]


def test_a_dash_without_indentation_and_meta_below_config_are_kept(file: Path) -> None:
    file.write_text(
        "sources:\n- name: x\n  schema: main\n  tables:\n  - name: t\n    config:\n      meta: {owner: me}\n"
    )
    write(file, HumanEdit("main", "t", entity_name="Thing"), HumanEdit("x", "u", description="Other."))
    assert file.read_text() == (
        "sources:\n- name: x\n  schema: main\n  tables:\n  - name: t\n    config:\n"
        "      meta: {owner: me, entity_name: Thing}\n"
        "- name: x_tables\n  schema: x\n  tables:\n  - name: u\n    description: Other.\n"
    )


@pytest.mark.parametrize("sign", ["\x07", "\x85", "\u2028", "\ufeff"])
@pytest.mark.parametrize("rest", ["\nsecond line", " long enough to be folded" * 6])
def test_signs_that_yaml_takes_only_quoted_are_kept(file: Path, sign: str, rest: str) -> None:
    write(file, HumanEdit("main", "Orders", description=f"a{sign}b{rest}"))
    (source,) = read_yaml(file, folder=file.parent).data["sources"]
    assert source["tables"][1]["description"] == f"a{sign}b{rest}"


def test_lists_may_be_indented_in_several_ways(file: Path) -> None:
    file.write_text(
        "sources:\n- name: main  # ours\n  tables:\n  - name: t\n    meta:\n      rejected:\n        - h1  # why\n"
    )
    write(file, HumanEdit("main", "t", rejected=("h2",)))
    (source,) = read_yaml(file, folder=file.parent).data["sources"]
    assert source["tables"] == [{"name": "t", "meta": {"rejected": ["h1", "h2"]}}]
    assert ("# ours" in file.read_text(), "# why" in file.read_text()) == (True, True)


def test_a_config_that_held_an_approval_only_goes_with_it(file: Path) -> None:
    start = "sources:\n- name: main\n  tables:\n  - name: t\n"
    held = "    config:  # dbt\n      meta:\n# why\n        approved_from: model\n        approved_for: s0123456789a\n"
    file.write_text(f"{start}{held}# the end\n  - name: u\n")
    write(file, HumanEdit("main", "t", description="Mine."))
    assert file.read_text() == f"{start}    description: Mine.\n# the end\n  - name: u\n"


def test_a_schema_from_a_variable_is_the_schema(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA", "main")
    text = "sources:\n  - name: x\n    schema: \"{{ env_var('SCHEMA') }}\"\n    tables:\n      - name: t\n"
    file.write_text(text)
    write(file, HumanEdit("main", "t", description="Things."))
    assert file.read_text() == text + "        description: Things.\n"


def test_names_that_differ_in_case_only_are_kept_apart_on_request(file: Path) -> None:
    file.write_text("sources:\n  - name: main\n    tables:\n      - name: T\n        description: Mine.\n")
    write_human(file, [HumanEdit("main", "t", description="Other.")], folder=file.parent, any_case=False)
    (source,) = read_yaml(file, folder=file.parent).data["sources"]
    assert [(table["name"], table["description"]) for table in source["tables"]] == [("T", "Mine."), ("t", "Other.")]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "sources:\n", "connection: {type: sqlite, path: a}\n"])
def test_a_file_without_sources_gets_them(file: Path, text: str) -> None:
    file.write_text(text)
    write(file, HumanEdit("main", "t", description="Things."))
    data = read_yaml(file, folder=file.parent).data
    assert data["sources"] == [{"name": "main", "tables": [{"name": "t", "description": "Things."}]}]
    assert all(line in file.read_text() for line in text.splitlines())


def test_a_broken_file_is_named_with_its_line_and_left_alone(file: Path) -> None:
    file.write_text("a: b: c\n")
    with pytest.raises(ConfigurationError, match=r"shop\.yml:1"):
        write(file, HumanEdit("main", "t", description="Things."))
    assert file.read_text() == "a: b: c\n"


def test_an_approval_carries_what_it_was_given_for_and_an_edit_drops_both(file: Path) -> None:
    approved = HumanEdit("main", "Orders", description="Told.", approved_from="model", approved_for="s0123456789a")
    write(file, approved)
    assert "approved_from: model\n          approved_for: s0123456789a\n" in file.read_text()
    write(file, HumanEdit("main", "Orders", approved_from="model", approved_for="sbbbbbbbbbbb"))
    assert ("approved_for: sbbbbbbbbbbb" in file.read_text(), "description: Told." in file.read_text()) == (True, True)
    write(file, HumanEdit("main", "Orders", description="Mine."))
    assert "approved" not in file.read_text()


def test_a_withdrawn_text_takes_the_approval_along_unless_another_text_needs_it(file: Path) -> None:
    told = {"description": "Told.", "entity_name": "Order", "approved_from": "model", "approved_for": "s0123456789a"}
    write(file, HumanEdit("main", "Orders", **told))
    write(file, HumanEdit("main", "Orders", withdrawn="description"))
    assert ("Told." in file.read_text(), "entity_name: Order" in file.read_text()) == (False, True)
    assert "approved_from: model" in file.read_text()
    write(file, HumanEdit("main", "Orders", withdrawn="entity_name"))
    assert file.read_text() == FILE


SHARED = """\
sources:
  - name: main
    tables:
      - name: customer
        meta: &team {owner: sales}
        columns: &all
          - name: id
            description: Number.
      - name: orders
        meta: *team
        columns: *all
      - &base
        name: item
        config: {meta: *team}
      - <<: *base
        name: gift
"""


@pytest.mark.parametrize("table", ["customer", "orders", "gift"])
def test_parts_that_entries_share_by_aliases_are_changed_for_one_of_them_only(file: Path, table: str) -> None:
    file.write_text(SHARED)
    before = {entry["name"]: entry for entry in tables_of(file)}
    write(
        file,
        HumanEdit("main", table, description="Mine.", entity_name="Own", approved_from="model", approved_for="s1"),
        HumanEdit("main", table, "id", description="My number."),
    )
    after = {entry["name"]: entry for entry in tables_of(file)}
    changed = after.pop(table)
    assert after == {name: entry for name, entry in before.items() if name != table}
    meta = changed.get("config", changed)["meta"]
    assert meta == {"owner": "sales", "entity_name": "Own", "approved_from": "model", "approved_for": "s1"}
    assert [column["description"] for column in changed["columns"]] == ["My number."]


def test_withdrawing_an_approval_leaves_those_who_share_it_alone(file: Path) -> None:
    file.write_text(SHARED.replace("{owner: sales}", "{entity_name: X, approved_from: model}"))
    write(file, HumanEdit("main", "orders", withdrawn="entity_name"))
    metas = [entry.get("config", entry).get("meta") for entry in tables_of(file)]
    shared = {"entity_name": "X", "approved_from": "model"}
    assert metas == [shared, None, shared, shared]


def tables_of(file: Path) -> list[dict[str, Any]]:
    return YAML(typ="safe").load(file.read_text())["sources"][0]["tables"]
