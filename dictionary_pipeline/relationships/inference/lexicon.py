"""Words that identifiers are made of in databases everywhere: what marks a key, a role, a measure."""

from __future__ import annotations

from collections.abc import Mapping

ID_WORDS = frozenset(
    {"id", "ids", "key", "sk", "pk", "fk", "bk", "uid", "uuid", "guid", "oid", "rid", "sid", "ident", "identifier"}
)
"""Words that say that a column identifies a row."""
NUMBER_WORDS = frozenset({"no", "nr", "num", "nbr", "number", "numero", "nummer", "nro", "#"})
CODE_WORDS = frozenset(
    {"code", "cd", "cod", "codigo", "kode", "iso", "iata", "icao", "abbr", "abbreviation", "symbol", "sku", "acronym"}
    | {"ssn", "isbn", "issn", "vin", "ean", "upc", "gtin", "iban", "bic", "plz"}
)
NAME_WORDS = frozenset({"name", "nm", "nom", "nombre", "title", "label", "slug", "username", "login"})
"""Words of natural keys that are only sometimes keys."""
LEADING_ID_WORDS = frozenset({"id", "fk", "pk", "key", "cod", "code", "codigo", "sk", "ref"})
"""Id words that languages and habits put first: `id_cliente`, `fk_kunde`, `cod_produto`."""
MARKERS = frozenset({"fk", "ref", "xref", "lookup", "lkp"})
"""Words that say that a column refers to something, and nothing else."""

TABLE_NOISE = frozenset(
    {
        *("tbl", "tab", "table", "tb", "t", "dim", "d", "fact", "fct", "f", "stg", "raw", "src", "ods", "dwh", "dw"),
        *("master", "mst", "mstr", "mas", "mast", "mastr", "ref", "lkp", "lu", "lookup", "base", "main", "core"),
        *("header", "hdr", "head", "all", "code", "codes", "cd"),
        *("m", "tm", "mt", "stamm", "sys", "app", "vw", "v", "catalog"),
    }
)
"""Words of table names that say what kind of table it is, not what it is about."""
WEAK_HEADS = frozenset(
    {
        "info",
        "data",
        "file",
        "value",
        "entity",
        "name",
        "detail",
        "type",
        "types",
        "kind",
        "category",
        "lookup",
        "profile",
        "account",
        "definition",
        "unit",
    }
)
"""Heads that a reference leaves out: `role_id` -> `role_type`."""

ROLE_WORDS = frozenset(
    {
        *("ship", "bill", "sold", "from", "to", "by", "via", "for", "of", "in", "at", "on", "with"),
        *(
            "home",
            "away",
            "source",
            "src",
            "target",
            "tgt",
            "dest",
            "destination",
            "origin",
            "original",
            "start",
            "end",
        ),
        *("begin", "first", "last", "second", "next", "prev", "previous", "current", "old", "new", "primary", "main"),
        *("secondary", "default", "parent", "child", "root", "other", "alt", "alternate", "billing", "shipping"),
        *("delivery", "mailing", "sender", "receiver", "recipient", "buyer", "seller", "payer", "payee", "pickup"),
        *("dropoff", "departure", "arrival", "winner", "loser", "winning", "losing", "created", "updated", "modified"),
        *("approved", "assigned", "requested", "reported", "owner", "inner", "outer", "left", "right", "base", "local"),
        *("foreign", "related", "linked", "invoice", "order", "payment", "reference", "birth", "residence", "host"),
        *("guest", "visitor", "opponent", "lead", "head", "chief", "vice", "deputy", "acting", "manager", "sales"),
        *("support", "mother", "father", "spouse", "emergency", "preferred", "favorite", "favourite", "actual"),
        *(
            "charge",
            "planned",
            "scheduled",
            "requesting",
            "issuing",
            "receiving",
            "sending",
            "final",
            "initial",
            "responsible",
        ),
    }
)
"""Words before or behind the name of a table that say which part the referred row plays."""

