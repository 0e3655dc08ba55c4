"""Telling a service of a commit, so that it looks at the table at once.

Rules:
    - Where the service is says the environment of the writer, never a catalog: a token is not sent
      to an address that somebody wrote into a table.
    - A commit neither waits nor fails for it. A service that was not told looks a little later.
"""

from __future__ import annotations

import os
import threading
from urllib.parse import quote, urlsplit

import requests

SERVICE_VARIABLE = "ARCTIC_SERVICE"
"""``http://host:port`` of a service's HTTP face."""
TOKEN_VARIABLE = "ARCTIC_HTTP_TOKEN"
_SECONDS = (1.0, 2.0)
"""To connect, and for the answer."""
_pending: set[str] = set()
_lock = threading.Lock()


def nudge_service(table: str) -> None:
    """Tell the service that the environment names that a table has changed, if there is one."""
    place = os.environ.get(SERVICE_VARIABLE, "").strip().rstrip("/")
    parts = urlsplit(place)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return
    with _lock:
        if table in _pending:
            return  # Who is about to ask asks for this commit as well.
        _pending.add(table)
    threading.Thread(target=_ask, args=(place, table), name="arctic-nudge").start()


def _ask(place: str, table: str) -> None:
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    with _lock:
        _pending.discard(table)
    try:
        requests.post(
            f"{place}/api/v1/tables/{quote(table, safe='')}/look",
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=_SECONDS,
            allow_redirects=False,
        ).close()
    except (requests.RequestException, UnicodeError):
        # It is down or busy: it looks by itself.
        return
