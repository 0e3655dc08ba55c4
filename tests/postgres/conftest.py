"""One server for all tests of this folder, and a database of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.postgres.cluster import running_cluster

_counter = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Start the server."""
    with running_cluster() as dsn:
        yield dsn


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """Make a database; its slots go with the test."""
    import psycopg  # noqa: PLC0415 - an extra, which the server's fixture has looked for

    name = f"test{next(_counter)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("dbname=postgres", f"dbname={name}")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE database = %s",
            (name,),
        )
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
