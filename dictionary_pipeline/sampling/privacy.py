"""The privacy policy: what happens to a column that a person named or the detector found sensitive.

`deny` wins, then the first pattern that fits, then the category, then the default. Passwords, secrets,
national ids and card numbers told by name are denied unless a pattern or their category says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass

import polars as pl

from dictionary_pipeline import frames
from dictionary_pipeline.catalog import Catalog
from dictionary_pipeline.config.patterns import ColumnPattern
from dictionary_pipeline.config.resolved import DatabaseConfig, Treatment
from dictionary_pipeline.sampling.secret_names import told_by_name
from dictionary_pipeline.sampling.sensitivity.model import Verdict

WITHHELD: frames.Schema = {name: pl.String() for name in ("schema", "table", "column", "category", "reason")}
CONFIGURED = "CONFIGURED"
"""Category of columns that only a pattern makes sensitive."""
_CATALOG_FIELDS = ("schema", "table", "column", "type_class")

Name = tuple[str, str, str]
"""Schema, table and column."""


@dataclass(frozen=True)
class Ruling:
    """A sensitive column and what happens to its values."""

    verdict: Verdict
    treatment: Treatment

    def row(self, name: Name) -> tuple[object, ...]:
        """As a row of `frames.SENSITIVITY`."""
        verdict = self.verdict
        return (*name, verdict.category, verdict.confidence, verdict.reason, self.treatment)


class Policy:
    """`privacy:` of the configuration."""

    def __init__(self, config: DatabaseConfig) -> None:
        privacy = config.privacy
        rules = [(rule.match, rule.treat) for rule in privacy.columns]
        self._deny = [ColumnPattern(text) for text in config.withhold]
        self._deny += [ColumnPattern(text) for text, treat in rules if treat == "deny"]
        self._rules = [(ColumnPattern(text), treat) for text, treat in rules if treat != "deny"]
        self._rules += [(ColumnPattern(text), "allow") for text in config.allow]
        self._categories = privacy.categories
        self._default = privacy.default
        self.successors: Mapping[Name, str] = {}
        """Columns that are denied because they may be a withheld one under another name -> why."""
        self._published: pl.DataFrame | None = None
        self._clear: frozenset[Name] | None = None

    @property
    def patterns(self) -> list[str]:
        """Texts of the patterns that withhold or mask."""
        treated = [pattern.text for pattern, treatment in self._rules if treatment != "allow"]
        return [pattern.text for pattern in self._deny] + treated

    def denying(self, successors: Mapping[Name, str]) -> Policy:
        """The policy, which also denies these columns for the given reasons."""
        policy = copy(self)
        policy.successors = successors
        return policy

    def after(self, published: pl.DataFrame) -> Policy:
        """The policy, which knows what was thought of the columns when the current bundle was published.

        Args:
            published: Its `catalog/columns.parquet`.
        """
        policy = copy(self)
        policy._published = published
        return policy

    def was_clear(self, name: Name) -> bool:
        """Whether the column is published as one that is not sensitive."""
        if self._clear is None:
            self._clear = frozenset()
            if self._published is not None:
                clear = self._published.filter(pl.col("sensitivity").is_null())
                self._clear = frozenset(clear.select(_CATALOG_FIELDS[:3]).iter_rows())
        return name in self._clear

    def names(self, name: Name) -> bool:
        """Whether a pattern names the column, to whatever end."""
        return any(pattern.matches(*name) for pattern in self._deny) or self._rule(name) is not None

    def pattern_reason(self, name: Name) -> str | None:
        """Which pattern withholds or masks the column; null when none does."""
        ruling = self.denial(name, "other") or self.ruling(name, None)
        return ruling.verdict.reason if ruling is not None and ruling.verdict.category == CONFIGURED else None

    def denial(self, name: Name, type_class: str) -> Ruling | None:
        """Why a column is never read; null when it is."""
        denied = next((pattern for pattern in self._deny if pattern.matches(*name)), None)
        if denied is not None:
            return Ruling(_configured(f"matches the withhold pattern `{denied.text}`"), "deny")
        if name in self.successors:
            return Ruling(_configured(self.successors[name]), "deny")
        verdict = told_by_name(name[2], type_class)
        if verdict is None or self._said(name, verdict.category) in ("mask", "allow"):
            return None
        return Ruling(verdict, "deny")

    def ruling(self, name: Name, verdict: Verdict | None) -> Ruling | None:
        """What happens to a column that is not denied.

        Args:
            verdict: Why it is sensitive, null when only a pattern may say so.
        """
        if verdict is not None and verdict.category != CONFIGURED:
            return Ruling(verdict, self._said(name, verdict.category) or self._default)
        rule = self._rule(name)
        if rule is None or rule[1] == "allow":
            return None
        pattern, treatment = rule
        return Ruling(_configured(f"matches the privacy pattern `{pattern.text}`"), treatment)

    def _said(self, name: Name, category: str) -> Treatment | None:
        """What the configuration says about a column of that category, if anything."""
        rule = self._rule(name)
        return rule[1] if rule else self._categories.get(category)

    def _rule(self, name: Name) -> tuple[ColumnPattern, Treatment] | None:
        return next((rule for rule in self._rules if rule[0].matches(*name)), None)


def denied_columns(catalog: Catalog, policy: Policy) -> pl.DataFrame:
    """Columns that no statement may select, as `frames.SENSITIVITY` in the order of the catalog."""
    rows = []
    for schema, table, column, type_class in catalog.columns.select(_CATALOG_FIELDS).iter_rows():
        ruling = policy.denial((schema, table, column), type_class)
        if ruling is not None:
            rows.append(ruling.row((schema, table, column)))
    return frames.from_rows(rows, frames.SENSITIVITY)


def withheld_of(sensitivity: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.SENSITIVITY` whose values appear nowhere, as `WITHHELD`."""
    return _treated(sensitivity, "deny", "withhold")


