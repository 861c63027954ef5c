"""What the command line prints: results to stdout, the rest to stderr, whatever is at the other end."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import sys

from rich.console import Console

errors = Console(stderr=True, highlight=False, soft_wrap=True)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def prepare_streams() -> None:
    """Let no terminal end a run: what it cannot show is escaped, and what is closed swallows everything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with it closed; the next file opened would take its place
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Warnings of a client library would stand beside the one line that says what failed.
    logging.getLogger("azure").addHandler(logging.NullHandler())


def say(text: str) -> None:
    """Write a result to stdout. A reader that has gone, or a full disk, changes nothing about what was done."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        # Otherwise the interpreter tries again when it ends, and fails.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            complain("warning", f"the result could not be written to stdout ({errno.errorcode.get(error.errno or 0)})")


def counted(number: object, noun: str) -> str:
    """`1 view`, `2 views`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def complain(kind: str, text: str) -> None:
    """Write an error, problem or warning to stderr, one line for each line of `text`.

    Control characters, which names in a database may hold, are escaped: they could steer the terminal.
    """
    for line in text.splitlines():
        shown = _CONTROL.sub(lambda found: repr(found[0])[1:-1], line)
        errors.print(f"{kind}: {shown}", markup=False)
