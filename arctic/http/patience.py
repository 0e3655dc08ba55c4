"""Connections on which nothing moves are closed, so that they keep nobody else out.

Rules:
    - A call has some time for its head, and again for its body and for the reading of its answer.
      What the service itself takes to answer is not counted.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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
