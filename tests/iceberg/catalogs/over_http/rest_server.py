"""A REST catalog on a free port of this machine, whose tables are those of a SQLite catalog.

It answers what Arctic asks, and can be told to take some calls without ever answering them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from arctic.iceberg.catalogs.sqlite import harden, sqlite_uri

_STATUSES = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}
Answer = dict[str, Any] | None


def answers(_method: str, _path: str) -> bool:
    """Answer every call."""
    return False


@dataclass
class RestServer:
    """The server, and which calls it leaves without an answer."""

    catalog: SqlCatalog
    uri: str = ""
    is_stuck: Callable[[str, str], bool] = answers
    """Asked with the method and the path of each call."""
    does_it_first: bool = False
    """Whether what is asked for is done before nothing is answered."""
    instead: tuple[int, bytes] | None = None
    """Status and body for calls that are stuck; None: they get nothing."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each call."""
    released: threading.Event = field(default_factory=threading.Event)
    """Set it, and calls that are stuck are answered by closing their connections."""

    @property
    def properties(self) -> dict[str, str]:
        """What opens it."""
        return {"type": "rest", "uri": self.uri}

    def count(self, method: str, path: str) -> int:
        """Return how often something was asked for whose path ends so."""
        return sum(each == method and where.endswith(path) for each, where in self.asked)

    def recover(self) -> None:
        """Answer everything from now on, and let go of those who wait."""
        self.is_stuck = answers
        self.released.set()

    def done(self, method: str, parts: list[str], body: bytes, parent: tuple[str, ...]) -> Answer:
        """Do what a call asks for, and return its answer; ``parent`` is of its query."""
        if parts == ["config"]:
            return {"defaults": {}, "overrides": {}}
        if parts == ["oauth", "tokens"]:
            return {"access_token": "t0ken", "token_type": "bearer", "expires_in": 3_600}
        if parts == ["namespaces"]:
            return self._namespaces(method, body, parent)
        if parts == ["tables", "rename"]:
            wanted = json.loads(body)
            names = (
                (*wanted[e]["namespace"], wanted[e]["name"]) for e in ("source", "destination")
            )
            self.catalog.rename_table(*names)
            return None
        namespace = tuple(parts[1].split("\x1f"))
        if len(parts) == 2:
            found = self.catalog.load_namespace_properties(namespace)
            return {"namespace": namespace, "properties": found}
        if parts[2] == "properties":
            wanted = json.loads(body)
            self.catalog.update_namespace_properties(
                namespace, set(wanted["removals"]), wanted["updates"]
            )
            return {"updated": list(wanted["updates"]), "removed": wanted["removals"]}
        if len(parts) == 3:
            return self._tables(method, namespace, body)
        return self._table(method, (*namespace, parts[3]), body)

    def _namespaces(self, method: str, body: bytes, parent: tuple[str, ...]) -> Answer:
        if method == "POST":
            wanted = json.loads(body)
            self.catalog.create_namespace(tuple(wanted["namespace"]), wanted["properties"])
            return {"namespace": wanted["namespace"], "properties": wanted["properties"]}
        return {"namespaces": self.catalog.list_namespaces(parent)}

    def _tables(self, method: str, namespace: tuple[str, ...], body: bytes) -> Answer:
        if method == "POST":
            # A client leaves out what it has nothing to say of.
            said = json.dumps({"location": None, **json.loads(body)})
            wanted = CreateTableRequest.model_validate_json(said)
            made = self.catalog.create_table(
                (*namespace, wanted.name),
                wanted.table_schema,
                location=wanted.location,
                partition_spec=wanted.partition_spec or UNPARTITIONED_PARTITION_SPEC,
                sort_order=wanted.write_order or UNSORTED_SORT_ORDER,
                properties=wanted.properties,
            )
            return _told(made)
        found = self.catalog.list_tables(namespace)
        return {"identifiers": [{"namespace": each[:-1], "name": each[-1]} for each in found]}

    def _table(self, method: str, identifier: tuple[str, ...], body: bytes) -> Answer:
        if method == "DELETE":
            self.catalog.drop_table(identifier)
            return None
        table = self.catalog.load_table(identifier)
        if method == "POST":
            wanted = CommitTableRequest.model_validate_json(body)
            self.catalog.commit_table(table, wanted.requirements, wanted.updates)
            table = self.catalog.load_table(identifier)
        return _told(table)


def _told(table: Table) -> Answer:
    return {
        "metadata-location": table.metadata_location,
        "metadata": json.loads(table.metadata.model_dump_json()),
        "config": {},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: RestServer

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.served.asked.append((self.command, path))
        is_stuck = self.served.is_stuck(self.command, path)
        if not is_stuck or self.served.does_it_first:
            status, answer = self._done(path, body)
        if is_stuck and self.served.instead is None:
            self.served.released.wait(120)
            self.close_connection = True
            return
        if is_stuck and self.served.instead is not None:
            status, data = self.served.instead
        else:
            data = b"" if answer is None or self.command == "HEAD" else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_DELETE = _answer

    def _done(self, path: str, body: bytes) -> tuple[int, Answer]:
        parts = [unquote(each) for each in path.removeprefix("/v1/").split("/")]
        query = parse_qs(urlsplit(self.path).query)
        parent = tuple(part for text in query.get("parent", ()) for part in text.split("\x1f"))
        try:
            answer = self.served.done(self.command, parts, body, parent)
        except tuple(_STATUSES) as error:
            status = _STATUSES[type(error)]
            told = {"message": str(error), "type": type(error).__name__, "code": status}
            return status, {"error": told}
        return (204 if answer is None else 200), answer

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def rest_server(folder: Path) -> Iterator[RestServer]:
    """Serve a catalog whose tables lie in a folder."""
    database = folder / "rest.db"
    catalog = SqlCatalog("server", uri=sqlite_uri(database), warehouse=f"file://{folder}")
    harden(catalog)
    served = RestServer(catalog)

    class Handler(_Handler):
        pass

    Handler.served = served
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        served.uri = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            served.recover()
            server.shutdown()
            thread.join()
