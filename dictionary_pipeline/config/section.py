"""What the sections of the product's own YAML files are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dictionary_pipeline.suggestions import closest

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Section(BaseModel):
    """A mapping of the product's own: unknown keys are errors, a key without a value is not given."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def mistake(what: str, fix: str) -> PydanticCustomError:
    """An error of a validator that carries its own repair."""
    return PydanticCustomError("mistake", "{what}", {"what": what, "fix": fix})


def one_of(choices: tuple[str, ...]) -> BeforeValidator:
    """A validator that takes one of a few words and names the nearest one otherwise."""

    def check(value: Any) -> Any:
        if value not in choices:
            listed = f"{', '.join(choices[:-1])} or {choices[-1]}"
            near = closest(str(value), choices)
            raise mistake(f"must be {listed}", f"Did you mean {near!r}?" if near else "Choose one of them.")
        return value

    return BeforeValidator(check)
