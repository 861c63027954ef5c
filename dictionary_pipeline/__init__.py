"""Data dictionaries and knowledge graphs of SQL databases, built and kept true."""

from __future__ import annotations

__version__ = "0.1.0"
