"""The gate before an application: how many calls it lets through at a time."""

from __future__ import annotations

import asyncio
import json

from starlette.types import Message, Receive, Scope, Send

from arctic.http.gate import MOST_CALLS, Gate


def test_calls_beyond_the_most_are_told_to_come_again() -> None:
    """Whether the service lives is answered all the same, and others are once a call has ended."""

    async def run() -> list[int]:
        go_on = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] != "/health":
                await go_on.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

        gate = Gate(app, None, lambda error: None)
        waiting = [asyncio.create_task(_status(gate, "/api/v1/tables")) for _ in range(MOST_CALLS)]
        await asyncio.sleep(0)
        beyond = [await _status(gate, path) for path in ("/api/v1/tables", "/health")]
        go_on.set()
        answered = await asyncio.gather(*waiting)
        return [*beyond, *set(answered), await _status(gate, "/api/v1/tables")]

    assert asyncio.run(run()) == [503, 200, 200, 200]


async def _status(gate: Gate, path: str) -> int:
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [(b"host", b"127.0.0.1")],
    }
    await gate(scope, receive, send)
    assert json.loads(told[1]["body"]) is not None
    return int(told[0]["status"])
