"""HTTP/1.1 as the service speaks it: what cannot be read is refused, and nobody waits long.

Rules:
    - Connections on which nothing moves are closed, so that they keep nobody else out.
    - A call has some time for its head, and again for its body and for the reading of its answer.
      What the service itself takes to answer is not counted.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from arctic.errors import InvalidInputError
from arctic.http.refusals import refusal

_NO_HTTP = "the request is no HTTP/1.1 that can be read; expected a line, a host and short headers"
PATIENCE_SECONDS = 15.0
"""After which a connection is looked at; one that has not moved since the last time is closed."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with those who may be slow, but not for ever."""

    _seen: object = None
    """The call that the connection was at when it was last looked at; None: at none."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to count."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE_SECONDS, self._look)

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed, before there is any call.

        Args:
            msg: what uvicorn would say, as plain text.
        """
        del msg
        answer = refusal(400, InvalidInputError.__name__, _NO_HTTP, connection="close")
        head = h11.Response(
            status_code=answer.status_code, headers=answer.raw_headers, reason=b"Bad Request"
        )
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        call: Any = self.cycle
        if call is self._seen and self._waits_for_the_caller(call):
            # What is left to be sent would not be read.
            self.transport.abort()
            return
        self._seen = call
        self.loop.call_later(PATIENCE_SECONDS, self._look)

    def _waits_for_the_caller(self, call: Any) -> bool:
        return call is None or call.response_complete or call.more_body or self.flow.write_paused
