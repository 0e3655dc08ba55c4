"""An S3 server on loopback that counts requests, as a process of its own.

It is moto's, which holds objects in memory. In front of it stands what counts: each request with
its key. If told so, it lets each wait, as for a store that is far away, and refuses writes with a
condition, as a store does that has none. Under ``/-/`` it answers for itself.

Rules:
    - What a request is is told by its method and query alone, as S3 tells it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

CONTROL = "/-/"
_CONDITIONS = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH")
_NO_CONDITIONS = b"<Error><Code>NotImplemented</Code><Message>no conditions</Message></Error>"
_MULTIPART = {"uploads": "create upload", "uploadId": "complete upload", "delete": "DELETE many"}

Environment = Mapping[str, Any]


class Counting:
    """A WSGI application around another one."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._noted: list[tuple[str, str, float, float]] = []
        self._delay_seconds = 0.0
        self._takes_conditions = True

    def __call__(self, environment: Environment, respond: Any) -> Iterable[bytes]:
        """Answer a request."""
        path = environment["PATH_INFO"]
        if path.startswith(CONTROL):
            return self._controlled(path.removeprefix(CONTROL), environment, respond)
        began = time.monotonic()
        time.sleep(self._delay_seconds)
        try:
            if not self._takes_conditions and _is_conditional_write(environment):
                respond("501 Not Implemented", [("Content-Type", "application/xml")])
                return [_NO_CONDITIONS]
            return self._application(environment, respond)
        finally:
            if "/" in path.strip("/") or environment["QUERY_STRING"]:  # else of a bucket itself
                noted = kind_of(environment), unquote(path), began, time.monotonic()
                with self._lock:
                    self._noted.append(noted)

    def _controlled(self, what: str, environment: Environment, respond: Any) -> list[bytes]:
        query = parse_qs(environment["QUERY_STRING"])
        with self._lock:
            if what == "delay":
                self._delay_seconds = float(query["ms"][0]) / 1000
            elif what == "conditions":
                self._takes_conditions = query["taken"] == ["True"]
            answer, self._noted = self._noted, []
        respond("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]


def kind_of(environment: Environment) -> str:
    """Return what S3 would call a request: its method, or what its query makes of it."""
    method = str(environment["REQUEST_METHOD"])
    query = parse_qs(environment["QUERY_STRING"], keep_blank_values=True)
    if method == "POST":
        return next((name for key, name in _MULTIPART.items() if key in query), method)
    if method == "PUT" and environment["PATH_INFO"].endswith("/"):
        return "PUT marker"
    is_bucket = "/" not in environment["PATH_INFO"].strip("/")
    return "LIST" if method == "GET" and is_bucket else method


def _is_conditional_write(environment: Environment) -> bool:
    asks = environment["REQUEST_METHOD"] in ("GET", "HEAD")
    return not asks and any(name in environment for name in _CONDITIONS)


class _Handler(WSGIRequestHandler):
    # Keeps connections, and tells who asks whether to send a body that it may.
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing of each request."""


def main() -> None:
    """Serve until standard input ends; print the port first."""
    application = Counting(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
