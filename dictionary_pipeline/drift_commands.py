"""`data_dictionary drift`: what changed in a database, who has seen it, and what waits to be acknowledged."""

from __future__ import annotations

import getpass
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dictionary_pipeline.diffing import EXIT_CODES, edit_lines, printable
from dictionary_pipeline.drift.acks import Ack, acknowledge, read_acks
from dictionary_pipeline.drift.holding import Pending, pending
from dictionary_pipeline.drift.model import SEVERITIES, Severity
from dictionary_pipeline.drift.reading import published_entries
from dictionary_pipeline.drift.record import Entry, moment
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.places import Place, configured_database
from dictionary_pipeline.renaming import rename_patch, renames_of
from dictionary_pipeline.terminal import say

ACK = "ack"
_KEY_SHOWN = 12
_SHORTEST_KEY = 6
_LONGEST = 100


@dataclass(frozen=True)
class DriftList:
    """The drift of one database, as people and machines are told it."""

    database: str
    held: Pending | None
    entries: tuple[Entry, ...]
    """What waits first, then what is published, newest first."""
    acks: Mapping[str, Ack]
    patch: str = field(default="")

    @property
    def open(self) -> tuple[Entry, ...]:
        """What nobody acknowledged."""
        return tuple(entry for entry in self.entries if entry.key not in self.acks)

    @property
    def worst(self) -> Severity | None:
        """The worst severity of what nobody acknowledged."""
        found = {entry.severity for entry in self.open}
        return next((severity for severity in SEVERITIES if severity in found), None)

    @property
    def exit_code(self) -> int:
        """As of `diff`, over what nobody acknowledged: 0 nothing, 4 safe or cosmetic, 5 risky, 6 breaking."""
        return EXIT_CODES[self.worst]

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        waiting = {entry.key for entry in self.held.entries} if self.held else set()
        return {
            "database": self.database,
            "worst_unacknowledged": self.worst,
            "held_since": self.held.since if self.held else None,
            "changes": [
                {
                    "key": entry.key,
                    "held": entry.key in waiting,
                    "acknowledged": _without_key(self.acks[entry.key]) if entry.key in self.acks else None,
                    **asdict(entry),
                }
                for entry in self.entries
            ],
            "proposed_edit": self.patch,
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        if self.held is not None:
            yield (
                f"{self.database}: the dictionary published before {self.held.since} stays until its breaking changes "
                f"are acknowledged: data_dictionary drift ack {self.database} --all --reason TEXT"
            )
        if not self.entries:
            yield f"{self.database}: no drift recorded"
        waiting = {entry.key for entry in self.held.entries} if self.held else set()
        for entry in self.entries:
            state = "held  " if entry.key in waiting else "      "
            head = f"{entry.key[:_KEY_SHOWN]} {entry.detected_at} {state}{entry.severity:<9} {entry.kind:<24}"
            yield f"{head} {_cut(_object(entry))}{_shown(entry)}"
            if entry.reason:
                yield f"             {_cut(entry.reason)}"
            if ack := self.acks.get(entry.key):
                yield f"             acknowledged by {_cut(ack.author)} at {ack.at}: {_cut(ack.reason)}"
        yield from edit_lines(self.patch)


def drift(
    words: Sequence[str],
    project: Path | None,
    *,
    since: str | None,
    everything: bool,
    reason: str,
    author: str | None,
    as_json: bool,
) -> int:
    """`drift [ack] NAME [KEY...]`: a database may be called `ack`, so that the word alone is a name.

    Raises:
        ConfigurationError: the words do not go together.
        StoreError: the store cannot be used.
    """
    if words[0] == ACK and len(words) > 1:
        if since is not None or as_json:
            raise ConfigurationError("`drift ack` takes neither --since nor --json", fix="Leave them out.")
        return acknowledge_drift(words[1], words[2:], project, everything=everything, reason=reason, author=author)
    if words[0] == ACK and (everything or reason or author is not None):
        raise ConfigurationError(
            "`drift ack` needs the name of a database", fix="Write data_dictionary drift ack NAME KEY... --reason TEXT."
        )
    if len(words) > 1 or everything or reason or author is not None:
        raise ConfigurationError(
            "only `drift ack` takes keys, --all, --reason and --author",
            fix=f"Write data_dictionary drift ack {words[0]} ...",
        )
    return list_drift(words[0], since, project, as_json=as_json)


def list_drift(name: str, since: str | None, project: Path | None, *, as_json: bool) -> int:
    """`drift NAME`: what was detected, and what waits.

    Raises:
        ConfigurationError: no such database is configured, or `since` is no date.
        StoreError: what is published cannot be read.
    """
    place = configured_database(name, project)
    found = read_drift(place, _moment(since) if since is not None else None)
    if as_json:
        say(json.dumps(found.as_json(), ensure_ascii=False, indent=1))
    else:
        for line in found.lines():
            say(line)
    return found.exit_code


def acknowledge_drift(
    name: str, keys: Sequence[str], project: Path | None, *, everything: bool, reason: str, author: str | None
) -> int:
    """`drift ack NAME`: somebody has seen changes; when those that wait are seen, the next run publishes them.

    Raises:
        ConfigurationError: no such database or change, no reason, or neither keys nor `--all`.
        StoreError: the store cannot be used.
    """
    if not reason.strip():
        raise ConfigurationError("`drift ack` needs a reason", where="--reason", fix="Say why the change is all right.")
    if everything == bool(keys):
        raise ConfigurationError(
            "`drift ack` needs the keys of changes, or --all", fix=f"`data_dictionary drift {name}` lists them."
        )
    place = configured_database(name, project)
    found = read_drift(place, None)
    chosen = [entry.key for entry in found.open] if everything else [_key(key, found, name) for key in keys]
    new = acknowledge(place.store, chosen, author or _default_author(), reason.strip(), datetime.now(UTC))
    say(f"{name}: {len(new)} change{'' if len(new) == 1 else 's'} acknowledged.{_what_follows(place, found)}")
    return 0


def read_drift(place: Place, since: str | None) -> DriftList:
    """The drift of a configured database.

    Args:
        place: The database.
        since: Only what was detected at this moment, as the log writes it, or later.

    Raises:
        StoreError: what is published cannot be read.
    """
    held, acks = pending(place.store), read_acks(place.store)
    waiting = [entry for entry in held.entries if since is None or entry.detected_at >= since] if held else []
    entries = (*waiting, *reversed(published_entries(place.store, since)))
    unseen = [entry for entry in entries if entry.key not in acks]
    return DriftList(place.config.name, held, entries, acks, rename_patch(place.config.file, renames_of(unseen)))


def _what_follows(place: Place, found: DriftList) -> str:
    if found.held is None:
        return ""
    acks, name = read_acks(place.store), place.config.name
    left = [entry for entry in found.held.entries if entry.severity == SEVERITIES[0] and entry.key not in acks]
    if left:
        return f" {len(left)} breaking ones still hold the published dictionary."
    return f" `data_dictionary run {name}`, or the next run of its schedule, publishes what was held."


def _key(text: str, found: DriftList, name: str) -> str:
    """The whole key that a person gave the beginning of."""
    known = sorted({entry.key for entry in found.entries if entry.key.startswith(text)})
    if len(text) < _SHORTEST_KEY or len(known) != 1:
        raise ConfigurationError(
            f"{len(known)} changes have a key that begins with {text!r}",
            where=name,
            fix=f"`data_dictionary drift {name}` lists them; {_SHORTEST_KEY} characters are the fewest.",
        )
    return known[0]


def _moment(text: str) -> str:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(
            f"{text!r} is no date", where="--since", fix="Write it like 2026-11-30 or 2026-11-30T12:00Z."
        ) from None
    return moment(given if given.tzinfo else given.replace(tzinfo=UTC))


def _default_author() -> str:
    """The person as `git` knows them, else the login of the operating system."""
    git = shutil.which("git")
    if git is not None:
        told = subprocess.run([git, "config", "user.name"], capture_output=True, text=True, check=False, timeout=10)
        if told.returncode == 0 and told.stdout.strip():
            return told.stdout.strip()
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise ConfigurationError("nobody knows who you are", where="--author", fix="Give your name there.") from None


def _without_key(ack: Ack) -> dict[str, str]:
    return {name: value for name, value in ack._asdict().items() if name != "key"}


def _object(entry: Entry) -> str:
    return ".".join(part for part in (entry.schema, entry.table, entry.column) if part)


def _shown(entry: Entry) -> str:
    before, after = _cut(entry.before), _cut(entry.after)
    sure = f" (confidence {entry.confidence:.2f})" if entry.confidence < 1 else ""
    told = f"{before} -> {after}{sure}" if before and after else before or after
    return f": {told}" if told else ""


def _cut(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
