"""The edit of a database's YAML file that follows renames."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dictionary_pipeline.drift.model import Change
from dictionary_pipeline.renaming import Rename, rename_patch, renames_of

FILE = """\
# the shop
connection: {type: sqlite, path: shop.db}
privacy:
  withhold: [customer.email]   # personal
  columns:
    - match: "s.customer.email"
      treat: mask
entities:
  exclude: [customer_old]
relationships:
  - {from: s.orders, columns: [email, shop], to: s.customer, to_columns: [email, shop]}
sources:
  - name: sales
    schema: s
    tables:
      - name: customer
        description: People who buy.  # by hand
        columns:
          - name: email   # where to write
            description: >
              Where to write,
              by mail.
      - name: orders
        columns:
          - name: 'email'
"""
EMAIL = Rename("s", "customer", "email", "email_address")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dbt_like_configs" / "databases").mkdir(parents=True)
    return tmp_path


def write(project: Path, text: str = FILE) -> Path:
    file = project / "dbt_like_configs" / "databases" / "shop.yml"
    file.write_bytes(text.encode())
    return file


def applied(project: Path, patch: str) -> str:
    git = shutil.which("git")
    assert git is not None
    (project / "edit.patch").write_bytes(patch.encode())
    subprocess.run([git, "init", "-q", "."], cwd=project, check=True)
    subprocess.run([git, "apply", "--whitespace=nowarn", "edit.patch"], cwd=project, check=True)
    return (project / "dbt_like_configs" / "databases" / "shop.yml").read_bytes().decode()


def test_the_patch_applies_and_moves_everything_written_about_the_column(project: Path) -> None:
    patch = rename_patch(write(project), [EMAIL])
    expected = (
        FILE.replace("[customer.email]", "[customer.email_address]")
        .replace('"s.customer.email"', '"s.customer.email_address"')
        .replace("to_columns: [email, shop]", "to_columns: [email_address, shop]")
        .replace("name: email   #", "name: email_address   #")
    )
    assert applied(project, patch) == expected


def test_a_renamed_table_takes_its_patterns_and_relationships_along(project: Path) -> None:
    patch = rename_patch(write(project), [Rename("s", "orders", "", "order"), Rename("s", "orders", "email", "mail")])
    after = applied(project, patch)
    assert "{from: s.order, columns: [mail, shop], to: s.customer, to_columns: [email, shop]}" in after
    assert "      - name: order\n        columns:\n          - name: 'mail'\n" in after


def test_a_table_and_its_column_renamed_together_keep_the_pattern_that_withholds_it(project: Path) -> None:
    renames = [Rename("s", "customer", "", "client"), EMAIL]
    assert "withhold: [client.email_address]   # personal" in applied(project, rename_patch(write(project), renames))


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_marks_and_a_missing_last_line_end_stay(project: Path, ending: str, mark: str) -> None:
    text = mark + FILE.rstrip("\n").replace("\n", ending)
    after = applied(project, rename_patch(write(project, text), [Rename("s", "orders", "email", "mail")]))
    assert after == text.replace("'email'", "'mail'").replace(
        "columns: [email, shop], to:", "columns: [mail, shop], to:"
    )


@pytest.mark.parametrize(
    "rename",
    [
        Rename("s", "other", "email", "mail"),
        Rename("other", "orders", "email", "mail"),
        Rename("s", "customer", "age", "years"),
    ],
)
def test_nothing_is_proposed_where_nobody_wrote_about_it(project: Path, rename: Rename) -> None:
    assert rename_patch(write(project), [rename]) == ""


def test_nothing_is_proposed_where_the_new_name_is_described_already(project: Path) -> None:
    text = "sources:\n- name: s\n  tables:\n  - name: customer\n    columns:\n    - name: email\n    - name: mail\n"
    assert rename_patch(write(project, text), [Rename("s", "customer", "email", "mail")]) == ""


@pytest.mark.parametrize("text", ["", "a: [", "- a\n"])
def test_a_file_that_holds_no_configuration_gets_no_edit(project: Path, text: str) -> None:
    assert rename_patch(write(project, text), [EMAIL]) == ""
    assert rename_patch(None, [EMAIL]) == rename_patch(project / "missing.yml", [EMAIL]) == ""


@pytest.mark.parametrize("new", ["no", "a b", "it's", "1st", 'say "x"', "naïve", "x: y", "#x"])
def test_a_name_that_yaml_reads_otherwise_is_quoted(project: Path, new: str) -> None:
    after = applied(project, rename_patch(write(project), [Rename("s", "customer", "email", new)]))
    assert after.count("\n") == FILE.count("\n")
    assert rename_patch(write(project, after), [Rename("s", "customer", new, "email")])


def test_only_nearly_certain_renames_are_followed_and_columns_find_the_table_as_it_was_called() -> None:
    changes = [
        Change("table_renamed", "s", "customer", before="customer", after="client", confidence=0.9),
        Change("column_renamed", "s", "client", "email", before="email", after="mail", confidence=0.99),
        Change("column_renamed", "s", "orders", "a", before="a", after="b", confidence=0.84),
        Change("table_renamed", "s", "moved", before="s.moved", after="t.moved", confidence=1.0),
    ]
    assert renames_of(changes) == (Rename("s", "customer", "", "client"), Rename("s", "customer", "email", "mail"))


@pytest.mark.parametrize(
    ("between", "proposed"), [("", False), ("entities: {}\n", True), ("a: 1\nb: 1\nc: 1\nd: 1\n", True)]
)
def test_the_lines_around_a_change_never_show_the_connection(project: Path, between: str, proposed: bool) -> None:
    text = (
        "connection:\n  type: postgres\n  password: hunter2\n"
        + between
        + "privacy: {withhold: [customer.email]}\nx: 1\n"
    )
    patch = rename_patch(write(project, text), [EMAIL])
    assert "hunter2" not in patch
    assert bool(patch) == proposed
    if proposed:
        assert applied(project, patch) == text.replace("customer.email", "customer.email_address")


@pytest.mark.parametrize("name", ["e\x07mail", "\ufffe"])
def test_a_new_name_that_no_yaml_file_can_hold_proposes_nothing(project: Path, name: str) -> None:
    assert rename_patch(write(project), [Rename("s", "customer", "email", name)]) == ""
