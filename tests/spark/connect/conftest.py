"""A server of Spark Connect that knows Arctic by its settings alone, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import arctic
from tests.serve import SERVERS
from tests.spark.catalog.sql import Sql
from tests.spark.catalog.test_row_level import Shop

Begin = Callable[[str], SparkSession]


@pytest.fixture(scope="session")
def begin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begin]:
    """Begins a registered client of one server, whose catalog has the warehouse that is named."""
    # Needs packages that classic Spark does without.
    from pyspark.sql.connect.session import SparkSession as Client  # noqa: PLC0415

    clients: list[SparkSession] = []
    with SERVERS["connect"](tmp_path_factory.mktemp("connect")) as properties:

        def begun(warehouse: str) -> SparkSession:
            # Past the public builder, which wants no classic session beside a client.
            builder: Any = Client.builder
            client: SparkSession = builder.remote(properties["spark.remote"]).create()
            client.conf.set("spark.sql.catalog.arctic.warehouse", warehouse)
            arctic.register(client)
            clients.append(client)
            return client

        yield begun
        for client in clients:
            client.stop()


@pytest.fixture(scope="session")
def spark(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """One client for all tests that name their warehouse."""
    return begin(str(tmp_path_factory.mktemp("unused")))


@pytest.fixture
def own(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A client whose catalog has a warehouse of its own; this process finds its tables there."""
    warehouse = str(tmp_path / "warehouse")
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)
    return begin(warehouse)


@pytest.fixture
def sql(own: SparkSession, tmp_path: Path) -> Sql:
    """Statements of that client."""
    return Sql(own, str(tmp_path / "warehouse"))


@pytest.fixture
def shop(own: SparkSession) -> Shop:
    """A table of that client."""
    return Shop(own)


@pytest.fixture(autouse=True)
def functions_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``functions`` make columns of clients, whatever else runs in this process."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
