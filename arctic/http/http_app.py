"""The application: every call and page, behind the gate."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Depends
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from starlette.types import ASGIApp

from arctic.http.cleaning_calls import cleaning_calls
from arctic.http.gate import OPEN_PREFIX, Gate
from arctic.http.metrics import registry_of
from arctic.http.page_calls import page_calls
from arctic.http.patience.slow_tables import LONG_SECONDS, SECONDS, SlowTables
from arctic.http.read_calls import read_calls
from arctic.http.refusals import Shown, answers
from arctic.http.service_calls import life_calls, service_calls
from arctic.http.shown_only import refuse_changes
from arctic.http.table_calls import table_calls
from arctic.page.rendered import Frame
from arctic.service.control import ServiceControl
from arctic.service.event_counts import EventCounts

_UNMEASURED = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""Nothing is told to collectors that variables of the process may name."""


def http_app(
    control: ServiceControl,
    *,
    counts: EventCounts,
    token: str | None,
    ready_ms: int,
    failed: Callable[[Exception], None],
) -> ASGIApp:
    """Return the application.

    Args:
        control: of the service.
        counts: of what it said.
        token: that callers must show; None: whoever is at this machine may call.
        ready_ms: how old the last look at the catalog may be.
        failed: is told of what was not expected.
    """
    frame = Frame(home="/", is_served=True, is_read_only=not control.executors)
    return Gate(service_app(control, counts=counts, ready_ms=ready_ms, frame=frame), token, failed)


def service_app(
    control: ServiceControl, *, counts: EventCounts, ready_ms: int, frame: Frame
) -> ASGIApp:
    """Return the calls and pages of a service, to stand behind the gate.

    Args:
        control: of the service.
        counts: of what it said.
        ready_ms: how old the last look at the catalog may be.
        frame: what is around its pages.
    """
    shown = Shown.of(control.place)
    # Nothing of its page is loaded from elsewhere: the package brings the scripts.
    app = FastAPIOffline(
        title="Arctic service",
        description="What `arctic serve` sees, does and can be told to do.",
        docs_url="/docs",
        redoc_url=None,
        static_url=OPEN_PREFIX.rstrip("/"),
        swagger_ui_parameters={"validatorUrl": None},
        exception_handlers=answers(shown),
        telemetry=_UNMEASURED,
    )
    # So that the page of the API asks for the token; the gate is what checks it.
    asks = [Depends(HTTPBearer(auto_error=False))]
    if not control.executors:
        asks.append(Depends(refuse_changes))
    slow, slowest = SlowTables(SECONDS), SlowTables(LONG_SECONDS)
    app.include_router(table_calls(control, shown, slow), dependencies=asks)
    app.include_router(cleaning_calls(control, shown, slow, slowest), dependencies=asks)
    app.include_router(read_calls(control, shown), dependencies=asks)
    app.include_router(service_calls(control, shown), dependencies=asks)
    app.include_router(life_calls(control, registry_of(control, counts), ready_ms))
    app.include_router(page_calls(control, shown, frame, slow, slowest))
    return app
