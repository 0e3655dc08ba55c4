"""Rows held until there are enough of them to work on, rows taken from what is held, their order.

Rules:
    - Rows that were announced as sorted are held to it, also where one chunk meets the next: a
      later event could lose.

Must not know: keys, actions' meaning, files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.event_order import event_order
from arctic.errors import InternalError
from arctic.writing.target import WriteOptions

_WIDEN_BYTES = 1 << 30
"""Above this, texts get 64-bit offsets: taking rows from chunks fails at 2 GiB otherwise."""
_MIN_BATCH_ROWS = 1_024
"""Shorter batches are joined in any case: what an array costs beside its values adds up."""
_WIDE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Rows that are worked on together."""

    rows: pa.Table
    actions: np.ndarray | None
    """Their action codes; None where the write has no action column."""


class RowBuffer:
    """Gathers batches up to a chunk, or everything that there is, or is room for."""

    def __init__(
        self,
        options: WriteOptions,
        *,
        everything: bool,
        joins: bool,
        exact_columns: Collection[str],
        is_bounded: bool = True,
    ) -> None:
        """Take the settings.

        Args:
            options: those of the write.
            everything: whether more rows than those of a chunk are gathered.
            joins: whether chunks are made one piece.
            exact_columns: those whose type stays as it is.
            is_bounded: whether there is room for so many bytes only.
        """
        self._max_rows = options.chunk_rows
        # Rows are copied once while they are worked on; a quarter leaves room for both.
        self._max_bytes = max(1, options.buffer_bytes // 4) if is_bounded else None
        self._everything = everything
        # Rows that are taken in any order are found faster in one piece than in many batches.
        self._joins = joins and not everything
        # Hashes, partition transforms and key lookups know the table's own types only.
        self._exact_columns = exact_columns
        self._batches: list[pa.RecordBatch] = []
        self._actions: list[np.ndarray] = []
        self._bytes = 0
        self.row_count = 0
        """Rows that are held."""

    @property
    def is_full(self) -> bool:
        """Whether the rows make a chunk, or there is no more room for everything."""
        is_chunk = self.row_count >= self._max_rows and not self._everything
        return is_chunk or (self._max_bytes is not None and self._bytes >= self._max_bytes)

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in parts that are no longer than a chunk; nothing for an empty one."""
        for start in range(0, batch.num_rows, self._max_rows):
            yield batch.slice(start, self._max_rows)

    def add(self, rows: pa.RecordBatch, actions: np.ndarray | None) -> None:
        """Hold rows; all of one schema, and all with actions or none."""
        self._batches.append(rows)
        if actions is not None:
            self._actions.append(actions)
        self._bytes += rows.nbytes
        self.row_count += rows.num_rows

    def drain(self) -> Gathered:
        """Hand out what is held, at least one batch, and begin anew."""
        rows = pa.Table.from_batches(self._batches)
        if self._everything:
            rows = widen_texts(rows, except_for=self._exact_columns)
        is_crumbled = self.row_count < _MIN_BATCH_ROWS * len(self._batches)
        gathered = Gathered(
            rows=rows.combine_chunks() if self._joins or is_crumbled else rows,
            actions=np.concatenate(self._actions) if self._actions else None,
        )
        self._batches, self._actions = [], []
        self._bytes = self.row_count = 0
        return gathered


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """Some rows of a table, taken out of it only when they are asked for."""

    source: pa.Table
    numbers: np.ndarray | None
    """Which rows, in which order; None: all of them."""
    nbytes: int
    """Of the rows that are picked, about."""

    @classmethod
    def by_number(cls, source: pa.Table, numbers: np.ndarray) -> Picked:
        """Pick rows of a table that has some; those of one table weigh the same."""
        nbytes = source.nbytes * len(numbers) // max(source.num_rows, 1)
        return cls(source=source, numbers=numbers, nbytes=nbytes)

    @property
    def num_rows(self) -> int:
        """How many rows are picked."""
        return self.source.num_rows if self.numbers is None else len(self.numbers)

    def slice(self, start: int, length: int) -> Picked:
        """Return a range of them."""
        count = max(0, min(length, self.num_rows - start))
        nbytes = self.nbytes * count // max(self.num_rows, 1)
        if self.numbers is None:
            return Picked(source=self.source.slice(start, length), numbers=None, nbytes=nbytes)
        numbers = self.numbers[start : start + length]
        return Picked(source=self.source, numbers=numbers, nbytes=nbytes)

    def table(self) -> pa.Table:
        """Take the rows."""
        return self.source if self.numbers is None else take_rows(self.source, self.numbers)


def widen_texts(rows: pa.Table, *, except_for: Collection[str]) -> pa.Table:
    """Give long texts 64-bit offsets, so that rows can be taken from all of them at once.

    Args:
        rows: chunked in any way.
        except_for: columns that keep their type.
    """
    for index, field in enumerate(rows.schema):
        wide = _WIDE.get(field.type)
        column = rows.column(index)
        if wide is None or field.name in except_for or column.nbytes <= _WIDEN_BYTES:
            continue
        rows = rows.set_column(index, field.name, pc.cast(column, wide))
    return rows


def take_rows(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Return rows by their numbers, in memory of their own unless they are all rows in order."""
    rising = bool((numbers[1:] > numbers[:-1]).all())
    if rising and len(numbers) == rows.num_rows:
        return rows
    if rising and len(numbers) and rows.num_columns and rows.column(0).num_chunks > 1:
        return _take_from_chunks(rows, numbers)
    return rows.take(pa.array(numbers))


def _take_from_chunks(rows: pa.Table, numbers: np.ndarray) -> pa.Table:
    """Take rising numbers chunk by chunk: joining the chunks first would copy every row."""
    batches = rows.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    cuts = np.searchsorted(numbers, starts)
    return pa.Table.from_batches(
        [
            batch.take(pa.array(numbers[low:high] - start))
            for batch, start, low, high in zip(batches, starts, cuts, cuts[1:], strict=False)
            if low < high
        ],
        schema=rows.schema,
    )


class ChunkOrder:
    """Orders the events of one chunk after the other."""

    def __init__(self, columns: Sequence[str], *, announced: bool, table_name: str) -> None:
        """Take the columns of the order, and whether the rows are said to be in it already."""
        self._columns = list(columns)
        self._announced = announced
        self._table_name = table_name
        self._last: pa.Table | None = None

    def of(self, rows: pa.Table) -> np.ndarray | None:
        """Return the row numbers of a chunk in event order; None: as they stand.

        Raises:
            InternalError: announced rows are not in order.
        """
        if not self._columns:
            return None
        order = event_order(rows, self._columns)
        if not self._announced:
            return order
        events = rows.select(self._columns)
        edge = [] if self._last is None else [self._last]
        edge_order = event_order(pa.concat_tables([*edge, events.slice(0, 1)]), self._columns)
        if order is not None or edge_order is not None:
            raise InternalError(
                f"rows for table {self._table_name!r} were announced as sorted by "
                f"{', '.join(self._columns)}, but are not: a later event could lose"
            )
        self._last = take_rows(events, np.array([rows.num_rows - 1]))
        return None
