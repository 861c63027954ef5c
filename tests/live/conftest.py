"""Tests that wait for the daemon's own clock take a quarter of an hour and run only on request: `make test-live`."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("DD_TEST_LIVE") else ["test_*.py"]
