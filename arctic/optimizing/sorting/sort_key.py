"""The columns that rows are sorted by in one task, those included that are made for it.

Several columns that count alike become one number of each row. How its curve divides them follows
from rows of the task itself: some of each of its files.

Memory: ``_MOST_SEEN`` values of each such column, while the curve is made.

Must not know: deletes, what becomes of the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from arctic.columns.curves import Curve
from arctic.mor.task_reader import LoadedTask
from arctic.options.sort_terms import SortTerm
from arctic.scan.task import FileTask

_MOST_SEEN = 1 << 18
_MOST_GROUPS = 64
"""Row groups that are looked at: more would be read twice for nothing."""
_PREFIX = "_arctic_curve_"
"""Of columns that are made; numbers follow that make no name of the table's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """What rows are sorted by."""

    columns: tuple[str, ...]
    """Of rows with the columns that are made."""
    curves: Mapping[str, tuple[tuple[str, ...], Curve]] = field(default_factory=dict)
    """Column that is made -> those it is made of."""

    def added(self, rows: pa.Table) -> pa.Table:
        """Return rows with the columns that are made."""
        for name, (sources, curve) in self.curves.items():
            numbers = curve.values([rows.column(source) for source in sources])
            rows = rows.append_column(name, numbers)
        return rows

    def removed(self, rows: pa.Table) -> pa.Table:
        """Return rows without them."""
        return rows.drop_columns(list(self.curves)) if self.curves else rows


def sort_key(
    loaded: LoadedTask, files: Sequence[FileTask], terms: Sequence[SortTerm], schema: pa.Schema
) -> SortKey:
    """Return what the rows of some files are sorted by.

    Args:
        loaded: the task; its request has all columns of the terms.
        files: data files of the task.
        terms: most significant first.
        schema: of the rows.
    """
    columns: list[str] = []
    curves: dict[str, tuple[tuple[str, ...], Curve]] = {}
    joined = [name for term in terms if term.curve for name in term]  # No column is in two.
    free = (f"{_PREFIX}{number}" for number in itertools.count())
    seen = _seen(loaded, files, [schema.field(name) for name in joined]) if joined else None
    for term in terms:
        names = term.columns
        if term.curve is not None and seen is not None:
            made = next(name for name in free if name not in schema.names)
            curve = Curve.of([seen.column(name) for name in names], kind=term.curve)
            curves[made] = (names, curve)
            names = (made,)
        columns += names
    return SortKey(columns=tuple(columns), curves=curves)


def _seen(loaded: LoadedTask, files: Sequence[FileTask], fields: Sequence[pa.Field]) -> pa.Table:
    """Return some rows of row groups that are spread evenly over the files, as they are stored.

    Which of them are deleted, or folded to others, does not matter to how their values spread.
    """
    schema = pa.schema(fields)
    groups = []
    for file_task in files:
        with loaded.open_stored(file_task) as data:
            groups += [(file_task, group) for group in data.row_groups]
    step = -(-len(groups) // _MOST_GROUPS) or 1
    chosen = groups[::step]
    parts = [schema.empty_table()]
    for file_task, group in chosen:
        with loaded.open_stored(file_task) as data:
            rows = pa.Table.from_batches(list(data.every_row(fields, [group])), schema=schema)
        stride = -(-rows.num_rows * len(chosen) // _MOST_SEEN) or 1
        parts.append(rows.take(pa.array(range(0, rows.num_rows, stride), pa.int64())))
    return pa.concat_tables(parts)
