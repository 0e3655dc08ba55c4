"""What a service that only shows tables refuses.

Rules:
    - A route that changes no table and no service says so itself, also in ``/openapi.json``. Any
      other that is no question is refused, so that one nobody has thought of does no harm.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request

from arctic.errors import UnsupportedError

_MARK = "x-changes-nothing"
CHANGES_NOTHING: dict[str, Any] = {_MARK: True}
"""What such a route has as ``openapi_extra``."""


def refuse_changes(request: Request) -> None:
    """Refuse whatever changes a table or a service.

    Raises:
        UnsupportedError: the call, naming it.
    """
    told = request.scope["route"].openapi_extra or {}
    if request.method in ("GET", "HEAD") or told.get(_MARK):
        return
    call = request.url.path.rpartition("/")[2]
    raise UnsupportedError(
        f"{call}: this service only shows tables; ask one that looks after them: arctic serve"
    )
