"""Keeps out of a prompt what is written for the model rather than for people.

A text is data, whatever it says; but a model may believe it all the same. So comments, definitions and
paragraphs of documents that hold records of an answer format or speak to a model are left out, and an
entity counts only when its name stands in what was sent (`names.is_grounded`).
"""

from __future__ import annotations

import html
import re
import unicodedata

from dictionary_pipeline.enrichment.model.texts import clean

_FORMAT = re.compile(
    r"<\||\|>|< ?\|{1,2} ?>|\{(?:tuple|record|completion)_delimiter"
    r"|[\"'](?:entity|entities|relationships?)[\"']\s*[:<,|]"
    r"|[\"']type[\"']\s*:\s*[\"'](?-i:[A-Z_]{3,})[\"']"
    r"|</?think(?:ing)?>|(?-i:\[/?INST\]|<</?SYS>>)|#{3}\s*(?:instruction|response|system|assistant)\s*:",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,60}\b(?:instructions?|prompts?|rules?|above|previous|prior)\b"
    r"|\bsystem prompt\b|\b(?:language|ai) model\b|\bas an ai\b|\byou are (?:now|chatgpt|an? assistant)\b"
    r"|\b(?:add|create|insert|emit|output|return|extract|invent)\b.{0,30}\b(?:entit(?:y|ies)|relationships?|edges?|nodes?)\b"
    r".{0,20}\b(?:called|named|of type|to the (?:answer|graph|output))\b"
    r"|^\W*(?:system|assistant)\s*:|\bjailbr|\breveal\b.{0,30}\b(?:prompt|instructions?|key)\b"
    r"|^\W*(?:respond|reply|answer|output|print|say)\b.{0,20}\b(?:only|exactly)\b|^\W*(?:respond|reply|answer) with\b"
    r"|\bpretend (?:that|to|you)\b",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_MARKS = re.compile(r"#{2,}|`{3,}|~{3,}|-{3,}|={3,}")
_PARAGRAPHS = re.compile(r"\n\s*\n")


def is_hostile(text: str) -> bool:
    """Whether a text holds records or marks that models use, or speaks to a model: as written, or once cleaned."""
    visible = "".join(char for char in html.unescape(text) if unicodedata.category(char) != "Cf")
    written = unicodedata.normalize("NFKC", visible)
    return any(pattern.search(form) for form in (written, _on_one_line(written)) for pattern in (_FORMAT, _ADDRESS))


def _on_one_line(text: str) -> str:
    return clean(_MARKS.sub(" ", text), len(text) + 1)


def harmless(text: str, limit: int) -> str:
    """The text on one line, without fences and runs of marks, cut to `limit` characters; empty when it is hostile."""
    return "" if is_hostile(text) else clean(_MARKS.sub(" ", text), limit)


def harmless_lines(text: str) -> str:
    """A document's text without hostile paragraphs, fences and runs of marks; lines and paragraphs stay apart."""
    kept = []
    for paragraph in _PARAGRAPHS.split(text):
        if not is_hostile(paragraph):
            lines = map(_on_one_line, paragraph.splitlines())
            kept.append("\n".join(line for line in lines if line))
    return "\n\n".join(paragraph for paragraph in kept if paragraph)
