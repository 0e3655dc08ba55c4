"""Starts a server that tests are run beside: ``python -m tests.serve postgres``.

It prints what reaches the server, as JSON: the properties of a catalog, or settings of Spark. It
ends with its standard input.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import arctic
from benchmarks.requests.object_store import object_store
from tests.catalogs.glue_catalog import running_glue
from tests.catalogs.hive_server import running_metastore
from tests.catalogs.rest_server import opened_door
from tests.java.plain_java import running_java
from tests.mariadb.server import running_server
from tests.postgres.cluster import running_cluster
from tests.spark.cluster.standalone import running_standalone
from tests.spark.conftest import SETTINGS
from tests.spark.servers import connect_server
from tests.stores.servers import running_azure, running_google, running_hadoop

Properties = Mapping[str, str]
Start = Callable[[Path], AbstractContextManager[Properties]]


@contextmanager
def _postgres(folder: Path) -> Iterator[Properties]:
    with running_cluster() as dsn:
        host = dict(word.split("=") for word in dsn.split())["host"]
        yield _in_database(f"postgresql+psycopg://postgres@/postgres?host={host}", folder)


@contextmanager
def _mariadb(folder: Path) -> Iterator[Properties]:
    with running_server() as socket:
        yield _in_database(f"mysql+pymysql://root@/mysql?unix_socket={socket}", folder)


@contextmanager
def _rest(folder: Path) -> Iterator[Properties]:
    with running_java() as jvm, opened_door(jvm, folder) as door:
        yield door.catalog


@contextmanager
def _moto(folder: Path) -> Iterator[Properties]:
    with object_store() as store:
        yield store.catalog(folder / "catalog.db")


@contextmanager
def _glue(_: Path) -> Iterator[Properties]:
    with running_glue() as properties:
        yield properties


def _store(running: Callable[[], AbstractContextManager[Properties]]) -> Start:
    @contextmanager
    def start(folder: Path) -> Iterator[Properties]:
        with running() as properties:
            yield {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", **properties}

    return start


@contextmanager
def _spark(folder: Path) -> Iterator[Properties]:
    with running_standalone(folder) as master:
        yield {"spark.master": master}


@contextmanager
def _connect(folder: Path) -> Iterator[Properties]:
    settings = arctic.spark_conf(warehouse=str(folder / "warehouse")) | SETTINGS
    with connect_server(folder, settings) as address:
        yield {"spark.remote": address}


def _in_database(uri: str, folder: Path) -> Properties:
    return {"type": "sql", "uri": uri, "warehouse": f"file://{folder}/tables"}


SERVERS: Mapping[str, Start] = {
    "moto": _moto,
    "azurite": _store(running_azure),
    "gcs": _store(running_google),
    "hdfs": _store(running_hadoop),
    "postgres": _postgres,
    "mariadb": _mariadb,
    "rest": _rest,
    "glue": _glue,
    "hive": lambda folder: running_metastore("2.3", folder),
    "spark": _spark,
    "connect": _connect,
}
"""In the order of docs/servers.md."""


def main(arguments: list[str]) -> None:
    """Start the server that is named, until nobody is at the other end of the standard input."""
    if len(arguments) != 1 or arguments[0] not in SERVERS:
        sys.exit(f"python -m tests.serve: expected one of {', '.join(SERVERS)}")
    try:
        with (
            TemporaryDirectory(prefix="arctic-serve-", ignore_cleanup_errors=True) as folder,
            SERVERS[arguments[0]](Path(folder)) as properties,
        ):
            print(json.dumps(properties), flush=True)
            sys.stdin.read()
    except pytest.skip.Exception as skipped:
        sys.exit(str(skipped))


if __name__ == "__main__":
    main(sys.argv[1:])
