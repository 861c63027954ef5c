"""Collecting what is wrong with a file, so that one look shows every mistake in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from dictionary_pipeline.errors import ConfigurationError


class ConfigurationErrors(ConfigurationError):
    """Several configuration errors at once; the text has one line for each."""

    def __init__(self, errors: Sequence[ConfigurationError]) -> None:
        self.errors = tuple(errors)
        super().__init__(errors[0].what, where=errors[0].where, fix=errors[0].fix)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def raise_all(errors: Sequence[ConfigurationError]) -> None:
    """Raise what was collected: nothing, the one error, or all of them together."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigurationErrors(errors)


def each(error: ConfigurationError) -> tuple[ConfigurationError, ...]:
    """The single errors that an error stands for."""
    return error.errors if isinstance(error, ConfigurationErrors) else (error,)


def did_you_mean(word: str, choices: Iterable[str], *, noun: str) -> str:
    """How to repair a misspelled word: the nearest choice, or all of them when none is near.

    Args:
        word: What the file says.
        choices: What it could say.
        noun: Plural name of the choices, for the list: `keys`, `profiles`.
    """
    known = sorted(set(choices))
    folded = {choice.casefold(): choice for choice in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1)
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    return f"Known {noun}: {', '.join(known)}." if known else f"There are no {noun}."
