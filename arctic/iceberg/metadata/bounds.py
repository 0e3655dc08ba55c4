"""Column bounds of manifest entries as internal values, for the columns that planning asks for.

A bound that cannot be compared is unknown, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, PrimitiveType

from arctic.iceberg.metadata.manifest_decoder import ListedFile
from arctic.table.files import ColumnBounds, Value

FILE_OFFSET_ID = 2147482645
"""Field id of ``_file_offset``, which change files have beside the table's columns."""

_NOTHING: Mapping[int, Any] = {}


class FileBounds(Mapping[int, ColumnBounds]):
    """The bounds of some columns by field id, in half the memory of a dictionary of few.

    >>> known = FileBounds((3,), (ColumnBounds(lower=1, upper=9, null_count=0),))
    >>> known[3].upper, known.get(4), dict(known) == known
    (9, None, True)
    """

    __slots__ = ("_columns", "_field_ids")

    def __init__(self, field_ids: tuple[int, ...], columns: tuple[ColumnBounds, ...]) -> None:
        """Take the bounds of each column; many files may share the tuple of field ids."""
        self._field_ids = field_ids
        self._columns = columns

    def __getitem__(self, field_id: int) -> ColumnBounds:
        """Return what is known of a column."""
        if field_id not in self._field_ids:
            raise KeyError(field_id)
        return self._columns[self._field_ids.index(field_id)]

    def get(self, field_id: int, default: Any = None) -> Any:
        """Return what is known of a column, or the default; planning asks it of every file."""
        ids = self._field_ids
        return self._columns[ids.index(field_id)] if field_id in ids else default

    def __iter__(self) -> Iterator[int]:
        """Go over the field ids."""
        return iter(self._field_ids)

    def __len__(self) -> int:
        """Return how many columns are known."""
        return len(self._field_ids)


class BoundsDecoder:
    """Decodes the bounds of some columns; the others cost nothing."""

    def __init__(self, schema: Schema, field_ids: Collection[int]) -> None:
        types: dict[int, PrimitiveType] = {
            column.field_id: column.field_type
            for column in schema.columns
            if isinstance(column.field_type, PrimitiveType)
        }
        types[FILE_OFFSET_ID] = LongType()
        self._decoders = tuple(
            (field_id, bound_decoder(types[field_id]))
            for field_id in sorted(field_ids)
            if field_id in types
        )
        self._field_ids = tuple([field_id for field_id, _ in self._decoders])

    def of(self, file: ListedFile) -> Mapping[int, ColumnBounds]:
        """Return what is known of each wanted column; one of which nothing is known is absent."""
        if not self._decoders:
            return _NOTHING
        lower, upper = file.lower_bounds or _NOTHING, file.upper_bounds or _NOTHING
        pairs = file.null_counts or ()
        counted = pairs[::2]
        field_ids, bounds = [], []
        for field_id, decode in self._decoders:
            least, greatest = lower.get(field_id), upper.get(field_id)
            null_count = pairs[2 * counted.index(field_id) + 1] if field_id in counted else None
            if least is not None or greatest is not None or null_count is not None:
                field_ids.append(field_id)
                known = ColumnBounds(
                    lower=decode(least), upper=decode(greatest), null_count=null_count
                )
                bounds.append(known)
        # A million files have the same columns.
        shared = self._field_ids if len(bounds) == len(self._field_ids) else tuple(field_ids)
        return FileBounds(shared, tuple(bounds))


def bound_decoder(column_type: PrimitiveType) -> Callable[[bytes | None], Value]:
    """Return what makes a value of a bound's bytes; None is unknown."""
    convert: Callable[[Any, bytes], Any] = from_bytes.dispatch(type(column_type))

    def decode(encoded: bytes | None) -> Value:
        """Decode a bound; the type's own code reads bounds from before a promotion."""
        if encoded is None:
            return None
        try:
            value = convert(column_type, encoded)
        except UnicodeDecodeError:  # a text that was cut inside a character
            return None
        # Nothing compares with NaN, so as a bound it would prune everything.
        return None if isinstance(value, float) and math.isnan(value) else value

    return decode
