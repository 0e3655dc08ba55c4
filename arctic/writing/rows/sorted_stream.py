"""Rows that come sorted by key and event: one of each key, without holding more than a chunk.

Rules:
    - All rows of a key are neighbours in the stream, the last event last, so only the last row
      of a chunk has to wait for the next one.
    - The claim is checked: where keys do not rise strictly after that, some key might be
      written twice, and the write stops.

Must not know: files, partitions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.event_order import compare_neighbours
from arctic.columns.key_codes import factorise
from arctic.errors import InternalError
from arctic.writing.rows.gather import take_rows


class SortedStream:
    """What is remembered from one chunk to the next."""

    def __init__(self, *, key: Sequence[str], event_order: Sequence[str], table_name: str) -> None:
        self._key = list(key)
        self._event_order = list(event_order)
        self._table_name = table_name
        self._held: pa.Table | None = None
        self._last_keys: dict[Hashable, pa.Table] = {}

    def last_of_each_key(self, rows: pa.Table | None, *, is_last: bool) -> pa.Table | None:
        """Return the last row of each key that is complete, in stream order; None without any.

        Args:
            rows: the next chunk, at least one row; None: no more rows.
            is_last: whether the stream ends with them.

        Raises:
            InternalError: two events of a key in the wrong order.
        """
        parts = [part for part in (self._held, rows) if part is not None]
        self._held = None
        if not parts:
            return None
        chunk = pa.concat_tables(parts)
        repeated = self._repeated(chunk)
        if self._event_order and repeated.any():
            self._check_events(chunk, repeated)
        if not is_last:
            self._held = take_rows(chunk, np.array([chunk.num_rows - 1]))
            chunk = chunk.slice(0, chunk.num_rows - 1)
        if repeated.any():
            # What comes after the last row says whether it is the last of its key: not here.
            chunk = take_rows(chunk, np.flatnonzero(np.append(~repeated, True)[: chunk.num_rows]))
        return chunk if chunk.num_rows else None

    def _repeated(self, chunk: pa.Table) -> np.ndarray:
        """Return which rows have the key of the next one; one less than the rows."""
        keys = chunk.select(self._key)
        if any(pt.is_floating(kind) for kind in keys.schema.types):
            # Compared as numbers, -0.0 and 0.0 would be one key.
            codes, _ = factorise(keys)
            return np.asarray(codes[1:] == codes[:-1])
        return np.asarray(compare_neighbours(keys) == 0)

    def check_ascending(
        self, rows: pa.Table, groups: Sequence[tuple[Hashable, np.ndarray]]
    ) -> None:
        """Check that keys rise strictly inside each group, from the chunks before on.

        Args:
            rows: what ``last_of_each_key`` returned.
            groups: a name, the same in every chunk, and ascending row numbers; rows with equal
                keys must be in one group.

        Raises:
            InternalError: the stream is not sorted by key.
        """
        keys = rows.select(self._key)
        for name, numbers in groups:
            group = take_rows(keys, numbers)
            before = self._last_keys.get(name)
            joined = group if before is None else pa.concat_tables([before, group])
            if (compare_neighbours(joined) >= 0).any():
                raise InternalError(
                    f"rows for table {self._table_name!r} were announced as sorted by "
                    f"{', '.join(self._key)}, but are not: a key could be written twice"
                )
            self._last_keys[name] = take_rows(group, np.array([group.num_rows - 1]))

    def _check_events(self, chunk: pa.Table, repeated: np.ndarray) -> None:
        falling = compare_neighbours(chunk.select(self._event_order)) > 0
        if (falling & repeated).any():
            raise InternalError(
                f"rows for table {self._table_name!r} were announced as sorted by "
                f"{', '.join(self._event_order)} inside a key, but are not: a later event could "
                "lose"
            )
