"""The schema that every engine is tested with, and one of any number of tables."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from conformance.model import Column, Declaration, ForeignKey, Key, Table, View, ViewColumn, needs

SALES, CRM, ODD = "sales", "crm", "Odd Schema.x"


def _int(name: str, *, nullable: bool = True, comment: str | None = None) -> Column:
    return Column(name, "integer", nullable=nullable, comment=comment)


def _text(name: str, *, nullable: bool = True, comment: str | None = None) -> Column:
    return Column(name, "string", 80, nullable=nullable, comment=comment)


_COUNTRY = Table(
    SALES,
    "country",
    (Column("code", "string", 2, nullable=False, comment="Two letters."), _text("name")),
    Key("pk_country", ("code",)),
    comment="Countries we ship to; it's a list.",
    rows=(("DE", "Germany"), ("FR", "France")),
)
_CUSTOMER = Table(
    SALES,
    "customer",
    (
        Column("id", "integer", nullable=False, identity=True),
        Column("email", "string", 120, nullable=False, comment="Where mail goes: a\nsecond line, 100 %, naïve."),
        Column("country_code", "string", 2),
        Column("status", "string", 20, nullable=False, allowed=("active", "blocked", "new")),
    ),
    Key("pk_customer", ("id",)),
    (Key("uq_customer_email", ("email",)),),
    (ForeignKey("fk_country", ("country_code",), (SALES, "country"), ("code",)),),
    comment="People who buy.",
)
_ADDRESS = Table(SALES, "address", (_int("id", nullable=False), _text("street")), Key("pk_address", ("id",)))
_ORDERS = Table(
    SALES,
    "orders",
    (
        _int("tenant", nullable=False),
        _int("no", nullable=False),
        _int("customer_id", nullable=False),
        _int("bill_to"),
        _int("ship_to"),
    ),
    Key("pk_orders", ("tenant", "no")),
    (),
    (
        ForeignKey("fk_customer", ("customer_id",), (SALES, "customer"), ("id",)),
        ForeignKey("fk_orders_bill_to", ("bill_to",), (SALES, "address"), ("id",)),
        ForeignKey("fk_orders_ship_to", ("ship_to",), (SALES, "address"), ("id",)),
    ),
)
_ORDER_LINE = Table(
    SALES,
    "order_line",
    (
        _int("no", nullable=False),  # the key's order differs from the table's
        _int("tenant", nullable=False),
        _int("line", nullable=False),
        _int("quantity"),
        _int("pieces"),
        Column("total", "integer", generated=("quantity", "pieces"), needs=needs("generated")),
    ),
    Key("pk_order_line", ("tenant", "no", "line")),
    (),
    (ForeignKey("fk_line_order", ("tenant", "no"), (SALES, "orders"), ("tenant", "no")),),
)
_SHIPMENT = Table(
    SALES,
    "shipment",
    (_int("id", nullable=False), _int("order_no"), _int("order_tenant")),
    Key("pk_shipment", ("id",)),
    (),
    (
        ForeignKey(
            *("fk_shipment_order", ("order_no", "order_tenant"), (SALES, "orders"), ("no", "tenant")),
            needs=needs("reordered_keys"),
        ),
    ),
)
_DEPARTMENT = Table(
    SALES,
    "department",
    (_int("id", nullable=False), _int("head_id")),
    Key("pk_department", ("id",)),
    (),
    (ForeignKey("fk_head", ("head_id",), (SALES, "employee"), ("id",), needs=needs("circular_keys")),),
)
_EMPLOYEE = Table(
    SALES,
    "employee",
    (_int("id", nullable=False), _int("boss_id"), _int("department_id")),
    Key("pk_employee", ("id",)),
    (),
    (
        ForeignKey("fk_boss", ("boss_id",), (SALES, "employee"), ("id",)),
        ForeignKey("fk_department", ("department_id",), (SALES, "department"), ("id",)),
    ),
)
_LOGIN = Table(
    SALES,
    "login",
    (_int("id", nullable=False), Column("email", "string", 120)),
    Key("pk_login", ("id",)),
    (),
    (ForeignKey("fk_login_email", ("email",), (SALES, "customer"), ("email",), needs=needs("keys_to_unique")),),
)
_NOTE = Table(
    SALES,
    "note",
    (_int("id", nullable=False), _int("customer_id")),
    Key("pk_note", ("id",)),
    (),
    (ForeignKey("fk_customer", ("customer_id",), (SALES, "customer"), ("id",), needs=needs("repeated_key_names")),),
)
_TICKET = Table(
    SALES,
    "ticket",
    (
        _int("id", nullable=False),
        Column("priority", "string", enum=("low", "mid", "high", "it's"), needs=needs("enums")),
    ),
    Key("pk_ticket", ("id",)),
)
_CRM_CUSTOMER = Table(CRM, "customer", (_int("id", nullable=False), _text("nickname")), Key("pk_customer", ("id",)))
_CONTACT = Table(
    CRM,
    "contact",
    (_int("id", nullable=False), _int("customer_id"), _int("own_id")),
    Key("pk_contact", ("id",)),
    (),
    (
        ForeignKey("fk_customer", ("customer_id",), (SALES, "customer"), ("id",), needs=needs("cross_schema_keys")),
        ForeignKey("fk_own", ("own_id",), (CRM, "customer"), ("id",)),
    ),
)
_KEYLESS = Table(SALES, "log", (_text("line"), _int("level")), comment="No key at all.")

EVERY_TYPE = Table(
    SALES,
    "every_type",
    (
        _int("id", nullable=False),
        Column("c_string", "string", 200),
        Column("c_integer", "integer"),
        Column("c_float", "float"),
        Column("c_decimal", "decimal"),
        Column("c_boolean", "boolean"),
        Column("c_date", "date"),
        Column("c_time", "time"),
        Column("c_timestamp", "timestamp"),
        Column("c_interval", "interval"),
        Column("c_uuid", "uuid"),
        Column("c_json", "json"),
        Column("c_array", "array"),
        Column("c_xml", "xml"),
        Column("c_binary", "binary"),
    ),
    Key("pk_every_type", ("id",)),
    rows=(
        (
            *(1, "tab\there, it's naïve 日本", 2147483647, 1.5, Decimal("12.50"), True),
            *(dt.date(2024, 2, 29), dt.time(13, 45, 10), dt.datetime(2024, 2, 29, 13, 45, 10, 123456)),
            *(
                "1 day",
                "123e4567-e89b-12d3-a456-426614174000",
                '{"a": [1, null, "x"]}',
                [1, 2],
                "<a>1</a>",
                b"\x00\xff",
            ),
        ),
        (2, *[None] * 14),
    ),
)
"""One column per family; the second row is null."""

EXPECTED_SAMPLES: dict[str, object] = {
    "c_string": "tab\there, it's naïve 日本",
    "c_integer": 2147483647,
    "c_float": 1.5,
    "c_decimal": "12.50",
    "c_boolean": True,
    "c_date": "2024-02-29",
    "c_time": "13:45:10",
    "c_timestamp": "2024-02-29T13:45:10.123456",
    "c_interval": "1 day",
    "c_uuid": "123e4567-e89b-12d3-a456-426614174000",
    "c_json": {"a": [1, None, "x"]},
    "c_array": [1, 2],
    "c_xml": "<a>1</a>",
    "c_binary": "<2 bytes>",
}
"""Column of `EVERY_TYPE` -> its published sample (facts `value:<family>` leave one out)."""


def _hostile(name: str, column: str, fact: str) -> Table:
    """A table and a column with awkward names, a key to itself, and a value that tells it apart."""
    number = sum(map(ord, name))
    return Table(
        SALES,
        name,
        (_int("id", nullable=False), _text(column, comment=f"About {column}"), _int("parent")),
        Key(f"pk_hostile_{number}", ("id",)),
        (),
        (ForeignKey(f"fk_hostile_{number}", ("parent",), (SALES, name), ("id",)),),
        comment=f"Called {name}",
        rows=((1, name, None),),
        needs=needs(fact),
    )


HOSTILE = (
    _hostile("dot.table", "a.b", "name:dot"),
    _hostile('quote"table', 'double"quote', "name:quote"),
    _hostile("o'brien", "it's", "name:apostrophe"),
    _hostile("back`tick", "tick`", "name:backtick"),
    _hostile("[bracket]table]", "close]", "name:bracket"),
    _hostile("space table", "first name", "name:space"),
    _hostile("100%_like", "%s %(x)s", "name:percent"),
    _hostile("in/out\\x", "a/b\\c", "name:slash"),
    _hostile("größe_日本", "naïve_λ", "name:unicode"),
    Table(SALES, "select", (_int("from", nullable=False), _text("order")), Key("pk_select", ("from",))),
)
"""Tables whose names break careless SQL; each holds its own name as its only text."""

_CASE = (
    Table(SALES, "pair", (_int("id", nullable=False), _text("v")), Key("pk_pair", ("id",)), rows=((1, "lower"),)),
    Table(
        SALES,
        "Pair",
        (_int("id", nullable=False), _text("v")),
        Key("pk_pair_upper", ("id",)),
        rows=((1, "UPPER"),),
        needs=needs("case_only_tables", "upper_case"),
    ),
    Table(
        SALES,
        "Mixed",
        (
            _int("Id", nullable=False),
            _text("v"),
            Column("V", "string", 80, needs=needs("case_only_columns", "upper_case")),
        ),
        Key("PK_Mixed", ("Id",)),
        rows=((1, "lower", "UPPER"),),
    ),
)
_ODD = Table(
    ODD,
    "odd.table",
    (_int("Id", nullable=False),),
    Key("pk_odd", ("Id",)),
    needs=needs("name:dot", "name:space", "schema_names"),
)

_VIEWS = (
    View(
        SALES,
        "v_customer",
        ((SALES, "customer"),),
        (ViewColumn("id", 0, "id"), ViewColumn("mail", 0, "email")),
        comment="Customers, shortened.",
    ),
    View(SALES, "v_mail", ((SALES, "v_customer"),), (ViewColumn("mail", 0, "mail"),)),
    View(
        CRM,
        "v_contact",
        ((CRM, "contact"), (SALES, "v_mail")),
        (ViewColumn("contact_id", 0, "id"), ViewColumn("mail", 1, "mail")),
    ),
)

SHOP = Declaration(
    (SALES, CRM, ODD),
    (
        *(_COUNTRY, _CUSTOMER, _ADDRESS, _ORDERS, _ORDER_LINE, _SHIPMENT, _DEPARTMENT, _EMPLOYEE),
        *(_LOGIN, _NOTE, _TICKET, _CRM_CUSTOMER, _CONTACT, _KEYLESS, EVERY_TYPE),
        *(*HOSTILE, *_CASE, _ODD),
    ),
    _VIEWS,
)


def many_tables(count: int) -> Declaration:
    """`count` tables in one schema, each with a comment and a key to the one before."""
    tables = []
    for number in range(count):
        before = ForeignKey(f"fk_{number}", ("before",), (SALES, f"t_{number - 1:04}"), ("id",))
        tables.append(
            Table(
                SALES,
                f"t_{number:04}",
                (_int("id", nullable=False), _int("before"), _text("label", comment=f"Label {number}")),
                Key(f"pk_{number}", ("id",)),
                (),
                (before,) if number else (),
                comment=f"Table {number}",
            )
        )
    return Declaration((SALES,), tuple(tables))
