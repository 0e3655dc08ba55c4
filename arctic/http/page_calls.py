"""The pages that a browser shows: drawn by the page, from what the service and the tables tell.

Rules:
    - The overview is what the last look showed, and costs nothing but drawing it. The page of a
      table looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from arctic.errors import ArcticError
from arctic.http.patience.slow_tables import SlowTables
from arctic.http.refusals import Shown, as_told, status_of
from arctic.http.table_calls import TableName
from arctic.job.upkeep.asked_upkeep import AskedExpire, AskedOptimize
from arctic.optimizing.planning.evaluate import strongest
from arctic.page.facts.lake_facts import BrokenTable, GroupSlots, LakeFacts, StateFacts, TableRow
from arctic.page.facts.read_facts import LastRead
from arctic.page.facts.table_facts import Process
from arctic.page.gather.gather_lake import summed_row
from arctic.page.gather.gather_state import gather_state
from arctic.page.gather.gather_table import gather_asked
from arctic.page.pages import failure_page, group_page, overview_page, table_page
from arctic.page.rendered import Frame, shipped
from arctic.service.control import ServiceControl
from arctic.service.history.process_record import ProcessRecord
from arctic.service.scheduling.outlook import NOTHING_DUE
from arctic.service.watching.watch import Watched
from arctic.table.expire_report import ExpireReport

_SHOWN_PROCESSES = 20


def page_calls(
    control: ServiceControl, shown: Shown, frame: Frame, slow: SlowTables, slowest: SlowTables
) -> APIRouter:
    """Return the pages.

    Args:
        control: of the service.
        shown: hides what is not to be seen in a text.
        frame: what is around each page.
        slow: draws the page of a table.
        slowest: draws it where all its files may have to be listed.
    """
    calls = APIRouter(include_in_schema=False)

    @calls.get("/")
    def overview() -> HTMLResponse:
        """Show every table."""

        def drawn() -> str:
            lake = _lake(control, shown)
            at = f"{frame.home}tables/"
            links = {row.name: f"{at}{quote(row.name, safe='')}" for row in lake.tables}
            return overview_page(lake, frame, links=links)

        return _page("The tables", drawn, shown, frame)

    @calls.get("/tables/{name}")
    async def table(
        name: TableName,
        filter: Annotated[str, Query(max_length=10_000)] = "",
        cleaning: bool = False,
    ) -> HTMLResponse:
        """Show one table."""

        def drawn() -> str:
            options = {**control.place, "path": name}
            facts = gather_asked(
                AskedOptimize.of(options),
                row_filter=filter.strip() or None,
                cleaning=AskedExpire.of(options) if cleaning else None,
            )
            records = control.history.processes(table=name, limit=_SHOWN_PROCESSES)
            processes = tuple(_process(each, shown) for each in records)
            report = None if facts.cleaning is None else _without_places(facts.cleaning, shown)
            told = control.last_read(name)
            last = None if told is None else LastRead(at_ms=told.at_ms, summary=told.summary)
            facts = replace(facts, processes=processes, cleaning=report, last_read=last)
            return table_page(facts, frame, given_filter=filter)

        try:
            return HTMLResponse(await (slowest if cleaning else slow).run("page", name, drawn))
        except ArcticError as error:
            return _failure(name, error, shown, frame)

    @calls.get("/groups/{name}")
    def group(name: str) -> HTMLResponse:
        """Show a group and its queue."""
        title = f"The group {name}"
        return _page(
            title, lambda: group_page(control.queue(name), control.now_ms(), frame), shown, frame
        )

    @calls.get("/page.css")
    def style() -> Response:
        """Return the style sheet."""
        return Response(shipped()["page.css"], media_type="text/css")

    @calls.get("/page.js")
    def script() -> Response:
        """Return the script."""
        return Response(shipped()["page.js"], media_type="text/javascript")

    return calls


def _page(title: str, drawn: Callable[[], str], shown: Shown, frame: Frame) -> HTMLResponse:
    try:
        return HTMLResponse(drawn())
    except ArcticError as error:
        return _failure(title, error, shown, frame)


def _failure(title: str, error: ArcticError, shown: Shown, frame: Frame) -> HTMLResponse:
    told = as_told(error)
    text = failure_page(title, shown.text(told.message), frame)
    return HTMLResponse(text, status_code=status_of(told))


def _lake(control: ServiceControl, shown: Shown) -> LakeFacts:
    now_ms = control.now_ms()
    views = {view.name: view for view in control.tables()}
    told = {
        name: shown.text(view.failure) for name, view in views.items() if view.failure is not None
    }
    states = {
        name: gather_state(view, shown=shown.text, now_ms=now_ms) for name, view in views.items()
    }
    return LakeFacts(
        place=f"the catalog that {control.owner} looks after",
        at_ms=control.looked_ms or now_ms,
        tables=tuple(
            _row(seen, states[seen.name], now_ms)
            for seen in control.seen
            if seen.name in states and seen.name not in told
        ),
        broken=tuple(BrokenTable(name=name, why=why) for name, why in sorted(told.items())),
        slots=tuple(
            GroupSlots(
                name=each.name,
                slots=each.slots,
                busy=each.busy_slots,
                waiting=each.pending,
                longest_wait_ms=each.longest_wait_ms,
                stretched=each.stretched,
            )
            for each in control.groups()
        ),
    )


def _row(seen: Watched, state: StateFacts, now_ms: int) -> TableRow:
    """Sum up what the last look showed of a table."""
    verdicts = [] if seen.look is None else list(seen.look.verdicts(now_ms))
    outlook = NOTHING_DUE if seen.look is None else seen.look.outlook(now_ms, with_full=True)
    due = strongest(verdict for _, verdict in verdicts)
    reasons = [str(verdict) for _, verdict in verdicts if verdict.type is due]
    nothing = "the table is empty" if seen.look is not None else "this service does not optimize it"
    return summed_row(
        seen.name,
        [health for health, _ in verdicts],
        outlook,
        score=None if seen.look is None else seen.look.health,
        due=due,
        reason=reasons[0] if reasons else nothing,
        group=seen.wishes.group,
        state=state,
    )


def _without_places(report: ExpireReport, shown: Shown) -> ExpireReport:
    """Name files without their folders."""
    return replace(
        report,
        items=tuple(replace(each, name=each.name.rpartition("/")[2]) for each in report.items),
        notes=tuple(map(shown.text, report.notes)),
    )


def _process(record: ProcessRecord, shown: Shown) -> Process:
    return Process(
        at_ms=record.asked_ms,
        kind=record.kind,
        type=record.type or "",
        status=record.status.value,
        files_before=record.files_before,
        files_after=record.files_after,
        predicted_seconds=_seconds(record.predicted_ms),
        seconds=_seconds(record.slot_ms),
        why=shown.text(record.failure or record.reason or ""),
    )


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000
