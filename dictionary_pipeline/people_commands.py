"""The commands with which people make a dictionary their own: `review`, `approve` and `import`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dictionary_pipeline.config.resolved import DatabaseConfig, HumanRelationship
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.human_yaml import HumanEdit, write_human
from dictionary_pipeline.legacy_import import import_dictionary
from dictionary_pipeline.places import configured_database
from dictionary_pipeline.review import Draft, LastRun, last_run, list_drafts
from dictionary_pipeline.suggestions import did_you_mean
from dictionary_pipeline.terminal import complain, say

_QUESTION = "[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit: "
_NEW_TEXT = "your text (empty: back): "
_RUN_AFTER = "`data_dictionary run {}` publishes it."

Ask = Callable[[str], str]
"""Shows a question and returns the answer."""


@dataclass(frozen=True)
class _Place:
    """A configured database, where it is written about, and what its last run left."""

    config: DatabaseConfig
    file: Path
    folder: Path
    last: LastRun

    def write(self, edits: Sequence[HumanEdit], relationships: Sequence[HumanRelationship] = ()) -> None:
        """Write into the file."""
        names = self.last.catalog.columns.select("schema", "table", "column").rows()
        any_case = len({tuple(part.casefold() for part in name) for name in names}) == len(names)
        write_human(self.file, edits, relationships, folder=self.folder, any_case=any_case)


def review(name: str, project: Path | None, *, as_json: bool, ask: Ask | None = None) -> int:
    """`review`: go through the drafts one by one; list them when nobody can answer.

    Args:
        ask: How questions are put; the terminal when null.
    """
    place = _place(name, project)
    drafts = list_drafts(place.last, place.config.human)
    if as_json:
        say(json.dumps([draft.as_json() for draft in drafts], ensure_ascii=False))
        return 0
    if ask is None and not sys.stdin.isatty():
        for draft in drafts:
            say(_one_line(draft))
        say(f"{name}: {len(drafts)} drafts. On a terminal, `review` asks about each.")
        return 0
    changed = _ask_about(place, drafts, ask or input)
    say(f"{name}: {changed} of {len(drafts)} drafts decided. {_after(place, changed)}")
    return 0


def approve(name: str, entity: str | None, project: Path | None) -> int:
    """`approve`: make drafts people's words, all of the model's or all of some tables."""
    place = _place(name, project)
    drafts = list_drafts(place.last, place.config.human)
    if entity is None:
        stale = sum(draft.stale for draft in drafts)
        if stale:
            what = f"{stale} approved texts whose object has changed; `data_dictionary review {name}` shows them"
            complain("not approved again", what)
        drafts = [draft for draft in drafts if not draft.stale]
        chosen = [draft for draft in drafts if draft.origin == "model"]
        if not chosen and drafts:
            raise ConfigurationError(
                f"all {len(drafts)} drafts are derived from structure, which a next run does better when it knows more",
                where=name,
                fix="Name the tables whose texts are to stay as they are: `approve NAME ENTITY`; or use `review`.",
            )
    else:
        _require_entity(place, entity)
        chosen = [draft for draft in drafts if _fits(draft.schema, draft.table, entity)]
    place.write([draft.accepted() for draft in chosen])
    say(f"{name}: {len(chosen)} texts approved. {_after(place, len(chosen))}")
    return 0


def import_legacy(path: Path, name: str, project: Path | None) -> int:
    """`import`: take over what people edited in another dictionary's files."""
    place = _place(name, project)
    found = import_dictionary(path, place.last, place.config.human)
    place.write(found.edits, found.relationships)
    for line in found.unmatched:
        complain("no longer matches", line)
    for line in found.kept:
        complain("kept", line)
    counted = ", ".join(f"{count} {noun}" for noun, count in found.counts.items()) or "nothing"
    after = _after(place, len(found.edits) + len(found.relationships))
    say(
        f"{name}: {counted} taken over from {found.entries} entries; {len(found.unmatched)} no longer match, "
        f"{len(found.kept)} kept as people wrote them here. {after}"
    )
    return 0


def _ask_about(place: _Place, drafts: Sequence[Draft], ask: Ask) -> int:
    """Put each draft before a person; every decision is written at once, so that leaving loses none."""
    decided = 0
    for number, draft in enumerate(drafts, start=1):
        say(f"\n({number}/{len(drafts)}) {_one_line(draft)}")
        for fact, text in draft.facts.items():
            say(f"    {fact}: {_printable(text)}")
        try:
            edit = _decision(draft, ask)
        except EOFError:
            break
        if edit is None:
            break
        if edit != _SKIP:
            place.write([edit])
            decided += 1
    return decided


_SKIP = HumanEdit("", "")


def _decision(draft: Draft, ask: Ask) -> HumanEdit | None:
    """What a person says of a draft; null to leave."""
    while True:
        match ask(_QUESTION).strip().lower()[:1]:
            case "a":
                return draft.accepted()
            case "r":
                return draft.rejected()
            case "s":
                return _SKIP
            case "q":
                return None
            case "e":
                if text := ask(_NEW_TEXT).strip():
                    return draft.accepted(text)


def _after(place: _Place, changed: int) -> str:
    if not changed:
        return "Nothing was written."
    return f"Written to {place.file}. {_RUN_AFTER.format(place.config.name)}"


def _one_line(draft: Draft) -> str:
    noun = "" if draft.kind == "column" else f" {draft.kind.replace('_', ' ')}"
    sure = f", {draft.confidence} confidence" if draft.confidence else ""
    sure += ", approved before the object changed" if draft.stale else ""
    return _printable(f"{draft.name}{noun} ({draft.origin}{sure}): {draft.text}")


def _printable(text: str) -> str:
    """Names and texts may hold control characters, which could steer the terminal."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _fits(schema: str, table: str, entity: str) -> bool:
    wanted = entity.casefold()
    return any(fnmatchcase(name.casefold(), wanted) for name in (table, f"{schema}.{table}"))


def _require_entity(place: _Place, entity: str) -> None:
    names = place.last.catalog.tables.select("schema", "table").rows()
    if not any(_fits(schema, table, entity) for schema, table in names):
        fix = did_you_mean(entity, (part for s, t in names for part in (t, f"{s}.{t}")), "`show NAME` lists them.")
        raise ConfigurationError(f"no table or view fits {entity!r}", where=place.config.name, fix=fix)


def _place(name: str, project: Path | None) -> _Place:
    place = configured_database(name, project)
    return _Place(place.config, place.file, place.folder, last_run(place.store, name))
