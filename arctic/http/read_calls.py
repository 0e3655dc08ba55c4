"""Calls by which readers tell the service what they read, so that its pages can show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from arctic.errors import NotFoundError
from arctic.http.refusals import Shown
from arctic.http.shown_only import CHANGES_NOTHING
from arctic.http.table_calls import TableName
from arctic.job.nudge import MOST_FILTER
from arctic.scan.read_summary import LeftOut, OpenedKind, ReadSummary
from arctic.service.control import ServiceControl

_MOST_KINDS = 20
_Number = Annotated[int, Field(ge=0, le=2**62)]
_Text = Annotated[str, Field(max_length=100)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OpenedBody(_Body):
    """The files of one kind that a read opens."""

    kind: _Text
    files: _Number
    rows: _Number
    size_bytes: _Number


class LeftOutBody(_Body):
    """Files that a read need not open."""

    files: _Number
    reason: _Text


class ReadBody(_Body):
    """What one read considers, leaves out and opens."""

    row_filter: Annotated[str, Field(max_length=MOST_FILTER)] | None = None
    considered_files: _Number
    opened: Annotated[list[OpenedBody], Field(max_length=_MOST_KINDS)]
    left_out: Annotated[list[LeftOutBody], Field(max_length=_MOST_KINDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRead:
    """The last read of a table that a reader told of."""

    table: str
    at_ms: int
    read: ReadSummary


def read_calls(control: ServiceControl, shown: Shown) -> APIRouter:
    """Return the calls about reads."""
    calls = APIRouter(prefix="/api/v1", tags=["tables"])

    @calls.post("/tables/{name}/reads", status_code=202, openapi_extra=CHANGES_NOTHING)
    async def tell(name: TableName, body: ReadBody) -> dict[str, str]:
        """Tell what a read of a table opens."""
        control.tell_read(
            name,
            ReadSummary(
                row_filter=None if body.row_filter is None else shown.text(body.row_filter),
                considered_files=body.considered_files,
                opened=tuple(OpenedKind(**each.model_dump()) for each in body.opened),
                left_out=tuple(LeftOut(**each.model_dump()) for each in body.left_out),
            ),
        )
        return {"done": "it is shown"}

    @calls.get("/tables/{name}/reads/last")
    def last(name: TableName) -> LastRead:
        """Show the last read of a table that a reader told of."""
        found = control.last_read(name)
        if found is None:
            raise NotFoundError(
                f"table {name!r}: nobody told of a read; readers do where ARCTIC_SERVICE names "
                "this service"
            )
        return LastRead(table=name, at_ms=found.at_ms, read=found.summary)

    return calls
