"""A service with an HTTP face on a free port, and one who calls it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import arctic
from tests.service.lake import Lake

PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def message(self) -> str:
        """The text of a failure."""
        return str(self.json["error"]["message"])


@dataclass
class Caller:
    """Calls one address."""

    lake: Lake
    port: int = 0
    token: str | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request, and return its answer."""
        given = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given["content-type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body=data, headers=given | (headers or {}))
            found = connection.getresponse()
            named = {name.lower(): text for name, text in found.getheaders()}
            return Answer(found.status, named, found.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for something."""
        return self.call("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        """Let something be done."""
        return self.call("POST", path, body, headers)

    def wait_for_process(self, process_id: int) -> dict[str, Any]:
        """Wait until a process is over, and return it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._status(process_id) in ("waiting", "running"):
            assert time.monotonic() < end
            time.sleep(0.01)
        found: dict[str, Any] = self.get(f"/api/v1/processes/{process_id}").json
        return found

    def _status(self, process_id: int) -> str:
        return str(self.get(f"/api/v1/processes/{process_id}").json["process"]["status"])


@contextmanager
def served(lake: Lake, **options: Any) -> Iterator[Caller]:
    """Run a service for as long as the block; after the first look it only looks when asked."""
    caller = Caller(lake)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            arctic.serve(
                **{
                    "http": "127.0.0.1:0",
                    "interval_seconds": 86_400,
                    "stop": caller.stop,
                    "say": lake.say,
                    "warehouse": lake.warehouse,
                    **options,
                }
            )
        except BaseException as error:  # noqa: BLE001 - raised where the test waits
            failed.append(error)
            lake.say("stopped")

    thread = threading.Thread(target=run)
    thread.start()
    lake.wait_for("listening")
    address = next(facts["address"] for event, facts in lake.said if event == "listening")
    caller.port = int(str(address).rpartition(":")[2])
    try:
        yield caller
    finally:
        caller.stop.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
        if failed:
            raise failed[0]
