"""One ``arctic serve`` beside a benchmark: what it says, what it answers, what it uses."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE_SECONDS = 1_200
_TICK = os.sysconf("SC_CLK_TCK")


class ServedLake:
    """One ``arctic serve`` that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: dict[str, list[dict[str, Any]]] = {}
        self._spoke = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()
        self._address = str(self.wait_for("listening", 1)[0]["address"])

    def wait_for(self, event: str, count: int) -> list[dict[str, Any]]:
        """Wait until an event was said so many times, and return what was said."""
        with self._spoke:
            is_there = self._spoke.wait_for(
                lambda: len(self._said.get(event, [])) >= count, _PATIENCE_SECONDS
            )
            if not is_there:
                raise SystemExit(f"{event!r} was not said {count} times; said was {self._said}")
            return self._said[event]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return what was said of an event so far."""
        with self._spoke:
            return list(self._said.get(event, []))

    def cpu_seconds(self) -> float:
        """Return what it has used so far."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def rss_bytes(self) -> int:
        """Return the memory that it has now."""
        text = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def call(self, method: str, path: str) -> bytes:
        """Ask it something."""
        connection = http.client.HTTPConnection(self._address, timeout=_PATIENCE_SECONDS)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status < 300, body
            return body
        finally:
            connection.close()

    def look(self) -> None:
        """Let it look at every table, and wait until it has."""
        before = self._looked_ms()
        self.call("POST", "/api/v1/look")
        while self._looked_ms() == before:
            time.sleep(0.05)

    def _looked_ms(self) -> object:
        return json.loads(self.call("GET", "/api/v1/service"))["looked_ms"]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._spoke:
                self._said.setdefault(said["event"], []).append(said)
                self._spoke.notify_all()


@contextmanager
def served(warehouse: str, *options: str) -> Iterator[ServedLake]:
    """Run a service; what is not said is its default."""
    command = [*(sys.executable, "-m", "arctic.cli", "serve", "--warehouse", warehouse)]
    command += ["--output", "json", "--http", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield ServedLake(process)
    finally:
        process.terminate()
        process.wait(60)
