from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from arctic.cdc.postgres_types import source_column
from arctic.cdc.source_table import SourceTable, TableColumn
from arctic.job.mirror.mirror_columns import column_step, mirror_columns
from arctic.job.mirror.mirror_state import MirrorState

MIRROR = pa.schema([("id", pa.int64()), ("city", pa.string())])
END = 900


def column(position: int, name: str, *, type_: str = "text", default: bool = False) -> TableColumn:
    """Return a column of the source."""
    return TableColumn(
        position=position,
        name=name,
        type=type_,
        describe=source_column,
        has_missing=default,
    )


ID, CITY = column(1, "id", type_="bigint"), column(2, "city")
SOURCE = SourceTable(
    schema="public",
    name="users",
    oid=7,
    columns=(ID, CITY),
    key=("id",),
    identity="d",
    filenode=70,
    is_current=True,
)
STATE = MirrorState(
    system="s",
    writer="w",
    table="public.users",
    columns=mirror_columns(SOURCE, {1: -1, 2: -1}),
    oid=7,
    filenode=70,
    is_complete=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What became of a source, and what its mirror does."""

    id: str
    source: SourceTable
    add: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    drop: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    copies: bool = False
    replaces: bool = False


AGE = column(3, "age", type_="integer")
CASES = [
    Case(id="nothing", source=SOURCE),
    Case(
        id="a new column without a default is null where it is absent",
        source=replace(SOURCE, columns=(ID, CITY, AGE)),
        add=("age",),
        absent=("age",),
    ),
    Case(
        id="a default filled rows in silence",
        source=replace(SOURCE, columns=(ID, CITY, replace(AGE, has_missing=True))),
        add=("age",),
        copies=True,
    ),
    Case(
        id="a rename keeps the number",
        source=replace(SOURCE, columns=(ID, replace(CITY, name="town"))),
        rename=(("city", "town"),),
    ),
    Case(
        id="a rewrite is copied",
        source=replace(SOURCE, filenode=71, columns=(ID, CITY, AGE)),
        add=("age",),
        copies=True,
    ),
    Case(
        id="a type that does not grow is another column",
        source=replace(SOURCE, columns=(ID, replace(CITY, type="bytea"))),
        add=("city",),
        drop=("city",),
        copies=True,
    ),
    Case(
        id="another table of the name is known by names, and replaces all rows",
        source=replace(SOURCE, oid=8, columns=(replace(ID, position=2), replace(AGE, position=1))),
        add=("age",),
        drop=("city",),
        copies=True,
        replaces=True,
    ),
    Case(
        id="a table that had another name for a while replaces all rows",
        source=replace(SOURCE, named=2),
        copies=True,
        replaces=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_mirror_follows_the_columns_of_its_source(case: Case) -> None:
    """What changes, what is null where no event mentions it, and whether rows are copied."""
    step = column_step(MIRROR, STATE, case.source, log_end=END)

    assert case.add == tuple(step.change.add)
    assert case.rename == tuple(step.change.rename.items())
    assert case.drop == tuple(step.change.drop)
    new = {c.name: c.absent_up_to for c in step.state.columns if c.absent_up_to >= 0}
    assert new == dict.fromkeys(case.absent, END)
    assert step.state.copy_after == (END if case.copies else None)
    assert case.replaces == step.state.copy_replaces
    assert (case.source.oid, case.source.filenode) == (step.state.oid, step.state.filenode)


def test_a_copy_that_is_due_stays_due() -> None:
    """The place of the log is that of the first reason, if nothing new asks for a later one."""
    due = replace(STATE, copy_after=5, copy_replaces=True)

    step = column_step(MIRROR, due, SOURCE, log_end=END)

    assert (step.state.copy_after, step.state.copy_replaces) == (5, True)


def test_a_column_that_mirrors_nothing_stays() -> None:
    """Also where another table takes the place of the source."""
    mirror = MIRROR.append(pa.field("note", pa.string()))
    other = replace(SOURCE, oid=8, columns=(ID,))

    assert column_step(mirror, STATE, SOURCE, log_end=END).change.is_nothing
    assert column_step(mirror, STATE, other, log_end=END).change.drop == ("city",)
