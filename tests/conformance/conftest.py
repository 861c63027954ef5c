"""Fixtures of the conformance suite."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from conformance import ENGINES
from conformance.model import EngineUnderTest


@pytest.fixture(scope="session", params=ENGINES)
def engine_under_test(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineUnderTest]:
    """Each engine in turn."""
    name = request.param
    module = importlib.import_module(f"conformance.engine_{name}")
    with module.running(request, tmp_path_factory.mktemp(f"conformance_{name}")) as engine:
        yield engine
