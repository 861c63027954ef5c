"""GraphRAG's delimiter format for extracted records: `("entity"<|>...)##...<|COMPLETE|>`.

Models keep this format loosely, so records are found by how they begin, not by what stands between
them: a missing `##`, parenthesis, quote or completion mark loses nothing. What is written here has
every special character of its texts as a character reference, so that reading gives back the same
texts; GraphRAG's own parser resolves these references too.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dictionary_pipeline.enrichment.model.texts import without_reasoning


class EntityRecord(NamedTuple):
    """An entity that a reply names."""

    name: str
    type: str
    description: str


class RelationshipRecord(NamedTuple):
    """A relationship that a reply names."""

    source: str
    target: str
    description: str
    weight: float
    """1 to 10."""


Record = EntityRecord | RelationshipRecord


class ParsedReply(NamedTuple):
    """What the replies to one text hold."""

    records: tuple[Record, ...]
    """In the order of the replies, equal ones once."""
    rejected: tuple[str, ...]
    """Why a record could not be used, one phrase per record; never its text, which can quote anything."""


DELIMITER, RECORD_DELIMITER, COMPLETION_MARK = "<|>", "##", "<|COMPLETE|>"
_LOWEST, _HIGHEST = 1.0, 10.0

_LEFT, _BAR, _RIGHT = "(?:[<＜]|&lt;)", r"(?:\\?[|｜])", "(?:[>＞]|&gt;)"
_DELIMITER = re.compile(rf"{_LEFT} ?{_BAR}{{1,2}} ?{_RIGHT}|\{{tuple_delimiter\}}")
_HALF_DELIMITER = re.compile(rf"{_DELIMITER.pattern}|<\||\|>")
_COMMA = re.compile(r"""(?<=["'])[ \t]*,[ \t]*(?=["'\d])""")
_COMPLETION = re.compile(rf"{_LEFT} ?{_BAR}? ?COMPLETE ?{_BAR}? ?{_RIGHT}|\{{completion_delimiter\}}", re.IGNORECASE)
_QUOTES = "\"'`*“”‘’„«»＂"
_KIND = re.compile(rf"(?P<kind>\w{{1,40}})[{_QUOTES}]{{0,4}}\s{{0,8}}(?:{_DELIMITER.pattern})")
_ESCAPED_KIND = re.compile(rf"&quot;(\w{{1,40}})&quot;(?=\s{{0,8}}(?:{_DELIMITER.pattern}))")
_OPENERS = _QUOTES + "([{（-•·–—>_| \t\r\n\f\v\x85\u00a0\u2028\u2029\u3000\u200b\ufeff"
_KINDS = {
    "entity": "entity",
    "entities": "entity",
    "relationship": "relationship",
    "relationships": "relationship",
    "relation": "relationship",
}
_OTHER_DELIMITER = re.compile(
    r"""^[ \t(\[*`-]{0,8}["'](?:entity|relationship)["'][ \t]{0,8}"""
    r"""(?P<mark>[<#]{0,2}\|[|#>]{0,3}|,(?=[ \t]{0,8}["']))""",
    re.IGNORECASE | re.MULTILINE,
)
_DELIMITERS = {"entity": 2, "relationship": 3}
_DECORATION = re.compile(
    r"\n(?:[^\w\n<\[]|<[^<>\n]{1,20}>|\[[ x]?\]|(?:\d{1,3}|[a-z]|[ivx]{2,5})\."
    rf"|(?:{'|'.join(_KINDS)}|record) ?\d{{0,3}}[:：])*(?:<[^<>\n]{{1,20}})?$",
    re.IGNORECASE,
)
"""All that stands on the line before a record: signs, tags, check boxes, numbers, labels."""
_WEIGHT_BEFORE = re.compile(rf"(?:{_DELIMITER.pattern})\s{{0,8}}\d[\d./]{{0,8}}$")
_AFTER_CLOSING = re.compile(r"\)[ \t]*(?=[).;]?\*{0,2}(?:##|```|//|--|—|[\r\n]|<|,|$|\|[ \t]*(?:[\r\n]|$)))")
_DELIMITER_LINE = re.compile(r"\n[ \t]*[*`]{0,3}#{2,}[*`]{0,3}[ \t]*(?:\n|$)")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)?(?:e[-+]?\d{1,3})?|inf\b)", re.IGNORECASE)
_ONLY_WEIGHT = re.compile(r"\d+(?:[.,]\d+)?\s*(?:%|(?:/|out of|of)\s*\d+)?", re.IGNORECASE)
_SCALE = re.compile(r"\s*(?:/|out of|of)\s*(\d{1,6})|\s*(%)", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#(?P<decimal>\d{1,7})|#x(?P<hex>[0-9a-f]{1,6})|(?P<name>amp|lt|gt|quot|apos));", re.I)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_PLACEHOLDER = re.compile(r"<([^<>/]+)>")
"""As the format's description writes fields: `<name>`."""
_PLAIN = set(" .,:;/_-'")


def format_records(records: Iterable[Record]) -> str:
    """Write records in the delimiter format; `parse_replies` gives the same records back."""
    lines = [f"{_formatted(record)}\n{RECORD_DELIMITER}\n" for record in records]
    return "".join([*lines, COMPLETION_MARK])


def parse_replies(replies: Iterable[str]) -> ParsedReply:
    """Read the replies to one text, each on its own, and unite what they hold.

    Weights are clamped to 1 to 10; one without a number counts as 1. No text makes this fail.
    """
    records: dict[Record, None] = {}
    rejected: list[str] = []
    for reply in replies:
        for kind, body in _bodies(_with_delimiters(without_reasoning(reply))):
            found = _record(kind, body)
            if isinstance(found, str):
                rejected.append(found)
            else:
                records[found] = None
    return ParsedReply(tuple(records), tuple(rejected))


def _formatted(record: Record) -> str:
    match record:
        case EntityRecord():
            fields = ['"entity"', *map(_escaped, record)]
        case RelationshipRecord(source, target, description, weight):
            fields = ['"relationship"', *map(_escaped, (source, target, description)), f"{weight!r}"]
    return f"({DELIMITER.join(fields)})"


def _escaped(text: str) -> str:
    last = len(text) - 1
    return "".join(
        char if char.isalnum() or (char in _PLAIN and 0 < place < last) else f"&#{ord(char)};"
        for place, char in enumerate(text)
    )


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        if match["name"]:
            return _NAMED[match["name"].lower()]
        code = int(match["decimal"]) if match["decimal"] else int(match["hex"], 16)
        return chr(code) if code <= 0x10FFFF else match.group()

    return _REFERENCE.sub(char, text)


def _with_delimiters(reply: str) -> str:
    """The reply with escaped quotes and another kind of delimiter (`|`, `<|#|>`, comma) turned into the usual ones."""
    other = None if _DELIMITER.search(reply) else _OTHER_DELIMITER.search(reply)
    if other is None:
        return _ESCAPED_KIND.sub(r'"\1"', reply)
    if other["mark"] == ",":
        return _COMMA.sub(DELIMITER, reply)
    return reply.replace(other["mark"], DELIMITER)


def _bodies(reply: str) -> Iterator[tuple[str, str]]:
    """(kind, text behind the kind) of every record; an unknown kind is empty."""
    begins = list(_begins(reply))
    ends = [*(begin for begin, _, _ in begins), len(reply)][1:]
    for (_, start, kind), end in zip(begins, ends, strict=True):
        yield kind, _body(reply[start:end])


def _begins(reply: str) -> Iterator[tuple[int, int, str]]:
    """Where a record begins, where its first field begins, and its kind."""
    previous = 0
    for match in _KIND.finditer(reply):
        kind = _KINDS.get(match["kind"].lower(), "")
        head = reply[previous : match.start()].rstrip(_OPENERS)
        opening = reply[previous + len(head) : match.start()]
        if not kind and not ("(" in opening and any(quote in opening for quote in _QUOTES)):
            continue
        if _may_begin(head, opening, is_first=previous == 0):
            yield previous + len(head), match.end(), kind
            previous = match.end()


def _may_begin(head: str, opening: str, *, is_first: bool) -> bool:
    """Whether a record can begin here, and not in the middle of a text that quotes one.

    Args:
        head: Text since the previous record's kind, without what opens this one.
        opening: White space, bullets, brackets and quotes before the kind.
    """
    if not head:
        return is_first
    before = _DELIMITER.search(head[-20:] + opening)
    if before and before.end() >= len(head[-20:]):
        return False  # a field of the record before
    if is_first and head.endswith((":", "：")) and ("(" in opening or "（" in opening):
        return True  # "Answer: (...)"
    closed = head.rstrip(",;.").endswith((")", "）", "##", "}")) or _COMPLETION.search(head[-20:] + opening) is not None
    decorated = _DECORATION.search("\n" * is_first + head[-80:]) is not None
    after_weight = ("(" in opening or '"' in opening) and _WEIGHT_BEFORE.search(head[-40:]) is not None
    return closed or "\n" in opening or decorated or after_weight


def _body(text: str) -> str:
    """The fields of a record, without what follows it."""
    mark = _COMPLETION.search(text)
    if mark and not _DELIMITER.search(text, mark.end()):
        text = text[: mark.start()]
    still_open = counted = 0
    for closing in _AFTER_CLOSING.finditer(text):
        end = closing.start()
        still_open += text.count("(", counted, end) - text.count(")", counted, end)
        if still_open <= 0:
            return text[:end]
        counted = end
    cut = _DELIMITER_LINE.search(text)
    if cut and not _DELIMITER.search(text, cut.end()):
        text = text[: cut.start()]
    text = text.rstrip().removesuffix("```").rstrip("#*` \t\r\n")
    for opening, bracket in ("()", "[]", "{}", "（）"):
        if text.endswith(bracket) and text.count(bracket) > text.count(opening):
            return text[:-1]
    return text


def _record(kind: str, body: str) -> Record | str:
    """The record, or why it is none."""
    if not kind:
        return "neither an entity nor a relationship"
    cuts = [(match.start(), match.end()) for match in _DELIMITER.finditer(body)]
    if len(cuts) < 2:
        cuts = [(match.start(), match.end()) for match in _HALF_DELIMITER.finditer(body)]
    if len(cuts) > _DELIMITERS[kind] and not body[cuts[-1][1] :].strip():
        body = body[: cuts.pop()[0]]
    if kind == "entity":
        if len(cuts) < 2:
            return "an entity without a type or description"
        name, kind_of = (_text(field) for field in _fields(body, cuts[:2])[:2])
        description = _text(body[cuts[1][1] :])
        return EntityRecord(name, kind_of, description) if name and kind_of else "an entity without a name or type"
    if len(cuts) < 2:
        return "a relationship without a description"
    source, target = (_text(field) for field in _fields(body, cuts[:2])[:2])
    if not source or not target:
        return "a relationship without both ends"
    rest = body[cuts[1][1] :]
    last = cuts[-1] if len(cuts) > 2 else None
    if last is None:
        return RelationshipRecord(source, target, _text(rest), _LOWEST)
    description, weight = _text(body[cuts[1][1] : last[0]]), body[last[1] :]
    if _ONLY_WEIGHT.fullmatch(description) and not _NUMBER.search(weight):
        description, weight = _text(weight), description  # in the wrong order
    return RelationshipRecord(source, target, description, weight_of(weight))


def _fields(body: str, cuts: Sequence[tuple[int, int]]) -> list[str]:
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(body)]
    return [body[start:end] for start, end in zip(starts, ends, strict=True)]


def _text(field: str) -> str:
    """The field without the white space, emphasis and quotes around it, references resolved."""
    text = field.strip()
    for opening, closing in (("**", "**"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»")):
        if len(text) >= len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            text = text[len(opening) : len(text) - len(closing)].strip()
    placeholder = _PLACEHOLDER.fullmatch(text)
    return _unescaped(placeholder[1] if placeholder else text)


def weight_of(field: str) -> float:
    """The weight that a text states (`8`, `8/10`, `80 %`), between 1 and 10; 1 for one without a number."""
    text = unicodedata.normalize("NFKC", field)
    number = _NUMBER.search(text)
    if number is None:
        return _LOWEST
    value = float(number.group().replace(",", "."))
    scale = _SCALE.match(text, number.end())
    if scale:
        best = float(scale.group(1) or 100)
        value = value * _HIGHEST / best if best > 0 else value
    return _LOWEST if math.isnan(value) else min(max(value, _LOWEST), _HIGHEST)
