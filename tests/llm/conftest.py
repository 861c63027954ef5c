"""Tests against a real model run only on request: `make test-llm` names the model and its server's Python."""

from __future__ import annotations

import os

PYTHON, MODEL = "DD_TEST_LLM_PYTHON", "DD_TEST_LLM_MODEL"

collect_ignore_glob = [] if os.environ.get(PYTHON) and os.environ.get(MODEL) else ["test_*.py"]
