"""What the tests of Snowflake and Databricks share: one declared shop, runs over it, its published entries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servers.warehouse_model import Column, Database, ForeignKey, Key, Relation

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, SamplingLimits
from dictionary_pipeline.pipeline import RunSummary, run_database
from dictionary_pipeline.publishing.local import LocalStore


def shop(name: str, *, integer: str, text: str, upper: bool = True) -> Database:
    """Customers, orders with a composite key and lines that refer to them in another order, and a view."""

    def n(word: str) -> str:
        return word.upper() if upper else word

    sales = n("sales")
    customer = Relation(
        sales,
        n("customer"),
        (Column(n("id"), integer, nullable=False), Column(n("name"), text, comment="What to call them.")),
        keys=(Key(n("pk_customer"), "primary", (n("id"),)),),
        comment="People who buy.",
        rows=((1, "Ada"), (2, "Grace")),
    )
    orders = Relation(
        sales,
        n("orders"),
        tuple(Column(n(column), integer) for column in ("tenant", "no", "customer_id")),
        keys=(Key(n("pk_orders"), "primary", (n("tenant"), n("no"))),),
        foreign_keys=(
            ForeignKey(
                *(n("fk_customer"), (n("customer_id"),), sales, n("customer"), (n("id"),)), parent_key=n("pk_customer")
            ),
        ),
        rows=((1, 1, 1), (1, 2, 2)),
    )
    line = Relation(
        sales,
        n("line"),
        tuple(Column(n(column), integer) for column in ("order_no", "order_tenant", "quantity")),
        foreign_keys=(
            ForeignKey(
                *(n("fk_order"), (n("order_no"), n("order_tenant")), sales, n("orders"), (n("no"), n("tenant"))),
                parent_key=n("pk_orders"),
                parent_columns=(n("tenant"), n("no")),
            ),
        ),
        rows=((1, 1, 5), (2, 1, 7)),
    )
    view = Relation(
        sales,
        n("v_name"),
        (Column(n("name"), text),),
        kind="view",
        text=f"CREATE VIEW {sales}.{n('v_name')} AS SELECT {n('name')} FROM {sales}.{n('customer')}",
        rows=(("Ada",), ("Grace",)),
    )
    return Database(name, (customer, orders, line, view))


def run(spec: ConnectionSpec, out: Path, **limits: Any) -> RunSummary:
    """The whole pipeline."""
    sampling = SamplingLimits(**{"max_connections": 1, **limits})
    return run_database(DatabaseConfig("shop", spec, sampling=sampling), LocalStore(out))


def entries(out: Path) -> Mapping[str, dict[str, Any]]:
    """Published schema-store entries by table name, lower case."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in (out / "schema_store").iterdir()]
    return {entry["Entity"].lower(): entry for entry in read}


def manifest(out: Path) -> dict[str, Any]:
    """The published manifest."""
    content: dict[str, Any] = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    return content
