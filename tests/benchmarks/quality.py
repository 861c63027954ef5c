"""How good definitions are, measured on a schema whose comments are hidden from the product.

`python tests/benchmarks/quality.py [DUCKDB_FILE] [--model PROJECT]` prints one JSON line. The comments
are removed from a copy of the file (the demo database by default), the product describes the copy, and
then each hidden comment is a question:

- `table_mrr`: ranks all tables by what the dictionary says of them; mean reciprocal rank of its own table.
- `column_top1`: how often a column's comment finds its column among those of its table.
- `invented`: numbers, units and proper names in definitions that stand nowhere in the input.

The ranking is BM25 (Robertson and Zaragoza, 2009; k1 1.2, b 0.75) on words without endings, so it needs no
model and says the same every time; ties count as the mean of their ranks.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dictionary_pipeline.config.generation import chosen_model
from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig
from dictionary_pipeline.demo.build import build_demo
from dictionary_pipeline.pipeline import run_database
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.publishing.reading import bundle_in

_K1, _B = 1.2, 0.75
_TITLE_WEIGHT = 3
_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "one",
        "or",
        "that",
        "the",
        "this",
        "to",
        "was",
        "were",
        "with",
    )
)
_UNITS = frozenset(
    (
        "eur",
        "euro",
        "euros",
        "usd",
        "dollar",
        "dollars",
        "gbp",
        "pounds",
        "cents",
        "percent",
        "kg",
        "kilogram",
        "kilograms",
        "g",
        "gram",
        "grams",
        "km",
        "kilometres",
        "metres",
        "m",
        "cm",
        "mm",
        "litres",
        "seconds",
        "minutes",
        "hours",
        "milliseconds",
        "bytes",
        "kb",
        "mb",
    )
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_PROPER = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")


@dataclass(frozen=True)
class Quality:
    """What was measured."""

    tables: int
    table_mrr_definition: float
    """By the definition and the entity name alone."""
    table_mrr: float
    """By the whole entry: also its columns' names and definitions, as a search index holds it."""
    columns: int
    column_top1: float
    invented: int
    definitions: int
    examples: tuple[str, ...]
    """Some of the invented claims, for people."""


class Ranking:
    """BM25 over a few short texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._documents = [Counter(stems(text)) for text in texts]
        self._mean = sum(map(Counter.total, self._documents)) / max(1, len(texts)) or 1.0
        self._found_in = Counter(word for document in self._documents for word in document)

    def rank(self, question: str, right: int) -> float:
        """Rank of the right text, 1 the best; among equals the mean."""
        words = set(stems(question))
        scores = [self._score(document, words) for document in self._documents]
        better = sum(score > scores[right] for score in scores)
        return better + (sum(score == scores[right] for score in scores) + 1) / 2

    def _score(self, document: Counter[str], words: set[str]) -> float:
        norm = _K1 * (1 - _B + _B * document.total() / self._mean)
        count = len(self._documents)
        return sum(
            math.log(1 + (count - self._found_in[word] + 0.5) / (self._found_in[word] + 0.5))
            * document[word]
            * (_K1 + 1)
            / (document[word] + norm)
            for word in sorted(words & document.keys())
        )


def stems(text: str) -> list[str]:
    """Words in lower case, without common English endings and the most common words."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


def _stem(word: str) -> str:
    """A word without plural, `-ing`, `-ed`, `-age`, a doubled consonant before them, and final `e` or `y`."""
    for endings in (("ies", "es", "s"), ("ing", "ed", "age")):
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                word = word[: -len(ending)]
                break
    word = word.rstrip("eyi") if len(word) > 3 else word
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


def measure(file: Path, *, model_project: Path | None = None) -> Quality:
    """Hide a DuckDB file's comments from the product and ask its dictionary about them.

    Args:
        file: It is copied first.
        model_project: Project folder whose model writes the texts.
    """
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.duckdb"
        shutil.copyfile(file, bare)
        tables, columns = _hide_comments(bare)
        store = LocalStore(Path(folder) / "published" / "bare")
        model = chosen_model(model_project) if model_project else None
        summary = run_database(
            DatabaseConfig("bare", ConnectionSpec("duckdb", {"path": str(bare)}), model=model), store
        )
        if summary.error is not None:
            raise summary.error
        entries = {(entry["Schema"], entry["Entity"]): entry for entry in bundle_in(store).entries()}
    return score(entries, tables, columns)


