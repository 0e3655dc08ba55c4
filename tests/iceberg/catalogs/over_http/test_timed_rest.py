"""Catalogs over HTTP that do not answer: an error after a while, and never a commit done twice."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

import arctic
from arctic.errors import CommitStateUnknownError, InvalidInputError, StorageError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.over_http.timed_rest import CONNECTION_TIMEOUT, SOCKET_TIMEOUT
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
SHORT = {CONNECTION_TIMEOUT: "300", SOCKET_TIMEOUT: "300"}
SOON_SECONDS = 20
"""For what takes as long as several timeouts."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    """A catalog with a table, in which a row is."""
    with rest_server(tmp_path) as served:
        arctic.create_table("db.t", SCHEMA, primary_key="id", catalog=served.properties)
        arctic.write("db.t", _rows("first"), mode="upsert", catalog=served.properties)
        yield served


def test_a_table_is_written_and_read_over_http(server: RestServer) -> None:
    """As in any catalog."""
    arctic.write("db.t", _rows("second"), mode="upsert", catalog=server.properties)
    arctic.optimize("db.t", type="full", catalog=server.properties)

    assert _names(server) == ["second"]
    assert arctic.list_tables(catalog=server.properties) == ["db.t"]


@pytest.mark.parametrize("path", ["/config", "/tables/t", "/oauth/tokens"])
def test_a_server_that_does_not_answer_is_an_error_after_a_while(
    server: RestServer, path: str
) -> None:
    """It names the catalog, the time and what to do, at whichever step the server is stuck."""
    server.is_stuck = lambda _method, asked: asked.endswith(path)
    tokens = {"credential": "me:s3cr3t", "oauth2-server-uri": f"{server.uri}/v1/oauth/tokens"}
    began = time.monotonic()

    with pytest.raises(StorageError) as failed:
        arctic.read("db.t", catalog={**server.properties, **SHORT, **tokens})

    assert time.monotonic() - began < SOON_SECONDS
    assert "catalog 'arctic' did not answer within 0.3 seconds" in str(failed.value)
    assert f"give it more time: catalog.{SOCKET_TIMEOUT}" in str(failed.value)
    assert "s3cr3t" not in str(failed.value)


def test_a_server_that_cannot_be_connected_to_is_an_error_after_a_while() -> None:
    """One whose queue of callers is full takes nobody."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        catalog = {"type": "rest", "uri": f"http://127.0.0.1:{address[1]}", **SHORT}

        with pytest.raises(StorageError, match=r"could not be connected to within 0\.3 seconds"):
            arctic.list_tables(catalog=catalog)
        for each in waiting:
            each.close()


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_an_answer_is_of_unknown_outcome(
    server: RestServer, is_done: bool
) -> None:
    """Where nothing is answered any more, nobody says that it failed, whether it landed or not."""
    commits = ("POST", "/tables/t_change_")

    def stuck_from_the_commit_on(method: str, path: str) -> bool:
        return (method == commits[0] and path.endswith(commits[1])) or server.count(*commits) > made

    made = server.count(*commits)
    server.is_stuck, server.does_it_first = stuck_from_the_commit_on, is_done

    with pytest.raises(CommitStateUnknownError, match=r"did not answer within 0\.3 seconds"):
        arctic.write("db.t", _rows("second"), mode="upsert", catalog={**server.properties, **SHORT})

    assert server.count(*commits) == made + 1
    server.recover()
    assert _names(server) == (["second"] if is_done else ["first"])


def test_a_commit_whose_answer_was_lost_is_found_and_not_done_again(server: RestServer) -> None:
    """The table itself says that it landed."""
    commits = ("POST", "/tables/t_change_")
    made = server.count(*commits)
    server.is_stuck = lambda method, path: (method, path.endswith(commits[1])) == ("POST", True)
    server.does_it_first = True

    arctic.write("db.t", _rows("second"), mode="upsert", catalog={**server.properties, **SHORT})

    assert server.count(*commits) == made + 1
    assert _names(server) == ["second"]


