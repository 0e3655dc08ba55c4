"""Calls about cleaning: what would go, and that it goes."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from arctic.http.patience.slow_tables import SlowTables
from arctic.http.refusals import Shown
from arctic.http.table_calls import MOST_ITEMS, TableName
from arctic.job.upkeep.asked_upkeep import AskedExpire
from arctic.job.upkeep.expire_job import expire_table
from arctic.service.control import ServiceControl
from arctic.service.history.process_record import ProcessRecord
from arctic.table.expire_report import ExpireReport


class CleaningBody(BaseModel):
    """Which cleaning is wanted."""

    model_config = ConfigDict(extra="forbid", strict=True)
    dry_run: bool = False
    """Only say what would go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningLine:
    """One file or snapshot that would go."""

    store: str
    kind: str
    name: str
    """Of a file without its folder."""
    bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningPreview:
    """What a cleaning would remove; nothing was changed."""

    table: str
    counts: dict[str, int]
    freed_bytes: int
    notes: list[str]
    items: list[CleaningLine]
    """The first of them."""


def cleaning_calls(
    control: ServiceControl, shown: Shown, slow: SlowTables, slowest: SlowTables
) -> APIRouter:
    """Return the calls about cleaning.

    Args:
        control: of the service.
        shown: hides what is not to be seen in a text.
        slow: carries out those that look at a table.
        slowest: carries out those that may list all its files.
    """
    calls = APIRouter(prefix="/api/v1", tags=["tables"])

    @calls.post("/tables/{name}/clean", status_code=202)
    async def clean(
        name: TableName, body: CleaningBody, answer: Response
    ) -> ProcessRecord | CleaningPreview:
        """Clean a table as soon as no other is cleaned, or say what would go.

        A table with `table-expire.enabled` = `false` is cleaned as well: it was asked for.
        """
        if not body.dry_run:
            return await slow.run("cleaning", name, lambda: control.clean(name))
        answer.status_code = 200
        asked = AskedExpire.of({**control.place, "path": name})
        report = await slowest.run(
            "cleaning",
            name,
            lambda: expire_table(asked, dry_run=True, now_ms=control.now_ms()),
        )
        return _preview(report, shown)

    return calls


def _preview(report: ExpireReport, shown: Shown) -> CleaningPreview:
    return CleaningPreview(
        table=report.table,
        counts={kind.value: count for kind, count in report.counts.items()},
        freed_bytes=report.freed_bytes,
        notes=[shown.text(note) for note in report.notes],
        items=[
            CleaningLine(
                store=each.store,
                kind=each.kind.value,
                name=each.name.rpartition("/")[2],
                bytes=each.size_bytes,
                reason=shown.text(each.reason),
            )
            for each in report.items[:MOST_ITEMS]
        ],
    )
