"""Iceberg's REST catalog, that of its own Java tests, behind a door that counts what it is asked.

The catalog keeps its tables in SQLite and writes their metadata itself. The door does what catalogs
of companies do around such a server: it asks for a token, and hands out properties. It can lose the
answer to a commit, as a network does. It lets one commit in at a time: the server compares the
tables of a request first and commits them one after the other then, so others could come between.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "open-sesame"
"""What a client is configured with."""
ISSUED = "issued-by-the-door"
"""What the door wants from then on: a catalog's own token, which it hands out."""
_TABLE = re.compile(r"/v1/namespaces/([^/?]+)/tables/([^/?]+)(?:\?.*)?")
_SEVERAL = "/v1/transactions/commit"
_KEPT = ("content-type", "etag")


class Door(ThreadingHTTPServer):
    """Lets calls with a token through."""

    daemon_threads = True

    def __init__(self, inner: int) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.inner = inner
        self.asked: Counter[str] = Counter()
        self.overrides: Mapping[str, str] = {"token": ISSUED}
        self.answers: list[int | None] = []
        """For the next commits: a status to answer instead; None: as it is."""
        self.vended: Sequence[Mapping[str, Any]] = ()
        """What it hands out with every table to who asks for it: ``storage-credentials``."""
        self.reaches = True
        """Whether commits that are answered so are made all the same."""
        self.takes_several = True
        """Whether it says that it commits several tables in one request."""
        self.before_commits: list[Callable[[], object] | None] = []
        """For the next commits: what happens before one is let in."""
        self.one_commit = threading.Lock()

    @property
    def catalog(self) -> dict[str, str]:
        """What a client is to be configured with."""
        return {"type": "rest", "uri": f"http://127.0.0.1:{self.server_port}", "token": TOKEN}


class _Call(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # What does not fit into one packet would wait for the client's word, 40 ms.
    disable_nagle_algorithm = True
    server: Door

    def do_GET(self) -> None:
        """Serve any method alike."""
        door = self.server
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        is_config = self.path.startswith("/v1/config")
        if self.headers.get("authorization") != f"Bearer {TOKEN if is_config else ISSUED}":
            self._answer(401, json.dumps({"error": _NO_TOKEN}).encode(), {})
            return
        tables = _tables_in(self.path, body)
        kind = {"GET": "load", "POST": "commit"}.get(self.command)
        if tables and kind is not None:
            door.asked[f"{kind} {tables}"] += 1
        is_commit = bool(tables) and kind == "commit"
        before = door.before_commits.pop(0) if is_commit and door.before_commits else None
        if before is not None:
            before()
        instead = door.answers.pop(0) if is_commit and door.answers else None
        if instead is not None and not door.reaches:
            self._answer(instead, json.dumps({"error": _BROKEN}).encode(), {})
            return
        with door.one_commit if is_commit else nullcontext():
            status, answer, headers = self._forward(body)
        if is_config:
            said = {**json.loads(answer), "overrides": door.overrides}
            offered = [each for each in said["endpoints"] if "transactions" not in each]
            said["endpoints"] = said["endpoints"] if door.takes_several else offered
            answer = json.dumps(said).encode()
        if self.headers.get("x-iceberg-access-delegation") == "vended-credentials":
            answer = self._with_keys(answer)
        if instead is not None:
            status, answer = instead, json.dumps({"error": _BROKEN}).encode()
        self._answer(status, answer, headers)

    do_POST = do_DELETE = do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _forward(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        inner = http.client.HTTPConnection("127.0.0.1", self.server.inner)
        try:
            sent = {"Content-Type": self.headers.get("content-type", "application/json")}
            inner.request(self.command, self.path, body or None, sent)
            response = inner.getresponse()
            kept = {name: text for name in _KEPT if (text := response.getheader(name))}
            return response.status, response.read(), kept
        finally:
            inner.close()

    def _with_keys(self, answer: bytes) -> bytes:
        """Hand out keys with the metadata of a table that was made or loaded."""
        vended = self.server.vended
        if not vended or b'"metadata"' not in answer:
            return answer
        return json.dumps({**json.loads(answer), "storage-credentials": vended}).encode()

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        body = b"" if status == 204 else body
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tables_in(path: str, body: bytes) -> str:
    """Return which tables a call is about; nothing: none, or not by name."""
    if path == _SEVERAL:
        names = [each["identifier"] for each in json.loads(body)["table-changes"]]
        return " ".join(".".join([*name["namespace"], name["name"]]) for name in names)
    table = _TABLE.fullmatch(path)
    return "" if table is None else f"{table[1]}.{table[2]}"


_NONE: Mapping[str, str] = {}
_NO_TOKEN = {"message": "no token", "type": "NotAuthorizedException", "code": 401}
_BROKEN = {"message": "broken", "type": "InternalServerError", "code": 500}


@contextmanager
def opened_door(
    jvm: Any, folder: Path, *, warehouse: str | None = None, hadoop: Mapping[str, str] = _NONE
) -> Iterator[Door]:
    """Start a catalog, and the door before it.

    Args:
        jvm: runs it.
        folder: of its database.
        warehouse: where its tables lie; None: in the folder.
        hadoop: by which settings it reaches that.
    """
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    for name, text in hadoop.items():
        configuration.set(name, text)
    backend = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog(
        "backend",
        {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{folder}/rest.db",
            "jdbc.schema-version": "V1",
            "warehouse": warehouse or f"file://{folder}/rest",
            # SQLite lets one write at a time; whoever waits is not refused.
            "clients": "1",
        },
        configuration,
    )
    servlets = jvm.org.eclipse.jetty.ee10.servlet
    handler = servlets.ServletContextHandler()
    servlet = jvm.org.apache.iceberg.rest.RESTCatalogServlet(
        jvm.org.apache.iceberg.rest.RESTCatalogAdapter(backend)
    )
    handler.addServlet(servlets.ServletHolder(servlet), "/*")
    server = jvm.org.eclipse.jetty.server.Server()
    connector = jvm.org.eclipse.jetty.server.ServerConnector(server)
    connector.setHost("127.0.0.1")
    server.addConnector(connector)
    server.setHandler(handler)
    server.start()
    door = Door(connector.getLocalPort())
    thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield door
    finally:
        door.shutdown()
        thread.join()
        door.server_close()
        server.stop()