def test_properties_that_may_have_been_set_are_of_unknown_outcome(server: RestServer) -> None:
    """Also of a commit without a snapshot nobody says that it failed."""
    server.is_stuck = lambda method, path: (method, path.endswith("/tables/t")) == ("POST", True)
    server.does_it_first = True
    table = arctic.open_table("db.t", catalog={**server.properties, **SHORT})

    with pytest.raises(CommitStateUnknownError):
        table.set_properties({"self-optimizing.quota": "2"})

    server.recover()
    found = arctic.open_table("db.t", catalog=server.properties).properties
    assert found["self-optimizing.quota"] == "2"


@pytest.mark.parametrize(
    "instead", [(503, b""), (524, b"<html>"), (200, b"<html>s3cr3t</html>"), (200, b'{"metadata":')]
)
def test_what_a_proxy_says_of_a_commit_is_no_failure(
    server: RestServer, instead: tuple[int, bytes]
) -> None:
    """It landed behind the proxy, and nobody says that it did not."""
    server.is_stuck = lambda method, path: (method, path.endswith("/tables/t")) == ("POST", True)
    server.does_it_first, server.instead = True, instead
    table = arctic.open_table("db.t", catalog=server.properties)

    with pytest.raises(CommitStateUnknownError) as failed:
        table.set_properties({"self-optimizing.quota": "2"})

    assert "s3cr3t" not in str(failed.value)
    server.recover()
    found = arctic.open_table("db.t", catalog=server.properties).properties
    assert found["self-optimizing.quota"] == "2"


def test_a_writer_of_a_table_that_is_gone_by_now_may_have_written(server: RestServer) -> None:
    """A commit that was sent twice landed before the table got its new name: no file goes."""
    gone = {"message": "Table does not exist", "type": "NoSuchTableException", "code": 404}

    commits: list[str] = []

    def renamed_after_the_commit(method: str, path: str) -> bool:
        is_commit = method == "POST" and path.endswith("/tables/u")
        if is_commit:
            commits.append(path)
        elif commits and server.catalog.table_exists("db.u"):
            server.catalog.rename_table("db.u", "db.w")
        return is_commit

    table = arctic.create_table("db.u", SCHEMA, primary_key=[], catalog=server.properties)
    server.is_stuck, server.does_it_first = renamed_after_the_commit, True
    server.instead = 404, json.dumps({"error": gone}).encode()

    with pytest.raises(CommitStateUnknownError, match="Table does not exist"):
        table.write(_rows("second"), mode="append")

    server.recover()
    assert arctic.read("db.w", catalog=server.properties).read_all().num_rows == 1
    assert len(commits) == 1


@pytest.mark.parametrize("text", ["soon", "0", "-5", "1.5"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    """By name and value, before anybody is asked."""
    catalog = {"type": "rest", "uri": "http://127.0.0.1:1/", SOCKET_TIMEOUT: text}

    with pytest.raises(InvalidInputError) as refused:
        arctic.list_tables(catalog=catalog)

    assert f"{SOCKET_TIMEOUT} = {text!r}; expected a whole number" in str(refused.value)


def test_a_refused_connection_is_no_unknown_outcome(server: RestServer) -> None:
    """Nothing was sent, so it may be tried again."""
    config = CatalogConfig.from_options({f"catalog.{k}": v for k, v in server.properties.items()})
    catalog = open_catalog(config)
    assert isinstance(catalog, RestCatalog)
    table = catalog.load_table("db.t")
    catalog.uri = "http://127.0.0.1:1"

    with pytest.raises(OSError, match="refused") as failed, table.transaction() as changes:
        changes.set_properties({"a": "b"})

    assert not isinstance(failed.value, CommitStateUnknownError)


def _rows(name: str) -> pa.Table:
    return pa.table({"id": [1], "name": [name]}, schema=SCHEMA)


def _names(server: RestServer) -> list[object]:
    return list(arctic.read("db.t", catalog=server.properties).read_all()["name"].to_pylist())
