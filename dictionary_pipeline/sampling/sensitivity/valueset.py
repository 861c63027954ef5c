"""The sampled values of one column, and the shares of them that have a property."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from functools import cached_property

MOST_LOOKED_AT = 100
MOST_VALIDATED = 30
"""Values that expensive checks look at."""
_SHAPES = str.maketrans(string.ascii_lowercase + string.ascii_uppercase + string.digits, "a" * 26 + "A" * 26 + "9" * 10)
_PLACEHOLDERS = frozenset(
    (
        "",
        "null",
        "none",
        "n/a",
        "na",
        "nil",
        "nan",
        "unknown",
        "unbekannt",
        "-",
        "--",
        "?",
        "\\n",
        "(null)",
        "tbd",
        "xxx",
    )
)


class ValueSet:
    """Distinct values without placeholders for nothing; at most 100."""

    def __init__(self, values: Iterable[str]) -> None:
        stripped = (value.strip() for value in tuple(values)[:MOST_LOOKED_AT])
        self.texts = tuple(text for text in stripped if text.lower() not in _PLACEHOLDERS)

    def __len__(self) -> int:
        return len(self.texts)

    def share(self, holds: Callable[[str], object]) -> float:
        """Share of the values for which `holds` is true; 0 without values."""
        return sum(1 for text in self.texts if holds(text)) / len(self.texts) if self.texts else 0.0

    def validated_share(self, holds: Callable[[str], object]) -> float:
        """The same over the first values only, for checks that cost."""
        some = self.texts[:MOST_VALIDATED]
        return sum(1 for text in some if holds(text)) / len(some) if some else 0.0

    @cached_property
    def joined(self) -> str:
        """All values, for a quick look whether a character occurs at all."""
        return "\n".join(self.texts)

    @cached_property
    def has_digits(self) -> bool:
        """Whether any value has a digit."""
        return any(char.isdigit() for char in self.joined)

    @cached_property
    def mean_length(self) -> float:
        """Characters of a value."""
        return len(self.joined) / len(self.texts) if self.texts else 0.0

    @cached_property
    def has_varied_shapes(self) -> bool:
        """Whether hardly two values have letters, digits and signs in the same places, as random texts have not."""
        shapes = {text.translate(_SHAPES) for text in self.texts}
        return len(shapes) >= 0.7 * len(self.texts)

    @cached_property
    def is_counting(self) -> bool:
        """Whether the values are whole numbers close to each other, as a sequence deals them out."""
        digits = [text for text in self.texts if text.isdecimal()]
        if len(digits) < 3 or len(digits) < len(self.texts) or len(max(digits, key=len)) > 25:
            return False
        numbers = sorted(int(text) for text in digits)
        return numbers[-1] - numbers[0] < 1000 * len(numbers)
