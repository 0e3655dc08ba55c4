"""The server of the HTTP face: a thread beside the service."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from arctic.errors import InvalidInputError
from arctic.http.catalogs_app import CatalogsApp
from arctic.http.gate import Gate
from arctic.http.http_app import http_app
from arctic.http.http_settings import HttpSettings
from arctic.http.patience.slow_callers import PatientProtocol
from arctic.service.control import ServiceControl
from arctic.service.event_counts import EventCounts
from arctic.service.event_log import Say, why

_STOP_SECONDS = 1
"""For calls that are under way at the end."""
_MOST_CONNECTIONS = 600
"""At a time; those beyond are answered 503. A process may have 1,024 files on most machines."""
_LEAST_READY_MS = 600_000
_READY_INTERVALS = 3


class HttpFace:
    """One address that is listened on."""

    def __init__(
        self, settings: HttpSettings, *, counts: EventCounts, interval_seconds: float, say: Say
    ) -> None:
        """Begin to listen.

        Args:
            settings: where, and who may call.
            counts: of what the service says.
            interval_seconds: between two looks of the service at the catalog.
            say: is told of failures, and where it listens.

        Raises:
            InvalidInputError: the address is taken, or none of this machine.
        """
        self._settings = settings
        self._counts = counts
        self._ready_ms = max(_LEAST_READY_MS, int(interval_seconds * 1_000) * _READY_INTERVALS)
        self._say = say
        try:
            self._socket = socket.create_server(
                (settings.host, settings.port),
                family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
            )
        except OSError as error:
            raise InvalidInputError(
                f"http address '{settings.host}:{settings.port}': {error}; expected one of this "
                "machine that nobody listens on"
            ) from error

    @contextmanager
    def serving(self, control: ServiceControl) -> Iterator[None]:
        """Answer calls until the block is left."""
        app = http_app(
            control,
            counts=self._counts,
            token=self._settings.token,
            ready_ms=self._ready_ms,
            failed=self._failed,
        )
        with self._listening(app):
            yield

    @contextmanager
    def serving_catalogs(self, names: Sequence[str]) -> Iterator[CatalogsApp]:
        """Answer calls until the block is left, about those catalogs that have joined."""
        app = CatalogsApp(names, self._ready_ms)
        with self._listening(Gate(app, self._settings.token, self._failed)):
            yield app

    @contextmanager
    def _listening(self, app: ASGIApp) -> Iterator[None]:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                loop="asyncio",
                ws="none",
                lifespan="off",
                # What is no HTTP is answered, and is worth no line of the log.
                log_level="critical",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=_MOST_CONNECTIONS,
                timeout_graceful_shutdown=_STOP_SECONDS,
            )
        )
        thread = threading.Thread(
            target=server.run, args=([self._socket],), name="arctic-http", daemon=True
        )
        thread.start()
        host, port = self._socket.getsockname()[:2]
        self._say("listening", address=f"{f'[{host}]' if ':' in host else host}:{port}")
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(_STOP_SECONDS + 0.5)

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def _failed(self, error: Exception) -> None:
        self._say("failed", what="answering a call", why=why(error))
