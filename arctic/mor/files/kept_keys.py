"""Keys of data files, kept for whoever looks other deletes up in the same files.

Strategy: to decode the keys of a file takes several times as long as to look a few deletes up
among them, and whoever follows a table comes back to the same files after every write. Keys are
kept for those alone: ``ReadRequest.keeps_keys``. Integers and times that lie close together, as in
files that are sorted by key, are kept in half of their bytes.

Rules:
    - What is kept is what was read, batch by batch, of files whose names hold a random number:
      nobody writes another one under the same name.

Memory: ``MOST_BYTES``, and ``FILE_BYTES`` for each thread while a file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from arctic.last_used import LastUsed
from arctic.table.filename import has_random_name

MOST_BYTES = 128 * 2**20
"""What was looked at the longest time ago is forgotten first."""
FILE_BYTES = MOST_BYTES // 4
"""A file whose keys take more is not kept."""
_PLACE_BYTES = _BATCH_BYTES = 500
"""What a place takes beside its batches, and a batch beside its values."""
_NARROW = (np.uint16, np.uint32)

Numbered = tuple[int, pa.RecordBatch]
"""A batch, behind the number of its first row in the file."""


class KeptKeys:
    """The batches of files by what was read of them; safe for threads and forks."""

    def __init__(self) -> None:
        self._held: LastUsed[Hashable, tuple[_KeptBatch, ...]] = LastUsed()

    def of(
        self, place: Hashable | None, read: Callable[[], Iterable[Numbered]]
    ) -> Iterator[Numbered]:
        """Yield the batches of a place.

        Args:
            place: of a file that never changes, and what is read of it; None: nothing is kept.
            read: yields the batches, always the same.
        """
        if place is None:
            return iter(read())
        held = self._held.get(place)
        if held is not None:
            return (each.batch() for each in held)
        return self._keeping(place, read())

    def forget(self) -> None:
        """Keep nothing."""
        self._held.forget()

    @property
    def nbytes(self) -> int:
        """What all that is kept takes."""
        return self._held.weight

    def _keeping(self, place: Hashable, batches: Iterable[Numbered]) -> Iterator[Numbered]:
        kept: list[_KeptBatch] = []
        weight = _PLACE_BYTES
        for first_row, batch in batches:
            yield first_row, batch
            if weight <= FILE_BYTES:
                kept.append(_KeptBatch.of(first_row, batch))
                weight += kept[-1].nbytes
            else:
                kept.clear()
        if weight <= FILE_BYTES:
            self._held.put(place, tuple(kept), weight=weight, most=MOST_BYTES)


def place_of(path: str, names: tuple[str, ...], row_groups: Sequence[int]) -> Hashable | None:
    """Return the place of some columns of some row groups; None: others may write such a file."""
    return (path, names, tuple(row_groups)) if has_random_name(path) else None


KEPT_KEYS = KeptKeys()
"""Of this process."""


@dataclass(frozen=True, slots=True)
class _Near:
    """A column of values that lie close together."""

    least: int
    above: npt.NDArray[np.unsignedinteger]
    """How far each is above the least."""
    kind: pa.DataType

    @property
    def nbytes(self) -> int:
        return self.above.nbytes

    def array(self) -> pa.Array:
        values = self.above.astype(np.int64)
        values += self.least
        return pa.array(values).view(self.kind)


@dataclass(frozen=True, slots=True)
class _KeptBatch:
    first_row: int
    rows: pa.RecordBatch
    """Without columns: it says how many there are."""
    schema: pa.Schema
    columns: tuple[pa.Array | _Near, ...]

    @classmethod
    def of(cls, first_row: int, batch: pa.RecordBatch) -> _KeptBatch:
        rows = batch.select([])
        return cls(first_row, rows, batch.schema, tuple(map(_narrow, batch.columns)))

    @property
    def nbytes(self) -> int:
        return _BATCH_BYTES + sum(column.nbytes for column in self.columns)

    def batch(self) -> Numbered:
        if not self.columns:
            return self.first_row, self.rows
        arrays = [
            column.array() if isinstance(column, _Near) else column for column in self.columns
        ]
        return self.first_row, pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _narrow(column: pa.Array) -> pa.Array | _Near:
    """Return a column in less memory if that can be, else as it is."""
    kind = column.type
    if not (pat.is_int64(kind) or pat.is_timestamp(kind)) or column.null_count or not len(column):
        return column
    values = column.view(pa.int64()).to_numpy()
    least, greatest = int(values.min()), int(values.max())
    for narrow in _NARROW:
        if greatest - least <= np.iinfo(narrow).max:
            return _Near(least, (values - least).astype(narrow), kind)
    return column
