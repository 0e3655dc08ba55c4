"""Calls about one table or many: what is told of them, and what is done to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from arctic import options as opt
from arctic.api.table import with_properties
from arctic.errors import InvalidInputError
from arctic.http.patience.slow_tables import SlowTables
from arctic.http.refusals import Shown
from arctic.http.shown_only import CHANGES_NOTHING
from arctic.iceberg.tables.set_properties import PropertyChange
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.optimize_preview import OptimizePreview, preview_optimize
from arctic.job.upkeep.survey import table_status
from arctic.optimizing.sizing_choices import SizingChoice
from arctic.service.control import ServiceControl
from arctic.service.history.process_record import ProcessRecord
from arctic.service.table_work import IN_ANY_CASE
from arctic.service.watching.table_view import TableView

MOST_ITEMS = 500
TableName = Annotated[
    str,
    Path(
        description="`namespace.table`",
        max_length=500,
        pattern=r"^[^/\\\x00-\x1f]+$",
    ),
]
Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="At most so many.")]


_Text = Annotated[str, Field(max_length=1_000)]
"""Every answer about a table tells its settings again."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OptimizeBody(_Body):
    """Which run is wanted."""

    type: Literal["minor", "major", "full"] | None = None
    """None: what is due in each partition."""


class SettingsBody(_Body):
    """Settings of a table that are to be changed."""

    set: dict[str, _Text] = {}
    unset: list[_Text] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePage:
    """Some tables."""

    total: int
    """That the filter leaves."""
    next: str | None
    """Where the next page begins: give it as `after`; None: this is the last."""
    tables: list[TableView]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """One partition of a table as it is now."""

    partition: str
    health: int
    due: str | None
    reason: str
    base_files: int
    base_bytes: int
    unmerged_files: int
    delete_files: int
    nodes: str
    """How many it is divided into from now on, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPage:
    """How a table is now, its worst partitions first."""

    table: str
    health: int
    due: str | None
    reason: str
    sizing: list[SizingChoice]
    """Settings that no property states, what each was chosen by, and why."""
    total: int
    partitions: list[PartitionLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a table."""

    name: str
    value: str | None
    """None: it is not set, and its default counts."""
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a call did."""

    table: str
    done: str
    settings: list[Setting] = field(default_factory=list)


def table_calls(control: ServiceControl, shown: Shown, slow: SlowTables) -> APIRouter:
    """Return the calls about tables.

    Args:
        control: of the service.
        shown: hides what is not to be seen in a text.
        slow: carries out those that look at a table.
    """
    calls = APIRouter(prefix="/api/v1", tags=["tables"])

    async def changed(name: str, change: PropertyChange, done: str) -> Done:
        properties = await slow.run("change", name, lambda: _change(control, name, change))
        return Done(table=name, done=done, settings=_settings(properties))

    @calls.get("/tables")
    def list_tables(
        group: str | None = None,
        health_below: Annotated[int | None, Query(ge=0, le=101)] = None,
        due: bool | None = None,
        failing: bool | None = None,
        after: Annotated[str, Query(description="`next` of the page before.")] = "",
        limit: Limit = 100,
    ) -> TablePage:
        """List the tables by name, as the last look of the service showed them."""
        found = [
            view
            for view in control.tables()
            if (group is None or view.group == group)
            and (health_below is None or (view.health is not None and view.health < health_below))
            and (due is None or (view.due is not None) == due)
            and (failing is None or fails(view) == failing)
        ]
        page = [view for view in found if view.name > after]
        return TablePage(
            total=len(found),
            next=page[limit - 1].name if len(page) > limit else None,
            tables=[_hidden(view, shown) for view in page[:limit]],
        )

    @calls.get("/tables/{name}")
    async def show_table(name: TableName) -> TableView:
        """Show one table, as the last look of the service showed it."""
        return _hidden(await slow.run("state", name, lambda: control.table(name)), shown)

    @calls.get("/tables/{name}/status")
    async def status(name: TableName, limit: Limit = 100) -> StatusPage:
        """Look at a table now: its health, and what is due in each partition."""
        found = await slow.run("status", name, lambda: table_status(_asked(control, name)))
        return StatusPage(
            table=found.table,
            health=found.score,
            due=None if found.due is None else found.due.value,
            reason=found.reason,
            sizing=list(found.sizing),
            total=len(found.partitions),
            partitions=[
                PartitionLine(
                    partition=each.partition,
                    health=each.health.score,
                    due=None if each.verdict.type is None else each.verdict.type.value,
                    reason=each.verdict.reason,
                    base_files=each.health.base.files,
                    base_bytes=each.health.base.bytes,
                    unmerged_files=each.health.unmerged_files,
                    delete_files=each.health.delete_files,
                    nodes=each.nodes,
                )
                for each in found.worst_first[:limit]
            ],
        )

    @calls.post("/tables/{name}/preview", openapi_extra=CHANGES_NOTHING)
    async def preview(name: TableName, body: OptimizeBody) -> OptimizePreview:
        """Say what a run would do now, and change nothing."""
        asked = _asked(control, name, **IN_ANY_CASE)

        def planned() -> OptimizePreview:
            groups = {each.name: each.slots for each in control.groups()}
            slots = max(1, groups.get(control.table(name).group or "", 0))
            return preview_optimize(asked, type=body.type, parallelism=slots)

        return await slow.run("preview", name, planned)

    @calls.post("/tables/{name}/optimize", status_code=202)
    async def optimize(name: TableName, body: OptimizeBody) -> ProcessRecord:
        """Optimize a table as soon as there is a slot, also one that is paused."""
        return await slow.run("run", name, lambda: control.optimize(name, body.type))

    @calls.post("/tables/{name}/cancel")
    def cancel(name: TableName) -> Done:
        """Cancel the run of a table; it is left alone for ten minutes."""
        return Done(table=name, done=f"cancelled what was {control.cancel(name)}")

    @calls.post("/tables/{name}/look", status_code=202, openapi_extra=CHANGES_NOTHING)
    async def look(name: TableName) -> Done:
        """Let the service look at a table at once."""
        await slow.run("look", name, lambda: control.nudge(name))
        return Done(table=name, done="it is looked at")

    @calls.post("/tables/{name}/pause")
    async def pause(name: TableName) -> Done:
        """Keep every service from optimizing a table by itself; what runs goes on."""
        return await changed(name, _switch("false"), "paused")

    @calls.post("/tables/{name}/resume")
    async def resume(name: TableName) -> Done:
        """Let services optimize a table by themselves again."""
        return await changed(name, _switch("true"), "resumed")

    @calls.get("/tables/{name}/settings")
    async def settings(name: TableName) -> list[Setting]:
        """Show the settings that a table can have."""
        opened = await slow.run("settings", name, _asked(control, name).reference.open)
        return _settings(opened.base.properties)

    @calls.patch("/tables/{name}/settings")
    async def change_settings(name: TableName, body: SettingsBody) -> Done:
        """Set settings of a table, and remove others so that their defaults count."""
        change = PropertyChange(wanted=body.set, removed=tuple(body.unset))
        return await changed(name, change, "changed")

    return calls


def fails(view: TableView) -> bool:
    """Say whether a table cannot be looked at, or the last run of any kind failed."""
    return view.failure is not None or view.failures > 0 or view.last_failures is not None


def _hidden(view: TableView, shown: Shown) -> TableView:
    told = view.last_failures
    return replace(
        view,
        failure=shown.optional(view.failure),
        last_failures=None
        if told is None
        else {kind: shown.text(why) for kind, why in told.items()},
    )


def _asked(control: ServiceControl, name: str, **given: str) -> AskedOptimize:
    return AskedOptimize.of({**control.place, "path": name, **given})


def _switch(text: str) -> PropertyChange:
    return PropertyChange(wanted={opt.OPTIMIZE_ENABLED.name: text})


def _change(control: ServiceControl, name: str, change: PropertyChange) -> Mapping[str, str]:
    known = {each.lower(): each for option in _table_options() for each in option.names}
    for each in (*change.wanted, *change.removed):
        if each.lower() not in known:
            hint = opt.nearest(each, known) or "GET .../settings lists those that are"
            raise InvalidInputError(f"setting {each!r} is none that a call changes; {hint}")
    table = with_properties({**control.place, "path": name}, change)
    control.nudge(name)
    return table.properties


def _settings(properties: Mapping[str, str]) -> list[Setting]:
    given = {name.lower(): text for name, text in properties.items()}
    return [
        Setting(
            name=option.name,
            value=next(
                (given[each.lower()] for each in option.names if each.lower() in given), None
            ),
            doc=option.doc,
        )
        for option in _table_options()
    ]


def _table_options() -> list[opt.Option[object]]:
    return [option for option in opt.OPTIONS if opt.Scope.TABLE in option.scopes]
