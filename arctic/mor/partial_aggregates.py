"""Aggregates of the rows that one task reads: a row for each group, or several, which add up.

Strategy: each batch is grouped as it comes. The groups of many batches are grouped again once there
are twice as many as after the last time, so each is added up a few times, however many there are.

Rules:
    - A group may come out several times, in any order. Added up, its rows give what all rows that
      came in give.
    - A sum is exact, or is not made: one that might not fit its type comes out in parts that do.
      Sums of floating-point numbers depend on the order of the rows, as everywhere.
    - Without keys there is always one group, also of no rows.

Memory: a batch, and two copies of twice ``MOST_GROUPS`` groups or ``MOST_BYTES``, what is less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.mor.batch import BATCH_BYTES, joined, make_batch
from arctic.scan.aggregate import AggregateKind

MOST_GROUPS = 100_000
"""Above it what there is comes out, and the next groups begin anew."""
MOST_BYTES = BATCH_BYTES
"""Of them, likewise: keys and extremes may be texts of any length."""
_FEW_GROUPS = 16_384
"""Fewer are not worth grouping again."""
_FEW_BYTES = MOST_BYTES // 4
"""Nor are these."""
_MOST_INTEGER = 2**63 - 1
_MOST_DIGITS = 76
_ADDED_UP = {
    AggregateKind.COUNT_ROWS: AggregateKind.SUM,
    AggregateKind.COUNT: AggregateKind.SUM,
    AggregateKind.SUM: AggregateKind.SUM,
    AggregateKind.MIN: AggregateKind.MIN,
    AggregateKind.MAX: AggregateKind.MAX,
}
"""What makes one aggregate of several parts of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAggregate:
    """What is made of one column of the rows of a group."""

    kind: AggregateKind
    column: str | None
    """None for a count of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialGroups:
    """What is made of the rows of a task; pickles."""

    keys: tuple[str, ...]
    """Columns whose equal values, nulls too, make a group; none: all rows are one."""
    aggregates: tuple[PartialAggregate, ...]
    schema: pa.Schema
    """Exactly what every batch has: the keys, then the aggregates. A sum of whole numbers is an
    int64; one of decimals has the type of its column."""

    def of(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the groups of some rows.

        Args:
            rows: batches that have the columns, in any number.
        """
        parts = _Parts(self)
        for batch in rows:
            if batch.num_rows:
                yield from parts.add(self._first(batch))
        yield from parts.rest()
        if not self.keys and not parts.any_came:
            yield self._grouped(self._nothing(), [each.kind for each in self.aggregates])

    def _first(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the groups of a batch; each row for itself where a sum might not fit."""
        columns = [batch.column(name) for name in self.keys]
        # Where no column is looked at, any value stands for a row.
        columns += [
            pa.nulls(len(batch)) if each.column is None else batch.column(each.column)
            for each in self.aggregates
        ]
        kinds = [each.kind for each in self.aggregates]
        if self._fit(columns, kinds, len(batch)):
            return self._grouped(columns, kinds, len(batch))
        return self._single(columns, len(batch))

    def added_up(self, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
        """Return one batch with each group of some batches once; None: a sum might not fit."""
        whole = joined(parts)
        kinds = [_ADDED_UP[each.kind] for each in self.aggregates]
        if not self._fit(whole.columns, kinds, whole.num_rows):
            return None
        return self._grouped(whole.columns, kinds, whole.num_rows)

    def _fit(self, columns: Sequence[pa.Array], kinds: Sequence[AggregateKind], rows: int) -> bool:
        """Say whether any sum of any of the rows is a value of its type."""
        own = columns[len(self.keys) :]
        types = self.schema.types[len(self.keys) :]
        return all(
            kind is not AggregateKind.SUM or _sums_fit(column, wanted, rows)
            for column, kind, wanted in zip(own, kinds, types, strict=True)
        )

    def _grouped(
        self, columns: Sequence[pa.Array], kinds: Sequence[AggregateKind], rows: int = 0
    ) -> pa.RecordBatch:
        if not self.keys:
            made = [
                _of_all(column, kind, rows) for column, kind in zip(columns, kinds, strict=True)
            ]
            # Not by way of Python, whose dates end with the year 9999.
            return self._batch([pa.repeat(each, 1) for each in made])
        names = [f"c{place}" for place in range(len(columns))]
        table = pa.table(list(columns), names=names)
        first = len(self.keys)
        asked = [_of_groups(name, kind) for name, kind in zip(names[first:], kinds, strict=True)]
        found = table.group_by(names[:first], use_threads=False).aggregate(asked)
        wanted = [
            *names[:first],
            *(_named(name, kind) for name, kind in zip(names[first:], kinds, strict=True)),
        ]
        return self._batch([found.column(name).combine_chunks() for name in wanted])

    def _single(self, columns: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
        first = len(self.keys)
        counted = [
            column
            if each.kind not in (AggregateKind.COUNT, AggregateKind.COUNT_ROWS)
            else pa.repeat(1, rows)
            if each.column is None
            else column.is_valid().cast(pa.int64())
            for column, each in zip(columns[first:], self.aggregates, strict=True)
        ]
        return self._batch([*columns[:first], *counted])

    def _batch(self, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
        cast = [array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)]
        return make_batch(cast, self.schema, len(cast[0]))

    def _nothing(self) -> list[pa.Array]:
        return [pa.array([], field.type) for field in self.schema]


class _Parts:
    """Groups that wait to be added up."""

    def __init__(self, wanted: PartialGroups) -> None:
        self._wanted = wanted
        self._waiting: list[pa.RecordBatch] = []
        self._rows, self._bytes = 0, 0
        self._grouped_rows, self._grouped_bytes = 0, 0
        """Of those, in the first batch, which has each group once."""
        self.any_came = False

    def add(self, part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take groups, and yield what there is no room for."""
        self.any_came = True
        self._waiting.append(part)
        self._rows += part.num_rows
        self._bytes += part.nbytes
        are_many = self._rows > max(_FEW_GROUPS, 2 * self._grouped_rows)
        if are_many or self._bytes > max(_FEW_BYTES, 2 * self._grouped_bytes):
            yield from self._together()
            if self._grouped_rows > MOST_GROUPS or self._grouped_bytes > MOST_BYTES:
                yield from self._let_go()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield all that is left."""
        if self._waiting:
            yield from self._together()
            yield from self._let_go()

    def _together(self) -> Iterator[pa.RecordBatch]:
        one = self._waiting[0] if len(self._waiting) == 1 else self._wanted.added_up(self._waiting)
        if one is None:
            yield from self._let_go()
            return
        self._waiting = [one]
        self._rows = self._grouped_rows = one.num_rows
        self._bytes = self._grouped_bytes = one.nbytes

    def _let_go(self) -> Iterator[pa.RecordBatch]:
        waiting, self._waiting = self._waiting, []
        self._rows = self._grouped_rows = self._bytes = self._grouped_bytes = 0
        yield from waiting


def _of_groups(name: str, kind: AggregateKind) -> tuple[Any, str, Any]:
    if kind is AggregateKind.COUNT_ROWS:
        return name, "count", pc.CountOptions(mode="all")
    if kind is AggregateKind.COUNT:
        return name, "count", pc.CountOptions(mode="only_valid")
    return name, kind.value, pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)


def _named(name: str, kind: AggregateKind) -> str:
    return f"{name}_{'count' if kind is AggregateKind.COUNT_ROWS else kind.value}"


def _of_all(column: pa.Array, kind: AggregateKind, rows: int) -> pa.Scalar:
    if kind is AggregateKind.COUNT_ROWS:
        return pa.scalar(rows, pa.int64())
    if kind is AggregateKind.COUNT:
        return pc.count(column, mode="only_valid")
    if kind is AggregateKind.SUM:
        return pc.sum(column, min_count=1)
    return pc.min(column) if kind is AggregateKind.MIN else pc.max(column)


def _sums_fit(column: pa.Array, wanted: pa.DataType, rows: int) -> bool:
    """Say whether the largest value of a column, as often as there are rows, fits a type."""
    if pt.is_floating(column.type) or (pt.is_int32(column.type) and rows < 2**31):
        return True
    extremes = pc.min_max(column)
    values = [extremes[name].as_py() for name in ("min", "max")]
    known = [value for value in values if value is not None]
    if not pt.is_decimal(wanted):
        return rows * max(map(abs, known), default=0) <= _MOST_INTEGER
    with localcontext(Context(prec=_MOST_DIGITS)):
        bound = Decimal(10) ** (wanted.precision - wanted.scale)
        return bool(rows * max(map(abs, known), default=0) < bound)
