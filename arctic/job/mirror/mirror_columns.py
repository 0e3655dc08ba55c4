"""How the columns of a mirror follow those of its source, and when its rows are to be copied again.

Rules:
    - Columns are known by the source's number of them, so a rename is a rename, but of a key column
      it stops the mirror. In another table of the same name the numbers mean other columns: there
      they are known by their names.
    - A column that is new has null in each earlier row that does not mention it, unless the source
      filled its rows in silence: by a default, or because it was rewritten. Then all rows are
      copied. A later row that does not mention it says that it stayed as it was.
    - Of a table that is gone no log has deletes, so the copy of another one replaces all rows, as
      it does where a table had another name for a while: under that one nobody followed it.
    - What mirrors nothing was added by whoever uses the table, and stays.

Must not know: catalogs, the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic.cdc.evolution import ColumnChange, change_by_number
from arctic.cdc.source_table import SourceTable
from arctic.job.mirror.mirror_state import MirrorColumn, MirrorState


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStep:
    """What brings a mirror in step with its source, in one commit."""

    change: ColumnChange
    state: MirrorState


def column_step(
    mirror: pa.Schema, state: MirrorState, source: SourceTable, *, log_end: int
) -> ColumnStep:
    """Return how a mirror follows its source.

    Args:
        mirror: its columns now.
        state: what it remembers of its source.
        source: as it is now.
        log_end: a place of the log that was reached after ``source`` was looked at.
    """
    is_other = source.oid != state.oid
    is_rewritten = is_other or source.filenode != state.filenode
    known = _by_name(state, source) if is_other else _by_number(state)
    change = change_by_number(mirror, known, [column.source_column for column in source.columns])
    begun_anew = {c.position for c in source.columns if is_other or c.name in change.add}
    silent = {c.position for c in source.columns if c.has_missing or c.position in known}
    before = {column.position: column.absent_up_to for column in state.columns}
    absent_up_to = {
        column.position: (
            (-1 if is_rewritten or column.position in silent else log_end)
            if column.position in begun_anew
            else before[column.position]
        )
        for column in source.columns
    }
    lacks_values = any(
        column.name in change.add and absent_up_to[column.position] < 0 for column in source.columns
    )
    must_replace = is_other or source.named != state.named
    must_copy = is_rewritten or lacks_values or must_replace
    return ColumnStep(
        change=change,
        state=replace(
            state,
            columns=mirror_columns(source, absent_up_to),
            oid=source.oid,
            filenode=source.filenode,
            named=source.named,
            copy_after=log_end if must_copy else state.copy_after,
            copy_replaces=must_replace or state.copy_replaces,
        ).beyond(source.place),
    )


def mirror_columns(
    source: SourceTable, absent_up_to: Mapping[int, int]
) -> tuple[MirrorColumn, ...]:
    """Return what a mirror remembers of the columns of its source.

    Args:
        source: as it is now.
        absent_up_to: number of each column -> ``MirrorColumn.absent_up_to``.
    """
    return tuple(
        MirrorColumn(
            position=column.position,
            name=column.name,
            type=column.type,
            absent_up_to=absent_up_to[column.position],
        )
        for column in source.columns
    )


def _by_number(state: MirrorState) -> dict[int, str]:
    return {column.position: column.name for column in state.columns}


def _by_name(state: MirrorState, source: SourceTable) -> dict[int, str]:
    """Return columns by the numbers of another source; what it has not gets numbers of none."""
    names = {column.name for column in state.columns}
    known = {c.position: c.name for c in source.columns if c.name in names}
    gone = sorted(names.difference(known.values()))
    return known | {-number: name for number, name in enumerate(gone, start=1)}
