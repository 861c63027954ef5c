"""SQL texts made comparable: what an engine or a person merely formats differently becomes equal."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from dictionary_pipeline.introspection.sql import PARSE_ERRORS, dialect_of, parse

SCRUBBED = "***"
"""Stands in published texts for literals of withheld columns."""

_LITERAL_OR_REST = re.compile(r"('(?:[^']|'')*')|([^']+)")
_BLANKS = re.compile(r"\s+")
_CAST = re.compile(
    r"::\s*(?:\"[^\"]+\"|[a-z_][\w.]*)(?:\s+varying|\s+precision|\s+with(?:out)? time zone)?(?:\([\d, ]*\))?(?:\[\])?"
)
_SEQUENCE = re.compile(r"nextval\s*\(.*\)", re.IGNORECASE | re.DOTALL)
_QUOTED_NUMBER = re.compile(r"'(-?\d+(?:\.\d+)?)'")
_NOW = {"now()", "current_timestamp", "current_timestamp()", "getdate()", "localtimestamp", "transaction_timestamp()"}
_TRUE, _FALSE = {"true", "'t'", "'true'"}, {"false", "'f'", "'false'"}
_CASE_FOLDS = {"postgres": str.lower, "snowflake": str.upper}
"""What an engine does to unquoted names, where quoted ones keep their case; others ignore case."""
_WIDE = {exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.BPCHAR, exp.DType.DECIMAL, exp.DType.DOUBLE}
"""Without a size these hold every value of their family, so a cast to them changes no comparison."""
_COMPARISONS = (exp.Predicate, exp.Any, exp.Array, exp.Cast)


def plain_default(text: str | None, *, numeric: bool = False) -> str:
    """A column's default without casts, outer parentheses, blanks and case; empty when there is none.

    Args:
        text: As the catalog shows it.
        numeric: The column holds numbers, so that `'0'` and `0` are the same.
    """
    if text is None:
        return ""
    plain = "".join(
        literal or _BLANKS.sub(" ", _CAST.sub("", rest.lower())) for literal, rest in _LITERAL_OR_REST.findall(text)
    ).strip()
    while _wrapped(plain):
        plain = plain[1:-1].strip()
    plain = _SEQUENCE.sub("nextval()", plain)
    if plain in _NOW:
        return "current_timestamp"
    if plain in _TRUE or plain in _FALSE:
        return "true" if plain in _TRUE else "false"
    if numeric:
        plain = _QUOTED_NUMBER.sub(r"\1", plain)
    return "" if plain == "null" else plain


def _wrapped(text: str) -> bool:
    """Whether the first parenthesis closes at the very end."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def expression(text: str, engine: str) -> exp.Expr | None:
    """A CHECK expression in canonical form, null when it is not understood."""
    inner = text.strip()
    if inner.lower().startswith("check"):
        inner = inner[5:].strip()
    while _wrapped(inner):
        inner = inner[1:-1].strip()
    tree = parse(inner, dialect_of(engine))
    return None if tree is None else _canonical(tree, engine)


def same_expression(before: str, after: str, engine: str) -> bool:
    """Whether two CHECK expressions say the same."""
    if SCRUBBED in before or SCRUBBED in after:
        before, after = _masked(before), _masked(after)
    trees = expression(before, engine), expression(after, engine)
    if trees[0] is None or trees[1] is None:
        return squeezed(before) == squeezed(after)
    return trees[0] == trees[1]


def canonical_check(text: str, engine: str, renamed: Mapping[str, str]) -> str:
    """A text that is equal for CHECK expressions that say the same.

    Args:
        renamed: Lower-case names of columns -> what they are called now.
    """
    tree = expression(text, engine)
    return squeezed(text) if tree is None else repr(_with_names(tree, _folded(renamed, engine), aliases=True))


def mentioned_columns(text: str, engine: str, columns: Mapping[str, str]) -> list[str]:
    """The columns that a CHECK expression mentions, spelled as in the table.

    Args:
        columns: Lower-case name -> name.
    """
    tree = parse(text, dialect_of(engine))
    if tree is None:
        return []
    names = {column.name.lower() for column in tree.find_all(exp.Column)}
    return [columns[name] for name in columns if name in names]


def squeezed(text: str) -> str:
    """The text with runs of blanks as one and lower case outside literals."""
    parts = (literal or _BLANKS.sub(" ", rest.lower()) for literal, rest in _LITERAL_OR_REST.findall(text))
    return "".join(parts).strip(" ;\n")


