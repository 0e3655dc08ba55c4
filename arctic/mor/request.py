"""What a reader wants of every file: columns, key, filter and bounds.

Must not know: which files there are, or how one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.field_ids import PathIds, field_id, field_with_id
from arctic.errors import InternalError
from arctic.table.files import ColumnBounds
from arctic.table.filters.predicate import Predicate
from arctic.table.merge_engine import FoldRules, MergeEngine
from arctic.table.row_positions import FILE, POSITION

OpenFile = Callable[[str], Any]
"""Opens a path for reading at any position: a pyarrow file or a Python one."""

_NUMBERED = pa.dictionary(pa.int32(), pa.string())

TRANSACTION_ID_FIELD_ID = 2147482646
FILE_OFFSET_FIELD_ID = 2147482645
CHANGE_ACTION_FIELD_ID = 2147482644

TRANSACTION_ID_FIELD: pa.Field = field_with_id(
    "_transaction_id", pa.int64(), TRANSACTION_ID_FIELD_ID
)
FILE_OFFSET_FIELD: pa.Field = field_with_id("_file_offset", pa.int64(), FILE_OFFSET_FIELD_ID)
"""The only one of these that is a column of files, of change files."""
CHANGE_ACTION_FIELD: pa.Field = field_with_id("_change_action", pa.string(), CHANGE_ACTION_FIELD_ID)

ROW_FILE_FIELD: pa.Field = field_with_id(FILE, pa.string(), 2147483646, nullable=False)
ROW_POSITION_FIELD: pa.Field = field_with_id(POSITION, pa.int64(), 2147483645, nullable=False)
"""Their numbers are those that Iceberg has for them."""
PLACE_FIELDS: tuple[pa.Field, ...] = (ROW_FILE_FIELD, ROW_POSITION_FIELD)
"""Where a row is stored: the path of its data file, and its number in the whole file, from 0."""

META_FIELDS: tuple[pa.Field, ...] = (TRANSACTION_ID_FIELD, FILE_OFFSET_FIELD, CHANGE_ACTION_FIELD)
"""The columns that a look at one store adds after the table's own."""


class RowValues(Protocol):
    """Values that some columns have together: see ``arctic.mor.filters.among``."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The columns, with field ids."""

    @property
    def values(self) -> pa.Table:
        """The values themselves, in columns of ``fields``."""

    def mask(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Say for each row of the columns of ``fields`` whether it has one of the values."""

    def may_hold(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether a row within bounds, one for each of ``fields``, can have a value."""

    def is_of(self, key: pa.Schema) -> bool:
        """Say whether rows of one key all have a value, or none: also those that delete the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """One read, the same for every task of it; pickles."""

    schema: pa.Schema
    """Exactly what every batch has. Fields are found by their field id, also nested ones; those
    of ``META_FIELDS`` and ``PLACE_FIELDS`` are allowed. Texts may be asked for as dictionaries; one
    may have a value twice."""
    key: pa.Schema
    """The key columns in key order, with field ids; empty when the table has no key."""
    key_types: tuple[str, ...]
    """Iceberg's texts of the key columns' types."""
    row_filter: Predicate | None
    """Rows that do not match are left out; its columns need not be in ``schema``."""
    max_delete_bytes: int
    """Memory for the change deletes of one task; above it they are applied piece by piece."""
    batch_rows: int
    """Upper bound for the rows of a batch, inclusive."""
    verifies_pages: bool
    """Whether pages are compared with their checksums, where they have some."""
    name_mapping: PathIds | None
    """Which fields the columns of files that carry no ids are; None: nobody says so."""
    ordering: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """The table's ordering columns, most significant first, with field ids; empty: it has none."""
    engine: MergeEngine = MergeEngine.LAST_ROW
    """What becomes of the rows of a key."""
    fold: FoldRules | None = None
    """By what the rows of a key are made one; None: they are not."""
    columns: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """All columns of a table that folds rows, which go by one another."""
    among: RowValues | None = None
    """Rows that have none of these values are not needed; None: all are."""
    identity_partitions: Mapping[int, int] = field(default_factory=dict)
    """Field id of a column to its place in the partition, where that is the column's very value:
    imported files need not have the column."""

    keeps_keys: bool = False
    """Whether this process keeps keys that deletes are looked up in, since it comes back."""

    def __post_init__(self) -> None:
        """Refuse fields that could not be found in any file."""
        for column in [*self.schema, *self.key, *self.ordering]:
            if field_id(column) is None:
                raise InternalError(f"read request: column {column.name!r} has no field id")
        if self.batch_rows < 1 or self.max_delete_bytes < 1:
            raise InternalError(
                f"read request: batch_rows {self.batch_rows} and max_delete_bytes "
                f"{self.max_delete_bytes}; expected both above 0"
            )

    def with_dictionaries(self, names: Collection[str]) -> ReadRequest:
        """Return the same read with texts as the numbers that files have for them, where it can be.

        Args:
            names: columns, of which those that are no texts stay as they are.
        """
        if self.fold is not None:
            return self  # makes rows of values
        fields = [
            column.with_type(_NUMBERED)
            if column.name in names
            and pa.types.is_string(column.type)
            and field_id(column) not in self.identity_partitions
            else column
            for column in self.schema
        ]
        return replace(self, schema=pa.schema(fields))

    @property
    def dies_by_deletes_alone(self) -> bool:
        """Whether a row dies by nothing but a later delete, whatever its values are."""
        is_last_row = self.engine is MergeEngine.LAST_ROW and self.fold is None
        return is_last_row and not len(self.ordering)
