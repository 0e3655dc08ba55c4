"""Telling a service of a commit, so that it looks at the table at once, and of a read.

Rules:
    - Where the service is says the environment of the writer, never a catalog: a token is not sent
      to an address that somebody wrote into a table.
    - Nothing waits or fails for it. A service that was not told of a commit looks a little later.
    - Of one table one call at a time waits to be sent, with what is newest; reads are told of once
      a second at most.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import asdict
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from arctic.scan.plan_scan import ScanPlan
from arctic.scan.read_summary import summed_up

SERVICE_VARIABLE = "ARCTIC_SERVICE"
"""``http://host:port`` of a service's HTTP face."""
TOKEN_VARIABLE = "ARCTIC_HTTP_TOKEN"
MOST_FILTER = 1_000
"""Characters of a filter that are told."""
_SECONDS = (1.0, 2.0)
"""To connect, and for the answer."""
_READ_SECONDS = 1.0
_MOST_READ = 1_000
"""Tables whose last telling is known."""
_pending: dict[str, Any] = {}
"""Call -> its body."""
_read_at: dict[str, float] = {}
_lock = threading.Lock()


def nudge_service(table: str) -> None:
    """Tell the service that the environment names that a table has changed, if there is one."""
    place = _service()
    if place is not None:
        _tell(place, _call(table, "look"), None)


def tell_read(plan: ScanPlan | None) -> None:
    """Tell the service that the environment names what a read opens, if there is one.

    Args:
        plan: of the read; None: one that opens no data.
    """
    place = _service()
    if place is None or plan is None:
        return
    now = time.monotonic()
    with _lock:
        if now - _read_at.get(plan.table_name, now - _READ_SECONDS) < _READ_SECONDS:
            return
        if len(_read_at) >= _MOST_READ:
            _read_at.clear()
        _read_at[plan.table_name] = now
    told = asdict(summed_up(plan))
    if told["row_filter"] is not None:
        told["row_filter"] = told["row_filter"][:MOST_FILTER]
    _tell(place, _call(plan.table_name, "reads"), told)


def _service() -> str | None:
    place = os.environ.get(SERVICE_VARIABLE, "").strip().rstrip("/")
    parts = urlsplit(place)
    return place if parts.scheme in ("http", "https") and parts.hostname else None


def _call(table: str, what: str) -> str:
    return f"/api/v1/tables/{quote(table, safe='')}/{what}"


def _tell(place: str, call: str, body: Any) -> None:
    with _lock:
        is_pending = call in _pending
        _pending[call] = body
    if is_pending:
        return  # Who is about to ask asks for this as well.
    try:
        threading.Thread(target=_ask, args=(place, call), name="arctic-nudge").start()
    except RuntimeError:  # the process is ending, or may have no more threads
        with _lock:
            _pending.pop(call, None)


def _ask(place: str, call: str) -> None:
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    with _lock:
        body = _pending.pop(call)
    try:
        requests.post(
            f"{place}{call}",
            json=body,
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=_SECONDS,
            allow_redirects=False,
        ).close()
    except (requests.RequestException, UnicodeError):
        # It is down or busy: it looks by itself.
        return
