"""`drift:` of `project.yml` and of a database file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, get_args

from pydantic import Field, field_validator

from dictionary_pipeline.config.drift_settings import KINDS, SEVERITIES, DriftSettings, OnBreaking, Severity
from dictionary_pipeline.config.faults import did_you_mean
from dictionary_pipeline.config.section import Count, Section, mistake, one_of

_DEFAULT = DriftSettings()


class Drift(Section):
    """How changes of the schema are judged, and what breaking ones lead to."""

    severity: dict[str, Annotated[Severity, one_of(SEVERITIES)]] = Field(
        default={},
        description="Kind of change, as docs/drift.md lists them, and `breaking`, `risky`, `safe` or `cosmetic`. "
        "`kind:glob` is about the objects whose `schema.table` or `schema.table.column` fits, ignoring case; the "
        "first glob that fits wins over the kind alone. A database's entries win over those of `project.yml`.",
    )
    on_breaking: Annotated[OnBreaking, one_of(get_args(OnBreaking))] = Field(
        default=_DEFAULT.on_breaking,
        description="`publish`: breaking drift is published and warned about. `hold`: the published dictionary stays "
        "as it is until `data_dictionary drift ack` acknowledges the change.",
    )
    on_suspicious: Annotated[OnBreaking, one_of(get_args(OnBreaking))] = Field(
        default=_DEFAULT.on_suspicious,
        description="The same where so many tables and views are gone at once that it may be the wrong database, or "
        "one that is just being restored.",
    )
    suspicious_share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=_DEFAULT.suspicious_share,
        description="That is when more than this share of the tables and views is gone,",
    )
    suspicious_tables: Count = Field(default=_DEFAULT.suspicious_tables, description="and at least so many of them.")

    @field_validator("severity", mode="before")
    @classmethod
    def _are_kinds(cls, value: object) -> object:
        for name in value if isinstance(value, dict) else ():
            kind, colon, glob = str(name).partition(":")
            if kind not in KINDS:
                raise mistake(f"{kind!r} is not a kind of change", did_you_mean(kind, KINDS, noun="kinds"))
            if colon and not glob:
                raise mistake(f"{name!r} names no object", f"Write {kind}, or {kind}:schema.table.")
        return value


def drift_settings(project: Drift, own: Drift) -> DriftSettings:
    """What holds for a database."""
    told = {**project.model_dump(exclude_unset=True), **own.model_dump(exclude_unset=True)}
    rest = {name: rule for name, rule in project.severity.items() if name not in own.severity}
    return replace(_DEFAULT, **{**told, "severity": {**own.severity, **rest}})