HIERARCHY_WORDS = frozenset(
    {
        *("parent", "reports", "manager", "mgr", "supervisor", "boss", "superior", "predecessor", "successor"),
        *("previous", "prev", "next", "root", "ancestor", "mentor", "replaces", "replaced", "supersedes", "original"),
        *("referrer", "referred", "duplicate", "upline", "sponsor", "leader", "lead", "head", "chief", "spouse"),
        *("ueber", "vorgesetzter", "padre", "reply", "successor", "oberkategorie", "super"),
    }
)
"""Words of a column that may refer to another row of its own table."""

STAFF_ROLES = frozenset(
    {
        *("rep", "representative", "agent", "manager", "mgr", "clerk", "officer", "salesman", "salesperson", "seller"),
        *(
            "supervisor",
            "technician",
            "assignee",
            "approver",
            "reviewer",
            "teacher",
            "instructor",
            "advisor",
            "adviser",
        ),
        *("coach", "trainer", "inspector", "operator", "handler", "boss", "cashier", "picker", "packer", "buyer"),
        *("reports", "head", "lead", "leader", "assigned", "approved", "handled", "doctor", "nurse", "chair"),
        *("processed", "sold", "prepared", "checked", "verified", "counselor", "planner", "requester", "responsible"),
    }
)
USER_ROLES = frozenset(
    {
        *(
            "created",
            "updated",
            "modified",
            "modifier",
            "deleted",
            "author",
            "owner",
            "creator",
            "editor",
            "poster",
            "sender",
        ),
        *("receiver", "recipient", "follower", "followed", "followee", "blocked", "invited", "inviter", "uploader"),
        *("reporter", "moderator", "submitter", "closed", "opened", "submitted", "uploaded", "posted", "edited"),
        *("changed", "inserted", "liked", "subscriber", "voter", "commenter", "assignee", "reviewer", "approver"),
        *("approved", "assigned", "requested", "requester", "booked", "organizer", "organiser", "entered", "winner"),
    }
)
STAFF_TABLES = frozenset(
    {
        "employee",
        "emp",
        "staff",
        "personnel",
        "worker",
        "salesperson",
        "salesman",
        "person",
        "people",
        "user",
        "mitarbeiter",
    }
)
USER_TABLES = frozenset({"user", "person", "people", "member", "account", "employee", "staff", "profile", "usr"})

POLYMORPHIC_WORDS = frozenset(
    {
        *("object", "entity", "target", "source", "item", "subject", "owner", "ref", "reference", "record", "parent"),
        *("resource", "content", "row", "related", "linked", "model", "document", "origin", "party", "link", "doc"),
        *("actor", "element", "node", "obj", "foreign", "assoc", "associated", "external", "context", "src", "tgt"),
    }
)
"""Names of ids that refer to rows of several tables, together with a column that names the table."""
TYPE_WORDS = frozenset({"type", "typ", "kind", "class", "model", "table", "tbl", "entity", "tab"})

MEASURES = frozenset(
    {
        *("amount", "amt", "qty", "quantity", "price", "cost", "total", "sum", "count", "cnt", "rate", "ratio", "pct"),
        *("percent", "percentage", "score", "balance", "bal", "discount", "tax", "fee", "salary", "age", "year", "yr"),
        *("month", "day", "hour", "minute", "week", "quarter", "weight", "height", "width", "length", "size", "depth"),
        *("duration", "distance", "rank", "ranking", "points", "rating", "capacity", "population", "budget", "revenue"),
        *("profit", "lat", "lon", "lng", "latitude", "longitude", "area", "volume", "temperature", "speed", "offset"),
        *("version", "priority", "position", "pos", "seq", "sequence", "ordinal", "sort", "level", "step", "line"),
        *("attempts", "retries", "views", "likes", "bytes", "milliseconds", "seconds", "stock", "limit", "min", "max"),
        *("avg", "average", "flag", "is", "has", "active", "enabled", "deleted", "valid", "date", "time", "timestamp"),
        *(
            "description",
            "desc",
            "comment",
            "comments",
            "note",
            "notes",
            "text",
            "body",
            "content",
            "message",
            "remark",
        ),
        *("email", "mail", "phone", "fax", "mobile", "url", "website", "password", "hash", "salt", "token", "address2"),
        *("street", "zip", "postcode", "postal", "file", "path", "image", "photo", "picture", "gpa", "percentile"),
    }
)
"""Heads of columns that measure or describe; they refer to a row only when they carry an id word."""

