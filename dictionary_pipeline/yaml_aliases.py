"""Editing one entry of a YAML document whose entries share parts by anchors and aliases."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

_MARK = "shared_by_aliases"


def mark_shared(node: Any, seen: set[int] | None = None) -> None:
    """Note which lists and mappings stand at more than one place of a document."""
    seen = set() if seen is None else seen
    if not isinstance(node, CommentedMap | CommentedSeq):
        return
    if id(node) in seen:
        setattr(node, _MARK, True)
        return
    seen.add(id(node))
    for child in node.values() if isinstance(node, CommentedMap) else node:
        mark_shared(child, seen)


def own(parent: CommentedMap | CommentedSeq, key: Any) -> Any:
    """What stands below a key, as the parent's own: a shared part is copied, so that the other places keep theirs."""
    child = parent[key]
    if getattr(child, _MARK, False):
        child = deepcopy(child)
        child.yaml_set_anchor(None)
        parent[key] = child
    return child
