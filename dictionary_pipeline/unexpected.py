"""Exceptions that nobody foresaw, as the product's own errors."""

from __future__ import annotations

import errno
import os
import traceback
from pathlib import Path

from dictionary_pipeline.errors import DictionaryError

DEBUG_VARIABLE = "DICTIONARY_PIPELINE_DEBUG"
"""Set, it lets an unexpected exception through with its text and traceback."""

_PACKAGE = Path(__file__).parent


def unexpected(error: Exception) -> DictionaryError:
    """Say which kind of exception it is and where it arose, but not its text: that can quote values.

    Raises:
        Exception: `error` itself, when `DEBUG_VARIABLE` is set.
    """
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    if isinstance(error, OSError) and error.errno:
        name = errno.errorcode.get(error.errno, type(error).__name__)
        where = str(error.filename) if error.filename else None
        return DictionaryError(f"the operating system reported {name}", where=where, fix="Run again.")
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in Path(frame.filename).parents]
    place = f" at {Path(own[-1].filename).relative_to(_PACKAGE.parent)}:{own[-1].lineno}" if own else ""
    return DictionaryError(
        f"unexpected {type(error).__name__}{place}",
        fix=f"This is a defect: please report it. {DEBUG_VARIABLE}=1 shows the whole trace, which can quote values.",
    )