def _masked(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'|(?<![\w\"])\d[\w.]*", f"'{SCRUBBED}'", text)


class Definition:
    """A view's definition, comparable."""

    def __init__(self, sql: str | None, engine: str) -> None:
        self._text = sql or ""
        self._engine = engine

    def same_as(self, other: Definition, renamed: Mapping[str, str]) -> bool:
        """Whether both select the same.

        Args:
            renamed: Lower-case names of columns and tables that were renamed in between -> new names;
                following them is no change of the view.
        """
        mine, theirs = self._text, other._text
        if SCRUBBED in mine or SCRUBBED in theirs:
            mine, theirs = _masked(mine), _masked(theirs)
        if squeezed(mine) == squeezed(theirs) and not renamed:
            return True
        before, after = _query(mine, self._engine), _query(theirs, self._engine)
        if before is None or after is None:
            return squeezed(mine) == squeezed(theirs)
        if not renamed:
            return before == after
        renamed = _folded(renamed, self._engine)
        kept = _with_names(before, renamed, aliases=False)
        return kept == after or _with_names(before, renamed, aliases=True) == after


def _folded(renamed: Mapping[str, str], engine: str) -> Mapping[str, str]:
    return renamed if engine in _CASE_FOLDS else {old: new.lower() for old, new in renamed.items()}


def _query(sql: str, engine: str) -> exp.Expr | None:
    tree = parse(sql, dialect_of(engine))
    if isinstance(tree, exp.Create):
        columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        names = [column.name for column in columns]
        query = tree.expression
        if query is None:
            return None
        tree = query
        if isinstance(tree, exp.Select) and len(names) == len(tree.expressions):
            items = [exp.alias_(_bare(item), name) for item, name in zip(tree.expressions, names, strict=True)]
            tree.set("expressions", items)
    return None if tree is None else _canonical(tree, engine)


def _bare(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item


def _canonical(tree: exp.Expr, engine: str) -> exp.Expr:
    fold = _CASE_FOLDS.get(engine)
    for node in tree.walk():
        node.comments = None
        if isinstance(node, exp.Identifier):
            if fold is None:
                node.set("this", node.name.lower())
            elif not node.args.get("quoted"):
                node.set("this", fold(node.name))
            node.set("quoted", False)
        elif isinstance(node, exp.Table | exp.Column) and engine in ("sqlite", "duckdb") and node.db.lower() == "main":
            node.set("db", None)  # the schema that is meant without one
    for select in list(tree.find_all(exp.Select)):
        for item in select.expressions:
            if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
                item.replace(exp.alias_(item.copy(), item.name))
    for select in tree.find_all(exp.Select):
        _unqualify(select)
    return _without_casts(_without_parentheses(_reread(tree)))


def _without_parentheses(tree: exp.Expr) -> exp.Expr:
    """The tree without parentheses, which it tells by its shape; it is to be compared, not written."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    for paren in list(tree.find_all(exp.Paren)):
        paren.replace(paren.this)
    return tree


def _without_casts(tree: exp.Expr) -> exp.Expr:
    """Drop the casts in comparisons that PostgreSQL writes or not, as the types of both sides differ or not.

    They change when a column's type is widened, and when a dump is restored.
    """
    for cast in reversed(list(tree.find_all(exp.Cast))):
        if isinstance(cast.parent, _COMPARISONS) and _is_wide(cast.to) and _is_plain(cast.this):
            cast.replace(cast.this)
    return tree


def _is_wide(target: exp.DataType) -> bool:
    if target.is_type(exp.DType.ARRAY):
        return all(isinstance(inner, exp.DataType) and _is_wide(inner) for inner in target.expressions)
    return target.this in _WIDE and not target.expressions


def _is_plain(value: exp.Expr) -> bool:
    if isinstance(value, exp.Array):
        return all(isinstance(item, exp.Literal) for item in value.expressions)
    return isinstance(value, exp.Column | exp.Literal | exp.Cast)


def _unqualify(select: exp.Select) -> None:
    """Drop the qualifier of columns where only one table can be meant."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None or select.args.get("joins") or select.args.get("laterals"):
        return
    if len(list(select.find_all(exp.Select))) > 1 or not isinstance(source.this, exp.Table):
        return
    for column in select.find_all(exp.Column):
        if column.table == source.this.alias_or_name:
            column.set("table", None)
            column.set("db", None)
    source.this.set("alias", None)


def _reread(tree: exp.Expr) -> exp.Expr:
    """Trees compare by their parts, so those that were altered are written and read again."""
    try:
        return parse(tree.sql(comments=False), "") or tree
    except PARSE_ERRORS:
        return tree


def _with_names(tree: exp.Expr, renamed: Mapping[str, str], *, aliases: bool) -> exp.Expr:
    copied = tree.copy()
    for node in list(copied.find_all(exp.Identifier)):
        is_alias = isinstance(node.parent, exp.Alias) and node.arg_key == "alias"
        new = renamed.get(node.name.lower())
        if new is not None and (aliases or not is_alias):
            node.set("this", new)
    return copied