CANONICAL: Mapping[str, str] = {
    short: full
    for full, shorts in {
        "account": "acct acc accnt",
        "address": "addr adr adres",
        "agreement": "agrmt",
        "airport": "apt arpt",
        "amount": "amt",
        "application": "appl app",
        "apartment": "apt",
        "article": "art artikel artcl",
        "attribute": "attr",
        "branch": "br brn brnch",
        "building": "bldg bld",
        "category": "cat ctg categ catg",
        "city": "cty",
        "client": "cli clnt cliente",
        "company": "co cmp comp cny",
        "contact": "cntct cont",
        "contract": "cntr contr ctr vertrag",
        "country": "ctry cntry land pais",
        "county": "cnty",
        "course": "crs",
        "currency": "cur curr ccy crncy waehrung",
        "customer": "cust cst cus kunde kunden kd kun custmr kunnr",
        "delivery": "dlv dlvry deliv",
        "department": "dept dep dpt abteilung",
        "detail": "dtl det",
        "district": "dist",
        "division": "div",
        "document": "doc docu",
        "employee": "emp empl employe mitarbeiter ma",
        "equipment": "equip eqp",
        "event": "evt",
        "faculty": "fac",
        "group": "grp gruppe",
        "instructor": "instr",
        "inventory": "invt invty",
        "invoice": "inv invc rechnung factura",
        "item": "itm",
        "language": "lang lng",
        "line": "ln",
        "location": "loc lctn standort",
        "manager": "mgr mngr",
        "material": "mat matl mtrl matnr",
        "manufacturer": "mfr mfg mfgr manuf",
        "member": "mem mbr memb",
        "message": "msg",
        "nation": "natn",
        "operator": "opr oper",
        "order": "ord ordr ordre auftrag pedido bestellung",
        "organization": "org orgn organisation",
        "package": "pkg",
        "parameter": "param",
        "part": "prt",
        "patient": "pat ptnt",
        "payment": "pmt pymt paymt",
        "person": "pers prs people",
        "physician": "phys",
        "plant": "plnt werk werks",
        "position": "pos",
        "product": "prod prd prdct produkt produto",
        "project": "proj prj projekt",
        "property": "prop",
        "purchase": "purch pur",
        "region": "reg rgn",
        "representative": "rep",
        "reservation": "resv rsv",
        "salesperson": "slsprsn slsman salesman slsmn",
        "schedule": "sched",
        "section": "sect sec",
        "service": "svc serv srv",
        "shipment": "shpmt shipmt shp",
        "state": "st",
        "status": "stat sts",
        "store": "str",
        "student": "stu stud",
        "subject": "subj",
        "supplier": "supp sup splr suppl lieferant lief",
        "teacher": "tchr",
        "territory": "terr",
        "ticket": "tkt",
        "transaction": "trans txn trx tran trn trxn",
        "type": "typ",
        "unit": "unt",
        "user": "usr",
        "vehicle": "veh vhcl",
        "vendor": "vend vnd vndr lifnr",
        "warehouse": "whse wh whs wrhs lager",
    }.items()
    for short in shorts.split()
}
"""Common abbreviations (and a few other languages' words) of the things that business databases are about."""

NOT_SPLIT = frozenset(
    {
        *("valid", "invalid", "void", "solid", "paid", "unpaid", "prepaid", "grid", "bid", "hybrid", "acid", "android"),
        *("piano", "casino", "domino", "monkey", "turkey", "hockey", "jockey", "whiskey", "kidney", "journey"),
        *("barcode", "postcode", "zipcode", "geocode", "qrcode", "colour", "maximum", "minimum", "rapid", "liquid"),
        *("humid", "fluid", "david", "madrid", "covid", "euclid", "steroid", "asteroid", "thyroid", "centroid"),
    }
)
"""Words that only look as if they ended in an id word."""
IRREGULAR: Mapping[str, str] = {
    "people": "person",
    "persons": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "indices": "index",
    "matrices": "matrix",
    "criteria": "criterion",
    "analyses": "analysis",
    "statuses": "status",
    "buses": "bus",
    "movies": "movie",
    "cookies": "cookie",
    "series": "series",
    "species": "species",
    "news": "news",
    "media": "media",
}