def score(
    entries: Mapping[tuple[str, str], Mapping[str, Any]],
    tables: Mapping[tuple[str, str], str],
    columns: Mapping[tuple[str, str, str], str],
) -> Quality:
    """Compare entries of a schema store with the comments that were hidden."""
    names = list(entries)
    heads = Ranking([_head(entry) for entry in entries.values()])
    whole = Ranking([" ".join([_head(entry), *map(_column, entry["Columns"])]) for entry in entries.values()])
    hits = 0.0
    for (schema, table, name), comment in columns.items():
        listed = entries[(schema, table)]["Columns"]
        right = next(at for at, column in enumerate(listed) if column["Name"] == name)
        # Two equally good columns are half an answer.
        rank = Ranking([column["Definition"] or "" for column in listed]).rank(comment, right)
        hits += 1 if rank == 1 else 0.5 if rank == 1.5 else 0
    claims = [claim for entry in entries.values() for claim in invented(entry)]
    return Quality(
        tables=len(tables),
        table_mrr_definition=_mean(1 / heads.rank(comment, names.index(name)) for name, comment in tables.items()),
        table_mrr=_mean(1 / whole.rank(comment, names.index(name)) for name, comment in tables.items()),
        columns=len(columns),
        column_top1=round(hits / max(1, len(columns)), 3),
        invented=len(claims),
        definitions=sum(bool(text) for entry in entries.values() for text, _ in _texts(entry)),
        examples=tuple(claims[:10]),
    )


def invented(entry: Mapping[str, Any]) -> list[str]:
    """Numbers, units and proper names in an entry's definitions that none of its facts hold."""
    facts = {key: value for key, value in entry.items() if key not in ("Definition", "EntityName", "Columns")}
    facts["columns"] = [{k: v for k, v in column.items() if k != "Definition"} for column in entry["Columns"]]
    given = json.dumps(facts, ensure_ascii=False).lower()
    words = set(stems(given.replace("_", " ")))
    found = []
    for text, name in _texts(entry):
        for number in _NUMBER.findall(text or ""):
            if number.lower() not in given:
                found.append(f"{name}: {number}")
        for word in [*_PROPER.findall(text or ""), *(word for word in _WORD.findall(text or "") if word in _UNITS)]:
            if _stem(word.lower()) not in words:
                found.append(f"{name}: {word}")
    return found


def _texts(entry: Mapping[str, Any]) -> list[tuple[str | None, str]]:
    own = (entry["Definition"], entry["FQN"])
    return [own, *((column["Definition"], f"{entry['FQN']}.{column['Name']}") for column in entry["Columns"])]


def _head(entry: Mapping[str, Any]) -> str:
    """The name counts as often as search indexes usually weigh a title."""
    return f"{entry['EntityName']} " * _TITLE_WEIGHT + (entry["Definition"] or "")


def _column(column: Mapping[str, Any]) -> str:
    return f"{column['Name'].replace('_', ' ')} {column['Definition'] or ''}"


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(math.fsum(listed) / max(1, len(listed)), 3)


def _hide_comments(file: Path) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str, str], str]]:
    """Remove all comments from a file; returns those of tables and views, and of columns."""
    with duckdb.connect(str(file)) as connection:
        objects = connection.execute(
            "SELECT schema_name, table_name, comment, 'TABLE' FROM duckdb_tables() WHERE comment IS NOT NULL "
            "UNION ALL SELECT schema_name, view_name, comment, 'VIEW' FROM duckdb_views() "
            "WHERE comment IS NOT NULL AND NOT internal ORDER BY ALL"
        ).fetchall()
        columns = connection.execute(
            "SELECT schema_name, table_name, column_name, comment FROM duckdb_columns() "
            "WHERE comment IS NOT NULL AND NOT internal ORDER BY ALL"
        ).fetchall()
        for schema, table, _, kind in objects:
            connection.execute(f"COMMENT ON {kind} {_quoted(schema, table)} IS NULL")
        for schema, table, column, _ in columns:
            connection.execute(f"COMMENT ON COLUMN {_quoted(schema, table, column)} IS NULL")
    return {(s, t): text for s, t, text, _ in objects}, {(s, t, c): text for s, t, c, text in columns}


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def main() -> None:
    """Measure one file and print the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, help="DuckDB file with comments; the demo database by default")
    parser.add_argument("--model", type=Path, metavar="PROJECT", help="project whose model writes the texts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.file
        if file is None:
            file = Path(folder) / "demo.duckdb"
            build_demo(file)
        found = measure(file, model_project=arguments.model)
    print(json.dumps({"text": "model" if arguments.model else "derived", **vars(found)}))  # noqa: T201


if __name__ == "__main__":
    main()
