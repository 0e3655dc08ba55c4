"""Callers who stop in the middle: closed after some time, while others are answered."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from arctic.http.patience import slow_callers

SECONDS = 0.15
LARGE = 50_000_000
_HEAD = b"POST /%s HTTP/1.1\r\nhost: here\r\n"


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body, then answer: with much, or a while later."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    body = b"x" * (LARGE if scope["path"] == "/large" else 1)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server that has little patience."""
    monkeypatch.setattr(slow_callers, "PATIENCE_SECONDS", SECONDS)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        _app, http=slow_callers.PatientProtocol, lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /",
        _HEAD % b"small",
        _HEAD % b"small" + b"content-length: 9\r\n\r\nhalf",
        _HEAD % b"small" + b"transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        _HEAD % b"small" + b"content-length: 0\r\n\r\nPOST /",
        _HEAD % b"large" + b"content-length: 0\r\n\r\n",
    ],
    ids=["nothing", "line", "head", "body", "chunks", "second", "reads-nothing"],
)
def test_who_stops_in_the_middle_is_closed(port: int, sent: bytes) -> None:
    """Also who does not read the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        read = 0
        if b"/large" in sent:
            time.sleep(4 * SECONDS)
        try:
            while part := connection.recv(1_000_000):
                read += len(part)
        except ConnectionResetError:
            pass
    assert read < LARGE


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET /small HTTP/1.1\r\n\r\n",
        b"GET /small HTTP/1.1\r\nhost: here\r\nx: " + b"y" * 200_000,
        _HEAD % b"small" + b"transfer-encoding: chunked\r\n\r\nno length\r\n",
        _HEAD % b"small" + b"content-length: many\r\n\r\n",
    ],
    ids=["encrypted", "host", "long", "chunk", "length"],
)
def test_what_cannot_be_read_is_refused_as_any_call(port: int, sent: bytes) -> None:
    """By a document of JSON, and the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        answer = b""
        try:
            while part := connection.recv(1_000_000):
                answer += part
        except ConnectionResetError:
            pass
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"content-type: application/json" in head.lower()
    said = json.loads(body)["error"]
    assert said["kind"] == "InvalidInputError"
    assert "expected a line, a host and short headers" in said["message"]
