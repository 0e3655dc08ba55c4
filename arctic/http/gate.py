"""Who may call, and with how much: decided from the head of a request, before its body is read.

Rules:
    - Without a token only this machine can call. Pages of other sites in a browser on this machine
      are refused, also of a site whose name was made to resolve to this machine.
    - With a token every call must show it, except calls whose answers say nothing of any table.
    - A refused call is answered and its connection closed; its body is not read to the end.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arctic.errors import InvalidInputError, StorageError
from arctic.http.http_settings import is_loopback
from arctic.http.refusals import refusal

OPEN_PATHS = frozenset({"/health", "/ready", "/docs", "/openapi.json"})
MOST_CALLS = 250
"""At a time; those beyond are told to come again, but those that ask whether the service lives."""
OPEN_PREFIX = "/static/"
"""Files of the packages that are installed here, the same everywhere."""
MOST_BODY_BYTES = 65_536
_TOO_LARGE = f"the body is too large; expected {MOST_BODY_BYTES:,} bytes or less"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_FOREIGN = frozenset({"cross-site", "same-site"})
_EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_POLICY = (
    "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'"
)
_DOCS_POLICY = f"{_POLICY}; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'"
"""The page of the API begins itself by a script of its own text."""
_DOCS = re.compile(r"(/catalogs/[\w.-]+)?/docs")


@dataclass(frozen=True, slots=True)
class Gate:
    """Stands before an application."""

    app: ASGIApp
    token: str | None
    failed: Callable[[Exception], None]
    """Is told of what the application did not expect."""
    _under_way: set[object] = field(default_factory=set, init=False)
    """Calls that are not answered yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            return  # Nothing but HTTP is spoken here.

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _with_policy(scope["path"], message["headers"])}
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        is_open = self._is_open(scope["path"])
        if refused is None and len(self._under_way) >= MOST_CALLS and not is_open:
            refused = _too_many()
        if refused is not None:
            await refused(scope, receive, told)
            return
        call = object()
        self._under_way.add(call)
        try:
            await self.app(scope, _bounded(receive), told)
        except Exception as error:  # noqa: BLE001 - it is answered; one call must not end the others
            self.failed(error)
        finally:
            self._under_way.discard(call)

    def _refused(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host = headers.get("host", "")
        if self.token is None and not is_loopback(_host_name(host)):
            return _forbidden(
                f"host {host!r} is not this machine, which alone may call without a token; call "
                "'127.0.0.1' or 'localhost'"
            )
        if scope["method"] not in _READING:
            origin = headers.get("origin")
            foreign = headers.get("sec-fetch-site") in _FOREIGN
            if foreign or (origin is not None and _netloc(origin) != host):
                return _forbidden("a page of another site calls; expected one of this service")
        if self.token is not None and not self._is_open(scope["path"]):
            shown = _shown_token(headers.get("authorization", ""))
            if not hmac.compare_digest(shown.encode(), self.token.encode()):
                return refusal(
                    401,
                    "UnauthorizedError",
                    "no token, or a wrong one; expected the header 'Authorization: Bearer TOKEN'",
                    **{"www-authenticate": 'Basic realm="arctic", charset="UTF-8"'},
                    connection="close",
                )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MOST_BODY_BYTES:
            return _too_large()
        return None

    def _is_open(self, path: str) -> bool:
        return path in OPEN_PATHS or path.startswith(OPEN_PREFIX)


def _bounded(receive: Receive) -> Receive:
    """Read no more of a body than is taken, whatever its head said."""
    left = MOST_BODY_BYTES

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise HTTPException(413, _TOO_LARGE, {"connection": "close"})
        return message

    return bounded


def _host_name(host: str) -> str:
    """Return a host without its port.

    >>> _host_name("[::1]:80"), _host_name("localhost:80"), _host_name("localhost")
    ('::1', 'localhost', 'localhost')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _netloc(origin: str) -> str | None:
    """Return the host and port of an origin; None: it has none.

    >>> _netloc("http://localhost:80"), _netloc("http://[::1")
    ('localhost:80', None)
    """
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _shown_token(authorization: str) -> str:
    """Return the token of a header: a bearer's, or the password that a browser asked for."""
    scheme, _, rest = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(rest.strip(), validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return ""
        return pair.partition(":")[2]
    return ""


def _with_policy(path: str, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    policy = _DOCS_POLICY if _DOCS.fullmatch(path) else _POLICY
    said = {**_EVERYWHERE, "content-security-policy": policy}
    return [*headers, *((name.encode(), text.encode()) for name, text in said.items())]


def _forbidden(message: str) -> JSONResponse:
    return refusal(403, "ForbiddenError", message, connection="close")


def _too_many() -> JSONResponse:
    message = f"{MOST_CALLS} calls are under way; expected fewer; call again in a second"
    headers = {"retry-after": "1", "connection": "close"}
    return refusal(503, StorageError.__name__, message, **headers)


def _too_large() -> JSONResponse:
    return refusal(413, InvalidInputError.__name__, _TOO_LARGE, connection="close")