def masked_of(sensitivity: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.SENSITIVITY` whose values are shown masked, as `WITHHELD`."""
    return _treated(sensitivity, "mask")


def hidden_of(sensitivity: pl.DataFrame) -> pl.DataFrame:
    """The columns of `frames.SENSITIVITY` of which no raw value may be seen, as `WITHHELD`."""
    return _treated(sensitivity, "deny", "withhold", "mask")


def known_sensitivity(catalog: Catalog, policy: Policy, previous: pl.DataFrame) -> pl.DataFrame:
    """What is known before anything is read: denied columns, and last time's verdicts under today's policy.

    Args:
        previous: `frames.SENSITIVITY` of the last sampling.
    """
    denied = denied_columns(catalog, policy)
    existing = previous.join(catalog.columns, on=["schema", "table", "column"], how="semi", maintain_order="left")
    rows = [
        ruling.row(name)
        for name, verdict in verdicts_of(existing).items()
        if (ruling := policy.ruling(name, verdict)) is not None
    ]
    known = frames.from_rows(rows, frames.SENSITIVITY)
    return pl.concat([denied, known.join(denied, on=["schema", "table", "column"], how="anti")])


def verdicts_of(sensitivity: pl.DataFrame) -> dict[Name, Verdict]:
    """The verdicts of `frames.SENSITIVITY` by column; denied columns were not looked at and have none."""
    looked_at = sensitivity.filter(pl.col("treatment") != "deny")
    return {
        (schema, table, column): Verdict(category, confidence, reason)
        for schema, table, column, category, confidence, reason, _ in looked_at.iter_rows()
    }


def _configured(reason: str) -> Verdict:
    return Verdict(CONFIGURED, 1.0, reason)


def _treated(sensitivity: pl.DataFrame, *treatments: Treatment) -> pl.DataFrame:
    return sensitivity.filter(pl.col("treatment").is_in(treatments)).select(list(WITHHELD))
