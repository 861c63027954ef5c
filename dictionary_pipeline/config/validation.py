"""Turns pydantic's findings into the product's own errors, with line and repair."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dictionary_pipeline.config.faults import did_you_mean, raise_all
from dictionary_pipeline.config.yamlfile import Document, Loc
from dictionary_pipeline.errors import ConfigurationError

Model = TypeVar("Model", bound=BaseModel)

_TEXTS: dict[str, tuple[str, str]] = {
    "missing": ("is required", "Add it."),
    "string_type": ("must be text", "Write one text; put it in quotes if it looks like something else."),
    "tuple_type": ("must be a list", "Write one entry per line, each after '- '."),
    "model_type": ("must be 'key: value' lines", "Indent its keys below it."),
    "dict_type": ("must be 'key: value' lines", "Indent its keys below it."),
    "too_short": ("must not be empty", "Add at least one entry."),
}
_NUMBER = ("must be a whole number", "Write digits only.")
_TEXTS |= dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _NUMBER)
_TEXTS |= dict.fromkeys(("float_type", "float_parsing"), ("must be a number", "Write digits, e.g. 10 or 2.5."))
_TEXTS |= dict.fromkeys(("bool_type", "bool_parsing"), ("must be true or false", "Write true or false."))


def validate(model: type[Model], data: Mapping[str, Any], document: Document) -> Model:
    """Check a file's content against its model.

    Raises:
        ConfigurationError: everything that is wrong, one line each, without the offending values.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
    # Raised outside the handler: pydantic's error holds the input and must not become the context.
    raise_all([_error(model, detail, document) for detail in details])
    raise AssertionError("pydantic reported a failure without details")


def _error(model: type[BaseModel], detail: ErrorDetails, document: Document) -> ConfigurationError:
    loc: Loc = detail["loc"]
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return document.error(loc, "unknown key", did_you_mean(str(loc[-1]), _keys(model, loc[:-1]), noun="keys here"))
    if kind == "mistake":
        return document.error(loc, context["what"], context["fix"])
    if kind in ("greater_than_equal", "greater_than"):
        bound, word = context.get("ge", context.get("gt")), "at least" if "ge" in context else "more than"
        return document.error(
            loc, f"must be {word} {bound:g}", "Choose a larger value, or remove the key for the default."
        )
    what, fix = _TEXTS.get(kind, ("has a value of the wrong kind", "See docs/configuration.md for what it may be."))
    if kind == "missing":
        # Pydantic places it at the key that is absent; the line is that of the mapping around it.
        fix = f"Add a line '{loc[-1]}: ...'."
    return document.error(loc, what, fix)


def _keys(model: type[BaseModel], loc: Loc) -> list[str]:
    """Keys that the mapping at `loc` may have."""
    for part in loc:
        # What is no field is a key of the user's own, in a mapping of such models.
        found = {field.alias or name: field for name, field in model.model_fields.items()}.get(str(part))
        if found is not None:
            model = _model_in(found.annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model`, `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for part in typing.get_args(annotation) if (found := _model_in(part))), None)
