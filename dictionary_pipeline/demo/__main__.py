"""`python -m dictionary_pipeline.demo [PATH] [--force]`: build the demo database."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dictionary_pipeline.demo.build import DEFAULT_PATH, build_demo
from dictionary_pipeline.errors import DictionaryError


def main(arguments: list[str] | None = None) -> int:
    """Build the demo database and say in one line what was done; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dictionary_pipeline.demo", description="Build the demo database.")
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT_PATH, help="DuckDB file (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="replace the file whatever it holds")
    options = parser.parse_args(arguments)
    try:
        built = build_demo(options.path, force=options.force)
    except DictionaryError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    state = "built" if built else "up to date, kept as it is (--force builds it anew)"
    sys.stdout.write(f"Demo database {options.path}: {state}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
