"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from servers.mariadb import MariaDBServer, running_mariadb
from servers.postgres import PostgresServer, running_postgres

# A busy machine is no failure: examples have no time limit, nor has making them up.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL: `.admin_url`, `.create_database(name, script)`."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDBServer]:
    """A running MariaDB, or the MySQL of DD_TEST_MYSQL_URL: `.url(database)`, `.create_database(name, ...)`."""
    with running_mariadb() as server:
        yield server
