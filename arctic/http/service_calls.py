"""Calls about the service itself: its processes, its groups, whether it lives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel, ConfigDict, Field

from arctic.http.refusals import Shown
from arctic.http.shown_only import CHANGES_NOTHING
from arctic.http.table_calls import Limit
from arctic.service.control import MOST_SLOTS, ServiceControl
from arctic.service.history.process_record import ProcessRecord, ProcessStatus, TaskRecord
from arctic.service.watching.group_view import GroupQueue, GroupView

_Id = Annotated[int, Path(ge=1, le=2**62)]


class GroupBody(BaseModel):
    """What a group is to be."""

    model_config = ConfigDict(extra="forbid", strict=True)
    slots: Annotated[int, Field(ge=0, le=MOST_SLOTS)]
    """0: nothing is begun any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPage:
    """Some processes, newest first."""

    next: int | None
    """Where the next page begins: give it as `before`; None: this is the last."""
    processes: list[ProcessRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDetail:
    """One process with the tries of its tasks."""

    process: ProcessRecord
    tasks: list[TaskRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """The service as a whole."""

    owner: str
    looked_ms: int | None
    """When it last looked at the whole catalog."""
    tables: int
    groups: list[GroupView]


def service_calls(control: ServiceControl, shown: Shown) -> APIRouter:
    """Return the calls about the service."""
    calls = APIRouter(prefix="/api/v1", tags=["service"])

    @calls.get("/service")
    def show_service() -> ServiceView:
        """Show the service."""
        return ServiceView(
            owner=control.owner,
            looked_ms=control.looked_ms,
            tables=len(control.tables()),
            groups=control.groups(),
        )

    @calls.get("/processes")
    def list_processes(
        table: str | None = None,
        status: ProcessStatus | None = None,
        before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
        limit: Limit = 100,
    ) -> ProcessPage:
        """List what the service did and does, newest first."""
        found = control.history.processes(
            table=table, status=status, before=before, limit=limit + 1
        )
        page = [_hidden(each, shown) for each in found[:limit]]
        return ProcessPage(next=page[-1].id if len(found) > limit else None, processes=page)

    @calls.get("/processes/{process_id}")
    def show_process(process_id: _Id) -> ProcessDetail:
        """Show one process, and what became of each of its tasks."""
        record = control.process(process_id)
        return ProcessDetail(
            process=_hidden(record, shown),
            tasks=[
                replace(each, failure=shown.optional(each.failure))
                for each in control.history.tasks(process_id)
            ],
        )

    @calls.get("/groups")
    def list_groups() -> list[GroupView]:
        """List the groups of the service."""
        return control.groups()

    @calls.get("/groups/{name}")
    def show_group(name: str) -> GroupQueue:
        """Show a group: who is at work in it, and who waits, in the order of their turns."""
        return control.queue(name)

    @calls.patch("/groups/{name}")
    def scale(name: str, body: GroupBody) -> GroupView:
        """Give a group more slots or fewer; what runs is not cut off."""
        return control.scale(name, body.slots)

    @calls.post("/look", status_code=202, openapi_extra=CHANGES_NOTHING)
    def look() -> dict[str, str]:
        """Let the service look at every table at once."""
        control.nudge()
        return {"done": "every table is looked at"}

    return calls


def life_calls(control: ServiceControl, registry: CollectorRegistry, ready_ms: int) -> APIRouter:
    """Return the calls by which others see whether the service lives.

    Args:
        control: of the service.
        registry: what is measured.
        ready_ms: how old the last look at the catalog may be.
    """
    calls = APIRouter(tags=["life"])

    # Not in a thread: calls that wait for the catalog may have them all.
    @calls.get("/health")
    async def health() -> JSONResponse:
        """Say whether the service is at work, and no look at the catalog is stuck."""
        return _life(bad_life(control, None))

    @calls.get("/ready")
    async def ready() -> JSONResponse:
        """Say whether it has seen the catalog, and lately."""
        return _life(bad_life(control, ready_ms))

    @calls.get("/metrics")
    async def metrics() -> Response:
        """Tell Prometheus what there is."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return calls


def bad_life(control: ServiceControl, ready_ms: int | None) -> str | None:
    """Say why a service is not at work, or not ready; None: it is.

    Args:
        control: of the service.
        ready_ms: how old the last look at the catalog may be; None: as old as it is.
    """
    if not control.goes_on:
        return "it stops"
    looked_ms = control.looked_ms
    is_fresh = looked_ms is not None and control.now_ms() - looked_ms <= (ready_ms or 0)
    late = None if ready_ms is None or is_fresh else "it has not seen the catalog lately"
    return control.stuck or late


def _life(bad: str | None) -> JSONResponse:
    return JSONResponse({"status": bad or "ok"}, status_code=200 if bad is None else 503)


def _hidden(record: ProcessRecord, shown: Shown) -> ProcessRecord:
    return replace(
        record, failure=shown.optional(record.failure), reason=shown.optional(record.reason)
    )
