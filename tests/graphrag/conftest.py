"""Tests with GraphRAG itself: `make test-graphrag` installs it and names its command in `DD_TEST_GRAPHRAG`."""

from __future__ import annotations

import os

if not os.environ.get("DD_TEST_GRAPHRAG"):
    collect_ignore_glob = ["test_*.py"]
