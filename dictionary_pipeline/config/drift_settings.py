"""Drift as configured, and the words in which kinds of change and severities are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "table_added",
    "table_removed",
    "table_renamed",
    "view_added",
    "view_removed",
    "view_renamed",
    "view_definition_changed",
    "column_added",
    "column_removed",
    "column_renamed",
    "columns_reordered",
    "type_widened",
    "type_narrowed",
    "type_changed",
    "nullability_relaxed",
    "nullability_tightened",
    "default_changed",
    "pk_added",
    "pk_removed",
    "pk_changed",
    "fk_added",
    "fk_removed",
    "fk_changed",
    "fk_rule_changed",
    "unique_added",
    "unique_removed",
    "check_changed",
    "enum_value_added",
    "enum_value_removed",
    "index_added",
    "index_removed",
    "generated_changed",
    "object_type_changed",
    "identifier_case_changed",
    "comment_changed",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

Severity = Literal["breaking", "risky", "safe", "cosmetic"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From worst to least."""

OnBreaking = Literal["publish", "hold"]


@dataclass(frozen=True)
class DriftSettings:
    """What a project or database decided about its drift."""

    severity: Mapping[str, Severity] = field(default_factory=dict)
    """`kind` or `kind:glob` -> severity. The first glob that fits wins, then the kind alone, then the usual rule."""
    on_breaking: OnBreaking = "publish"
    """Publish the new truth, or keep the published bundle until somebody acknowledges."""
    on_suspicious: OnBreaking = "hold"
    """The same where most tables are gone at once."""
    suspicious_share: float = 0.5
    """Share of the tables that must be gone at once to be suspicious."""
    suspicious_tables: int = 3
    """Tables that must be gone for that: with few, half of a database is gone with one DROP TABLE."""
