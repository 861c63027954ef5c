"""How much a change matters to those who read the database: one rule per kind, exceptions with a reason.

breaking: queries or joins that worked now fail, or mean something else. risky: they still run, but may
return other rows. safe: nothing that worked changes. cosmetic: nothing but the look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from dictionary_pipeline.drift.model import KINDS, SEVERITIES, Change, Kind, Severity
from dictionary_pipeline.errors import ConfigurationError

CONFIGURED = "configured"
"""The reason of a change whose severity the configuration says."""

DEFAULT_SEVERITIES: Mapping[Kind, Severity] = {
    "table_added": "safe",
    "table_removed": "breaking",
    "table_renamed": "breaking",
    "view_added": "safe",
    "view_removed": "breaking",
    "view_renamed": "breaking",
    "view_definition_changed": "risky",
    "column_added": "safe",
    "column_removed": "breaking",
    "column_renamed": "breaking",
    "columns_reordered": "risky",
    "type_widened": "safe",
    "type_narrowed": "risky",
    "type_changed": "breaking",
    "nullability_relaxed": "risky",
    "nullability_tightened": "safe",
    "default_changed": "safe",
    "pk_added": "safe",
    "pk_removed": "risky",
    "pk_changed": "breaking",
    "fk_added": "safe",
    "fk_removed": "risky",
    "fk_changed": "risky",
    "fk_rule_changed": "safe",
    "unique_added": "safe",
    "unique_removed": "risky",
    "check_changed": "risky",
    "enum_value_added": "risky",
    "enum_value_removed": "breaking",
    "index_added": "safe",
    "index_removed": "safe",
    "generated_changed": "risky",
    "object_type_changed": "risky",
    "identifier_case_changed": "breaking",
    "comment_changed": "cosmetic",
}


def rated(change: Change, overrides: Mapping[str, Severity]) -> Change:
    """The change with its configured severity, where there is one for it.

    Args:
        overrides: `kind` or `kind:glob` -> severity. The first glob that fits wins, then the kind alone.
    """
    named = change.object.casefold()
    for rule, severity in overrides.items():
        kind, colon, glob = rule.partition(":")
        if colon and kind == change.kind and fnmatchcase(named, glob.casefold()):
            return replace(change, severity=severity, reason=CONFIGURED)
    configured = overrides.get(change.kind)
    return change if configured is None else replace(change, severity=configured, reason=CONFIGURED)


def check_overrides(overrides: Mapping[str, str]) -> Mapping[str, Severity]:
    """Refuse unknown kinds and severities.

    Raises:
        ConfigurationError: naming the first wrong one.
    """
    checked: dict[str, Severity] = {}
    for rule, severity in overrides.items():
        kind = rule.partition(":")[0]
        if kind not in KINDS:
            raise ConfigurationError(f"{kind!r} is not a kind of drift", fix=f"Kinds: {', '.join(KINDS)}.")
        found = next((known for known in SEVERITIES if known == severity), None)
        if found is None:
            raise ConfigurationError(
                f"{severity!r} is not a severity", where=rule, fix=f"Choose one of: {', '.join(SEVERITIES)}."
            )
        checked[rule] = found
    return checked
