"""The application of a service with several catalogs: each under its name, and what is of all.

Rules:
    - A table is addressed by its catalog first, ``/catalogs/prod/api/v1/tables/shop.users``: below
      the name of a catalog stands all that a service of this catalog alone has.
    - The process is alive, and ready, while it is so for one of the catalogs: to restart it for one
      that is away would stop the others. Each catalog answers the same questions for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from arctic.errors import NotFoundError, StorageError
from arctic.http.http_app import service_app
from arctic.http.metrics import ProcessCollector, ServiceCollector
from arctic.http.refusals import Shown, answers, refusal
from arctic.http.service_calls import bad_life
from arctic.http.table_calls import fails
from arctic.page.facts.lake_facts import CatalogRow
from arctic.page.pages import catalogs_page
from arctic.page.rendered import Frame, shipped
from arctic.service.control import ServiceControl
from arctic.service.event_counts import EventCounts

_AWAY = "it could not be opened yet; it is tried again"
_FRAME = Frame(home="", is_served=True, above="/")


@dataclass(frozen=True, slots=True)
class _Catalog:
    control: ServiceControl
    app: ASGIApp
    measured: ServiceCollector


class CatalogsApp:
    """What stands behind the gate."""

    def __init__(self, names: Sequence[str], ready_ms: int) -> None:
        """Begin without any.

        Args:
            names: of all catalogs, those that are away among them.
            ready_ms: how old the last look at a catalog may be.
        """
        self._names = sorted(names)
        self._ready_ms = ready_ms
        self._there: dict[str, _Catalog] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_OfAll(self._there))
        self._registry.register(ProcessCollector())
        self._app = Starlette(
            routes=[
                Route("/", self._overview),
                Route("/page.css", _shipped("page.css", "text/css")),
                Route("/page.js", _shipped("page.js", "text/javascript")),
                Route("/health", self._health),
                Route("/ready", self._ready),
                Route("/metrics", self._metrics),
                Route("/api/v1/catalogs", self._catalogs),
                Mount("/catalogs/{catalog}", self._of_one),
            ],
            exception_handlers=answers(Shown()),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call."""
        await self._app(scope, receive, send)

    @contextmanager
    def joined(self, name: str, control: ServiceControl, counts: EventCounts) -> Iterator[None]:
        """Answer calls about a catalog until the block is left."""
        frame = Frame(home=f"/catalogs/{name}/", is_served=True, above="/")
        app = service_app(control, counts=counts, ready_ms=self._ready_ms, frame=frame)
        self._there[name] = _Catalog(control, app, ServiceCollector(control, counts))
        try:
            yield
        finally:
            del self._there[name]

    async def _of_one(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path_params"]["catalog"]
        there = self._there.get(name)
        answer: ASGIApp
        if there is not None:
            answer = there.app
        elif name in self._names:
            answer = refusal(503, StorageError.__name__, f"catalog {name!r}: {_AWAY}")
        else:
            known = ", ".join(self._names)
            answer = refusal(
                404, NotFoundError.__name__, f"catalog {name!r}: this service has {known}"
            )
        await answer(scope, receive, send)

    def _rows(self) -> list[CatalogRow]:
        rows = []
        for name in self._names:
            there = self._there.get(name)
            views = [] if there is None else there.control.tables()
            rows.append(
                CatalogRow(
                    name=name,
                    bad=_AWAY if there is None else bad_life(there.control, self._ready_ms),
                    tables=len(views),
                    due=sum(view.due is not None for view in views),
                    failing=sum(fails(view) for view in views),
                    looked_ms=None if there is None else there.control.looked_ms,
                )
            )
        return rows

    def _overview(self, _request: Request) -> Response:
        return HTMLResponse(catalogs_page(self._rows(), _FRAME))

    def _catalogs(self, _request: Request) -> Response:
        return JSONResponse(
            [
                {
                    "name": row.name,
                    "status": row.bad or "ok",
                    "tables": row.tables,
                    "due": row.due,
                    "failing": row.failing,
                    "looked_ms": row.looked_ms,
                }
                for row in self._rows()
            ]
        )

    # Not in threads: calls that wait for a catalog may have them all.
    async def _health(self, _request: Request) -> Response:
        return self._life(None)

    async def _ready(self, _request: Request) -> Response:
        return self._life(self._ready_ms)

    async def _metrics(self, _request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

    def _life(self, ready_ms: int | None) -> JSONResponse:
        said = dict.fromkeys(self._names, _AWAY)
        for name, there in list(self._there.items()):
            said[name] = bad_life(there.control, ready_ms) or "ok"
        is_good = "ok" in said.values()
        status = "ok" if is_good else "none of the catalogs is looked after"
        return JSONResponse(
            {"status": status, "catalogs": said}, status_code=200 if is_good else 503
        )


class _OfAll(Collector):
    """The metrics of every catalog, each with its name."""

    def __init__(self, there: dict[str, _Catalog]) -> None:
        self._there = there

    def describe(self) -> Iterator[Metric]:
        """Ask for nothing when it is registered."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        """Return everything that is measured of any."""
        families: dict[str, Metric] = {}
        for name, there in sorted(self._there.items()):
            for found in there.measured.collect():
                family = families.setdefault(
                    found.name, Metric(found.name, found.documentation, found.type)
                )
                family.samples += [
                    each._replace(labels={"catalog": name, **each.labels}) for each in found.samples
                ]
        yield from families.values()


def _shipped(name: str, media_type: str) -> Callable[[Request], Response]:
    def send(_request: Request) -> Response:
        return Response(shipped()[name], media_type=media_type)

    return send
