"""The commands that wait for event time."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from tests.cli.test_engines_commands import run

NOON_MS = 1_709_208_000_000
SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.int64())])
FAILS = f"{sys.executable} -c 'raise SystemExit(7)'"


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, str]:
    """Return the option that names where a table is that has come to 12:25."""
    properties = {"table.event-time-field": "at"}
    arctic.create_table(
        "w.t", SCHEMA, primary_key="id", properties=properties, warehouse=str(tmp_path)
    )
    rows = pa.table({"id": [1], "at": [NOON_MS + 25 * 60_000]})
    options = {"writer-id": "eu"}
    arctic.write("w.t", rows, mode="upsert", options=options, warehouse=str(tmp_path))
    return "--warehouse", str(tmp_path)


def test_ready_tells_by_its_exit_code(
    place: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Complete is 0, not complete 3, and a failure 1 as everywhere."""
    code, out, _ = run(capsys, "ready", "w.t", "--until", "2024-02-29 12:20", *place)
    assert (code, out.strip()) == (0, "w.t: complete until 2024-02-29T12:20:00+00:00")

    asked = ("ready", "w.t", "--until", "2024-02-29 13:00", "--writer", "us", *place)
    code, out, _ = run(capsys, *asked)
    assert code == 3
    assert "behind: eu (2024-02-29T12:25:00+00:00), us (has never written)" in out
    code, out, _ = run(capsys, *asked, "--output", "json")
    assert (code, json.loads(out)["behind"]["us"], json.loads(out)["ready"]) == (3, None, False)

    code, _, err = run(capsys, "ready", "w.t", "--until", "soon", *place)
    assert (code, "expected one such as" in err) == (1, True)


def test_a_program_is_given_each_window(
    place: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once; one that fails is given the same window again."""
    asked = ("windows", "w.t", "10min", "--consumer", "r", "--start", "2024-02-29 12:00", *place)
    code, out, err = run(capsys, *asked, "--run", FAILS)
    assert (code, out) == (1, "")
    assert "window 2024-02-29T12:00:00+00:00 of w.t" in err
    assert "exit code 7" in err

    note = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"
    noted = tmp_path / "noted.jsonl"
    code, out, _ = run(capsys, *asked, "--run", f'{sys.executable} -c "{note}" {noted}')
    assert (code, len(out.splitlines())) == (0, 2)
    given = [json.loads(line) for line in noted.read_text().splitlines()]
    assert [window["begin"][11:16] for window in given] == ["12:00", "12:10"]
    assert given[0]["filter"] == f"`at` >= {NOON_MS} AND `at` < {NOON_MS + 600_000}"

    code, out, _ = run(capsys, *asked, "--output", "json")
    assert (code, out) == (0, "")


def test_each_window_is_posted_to_an_address(
    place: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON; one that is answered with a failure is given again."""
    got: list[dict[str, str]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Refuse the first window, then take what comes."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append(json.loads(body))
            self.send_response(503 if len(got) == 1 else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        begin = ("--start", "2024-02-29 12:00", "--post", address)
        asked = ("windows", "w.t", "10min", "--consumer", "p", *begin, *place)
        assert run(capsys, *asked)[0] == 1
        assert run(capsys, *asked)[0] == 0
        server.shutdown()
    assert [window["begin"][11:16] for window in got] == ["12:00", "12:00", "12:10"]
