"""A server that takes what a webhook posts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """What arrived, and how it is answered."""

    statuses: list[int] = field(default_factory=list)
    """Of the first answers; 200 afterwards."""
    url: str = ""
    arrived: list[dict[str, Any]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, event: str) -> dict[str, Any]:
        """Wait until an event has arrived, and return it."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: event in [each["event"] for each in self.arrived], timeout=60
            )
            return next(each for each in self.arrived if each["event"] == event)


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """Listen on a free port of this machine."""
    receiver = Receiver(list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with receiver.changed:
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                if status == 200:
                    receiver.arrived.append(json.loads(body))
                receiver.changed.notify_all()
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook/s3cr3t"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
