"""Rows as they are given, made to fit the table exactly or refused.

Rules:
    - Names and types are judged before the first row; only nulls need the rows themselves.
    - A column that is not understood is refused, never dropped. A missing optional one is null
      here; whether it may be missing, or is filled later, is said in ``write_request``.
    - A delete carries only what its change-delete row will hold: the key, the ordering columns,
      the partition source columns and required columns that were given.

Must not know: files, nodes, what the rows will do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.buffers import value_bytes, value_offsets
from arctic.columns.cast import cast_column, check_castable, near_name
from arctic.columns.nullable import has_required_part, null_offenders
from arctic.columns.row_text import key_text
from arctic.errors import InvalidInputError
from arctic.writing.conform.event_time import EventTime
from arctic.writing.write_request import WriteMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Conform:
    """How batches of one frame become rows of the table; pickles."""

    table_name: str
    key: tuple[str, ...]
    incoming_names: tuple[str, ...]
    table_fields: pa.Schema
    """The table columns that come out, in table order."""
    extra_columns: tuple[str, ...]
    """Columns beside the table's that come out after them, with their plain type."""
    has_partition_sources: bool
    """Whether the rows say which partition they are in; only deletes may leave that open."""
    event_time: EventTime | None = None
    """What the watermark is taken from; None: nothing."""
    keeps: bool = False
    """Whether what is stored in missing columns is to stay."""

    @property
    def missing_columns(self) -> tuple[str, ...]:
        """The table columns that come out as nulls, because the rows lack them."""
        names = (field.name for field in self.table_fields)
        return tuple(name for name in names if name not in self.incoming_names)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with the table's names, order and types, then the extra columns.

        Nulls in required columns are left in: whether they matter depends on the row's action.

        Raises:
            InvalidInputError: a batch of another schema, a value beyond its type, an event time
                that is no time, a null key.
        """
        if tuple(batch.schema.names) != self.incoming_names:
            raise InvalidInputError(
                f"a batch has columns {batch.schema.names}; expected those of the frame's schema: "
                f"{list(self.incoming_names)}"
            )
        arrays = [self._table_column(batch, field) for field in self.table_fields]
        extras = [_plain_form(batch.column(name)) for name in self.extra_columns]
        fields = [
            *self.table_fields,
            *(
                pa.field(name, array.type)
                for name, array in zip(self.extra_columns, extras, strict=True)
            ),
        ]
        rows = pa.RecordBatch.from_arrays([*arrays, *extras], schema=pa.schema(fields))
        if self.event_time is not None:
            self.event_time.check(rows, partial(self.describe_row, rows))
        for name in self.key:
            self._refuse_nulls(rows, pa.field(name, rows.column(name).type, nullable=False), None)
        return rows

    def check_required(
        self,
        rows: pa.RecordBatch,
        inserted: np.ndarray | None,
        *,
        in_every_row: Collection[str] = (),
    ) -> None:
        """Refuse nulls in required columns, nested ones included.

        Args:
            rows: what ``apply`` returned.
            inserted: which rows become rows of the table; None: all of them.
            in_every_row: required columns that the other rows must fill too.

        Raises:
            InvalidInputError: naming the column and the key of the first offending row.
        """
        for field in self.table_fields:
            if field.name not in self.key and has_required_part(field):
                concerned = None if field.name in in_every_row else inserted
                self._refuse_nulls(rows, field, concerned)

    def describe_row(self, rows: pa.RecordBatch, row: int) -> str:
        """Return how a message names a row: by its key, or by its place."""
        if not self.key:
            return f"row {row} of a batch"
        return f"the row with key ({key_text(rows, row, self.key)})"

    def _table_column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        if field.name not in self.incoming_names:
            return pa.nulls(batch.num_rows, field.type)
        array = batch.column(field.name)
        if array.type != field.type:
            # Engines announce a schema and send a variant of it, such as another zone.
            check_castable(array.type, field, field.name)
        try:
            # Spark's texts may hold bytes that are none; they would break the commit, or a reader.
            if not is_plain_text(array):
                array.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InvalidInputError(
                f"column {field.name!r} has a value that {field.type} cannot hold: {error}"
            ) from error
        return cast_column(array, field.type, field.name, partial(self.describe_row, batch))

    def _refuse_nulls(
        self, rows: pa.RecordBatch, field: pa.Field, inserted: np.ndarray | None
    ) -> None:
        array = rows.column(field.name)
        if array.null_count == 0 and not pt.is_nested(field.type):
            return
        offenders = null_offenders(array, field)
        if inserted is not None:
            offenders = offenders[inserted[offenders]]
        if not offenders.size:
            return
        row = int(offenders[0])
        what = "is part of the key" if field.name in self.key else "is required"
        raise InvalidInputError(
            f"column {field.name!r} of table {self.table_name!r} {what}, but null in "
            f"{self.describe_row(rows, row)}; expected a value"
        )


def plan_conform(
    incoming: pa.Schema,
    table_schema: pa.Schema,
    *,
    table_name: str,
    mode: WriteMode,
    key: Sequence[str],
    extra_columns: Sequence[str],
    ignored_columns: Sequence[str],
    partition_sources: Sequence[str],
    ordering: Sequence[str] = (),
) -> Conform:
    """Check a frame's columns against the table's, before any row.

    Args:
        incoming: the frame's schema.
        table_schema: the table's, see ``WriteTarget.schema``.
        table_name: for messages.
        mode: a delete needs only the key columns.
        key: the key columns; empty for an unkeyed table.
        extra_columns: action, ordering and arrival columns, perhaps columns of the table too.
        ignored_columns: helper columns that may be there and carry nothing.
        partition_sources: columns that partition values are computed from.
        ordering: the table's ordering columns, which deletes carry too.

    Raises:
        InvalidInputError: naming the first column that does not fit, and how to mend it.
    """
    names = incoming.names
    _check_extras(incoming, extra_columns, mode)
    _check_names(names, table_schema.names, (*extra_columns, *ignored_columns), table_name)
    deletes = mode is WriteMode.DELETE
    sourced = all(name in names for name in partition_sources)
    for field in table_schema:
        if field.name in names:
            check_castable(incoming.field(field.name).type, field, field.name)
        elif field.name in key or not (field.nullable or deletes):
            what = "a key column" if field.name in key else "required"
            raise InvalidInputError(
                f"column {field.name!r} ({field.type}) of table {table_name!r} is {what}, but the "
                f"frame has only {', '.join(names)}; add it"
            )
    kept = {*key, *ordering, *(partition_sources if sourced else ())}
    fields = [
        field
        for field in table_schema
        if not deletes or field.name in kept or (not field.nullable and field.name in names)
    ]
    return Conform(
        table_name=table_name,
        key=tuple(key),
        incoming_names=tuple(names),
        table_fields=pa.schema(fields),
        extra_columns=tuple(
            name for name in extra_columns if name not in {field.name for field in fields}
        ),
        has_partition_sources=sourced or not deletes,
    )


def _check_names(
    names: Sequence[str], known: Sequence[str], helpers: Sequence[str], table_name: str
) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"the frame has two columns {name!r}; expected one")
        if name not in known and name not in helpers:
            raise InvalidInputError(
                f"column {name!r} is not in table {table_name!r}; {near_name(name, known)}"
            )


def _check_extras(incoming: pa.Schema, extra_columns: Sequence[str], mode: WriteMode) -> None:
    for name in extra_columns:
        if name not in incoming.names:
            raise InvalidInputError(
                f"column {name!r} is named as an action or ordering column of this {mode.value}, "
                f"but the frame does not have it; {near_name(name, incoming.names)}"
            )
        if incoming.names.count(name) > 1:
            raise InvalidInputError(f"the frame has two columns {name!r}; expected one")
        if pt.is_nested(incoming.field(name).type):
            raise InvalidInputError(
                f"column {name!r} is {incoming.field(name).type}: it can neither tell an action "
                "nor an order; expected a plain column"
            )


def _plain_form(array: pa.Array) -> pa.Array:
    # Neither sorting nor dictionary encoding knows every form in which a text can come.
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_large_string(array.type) or pt.is_string_view(array.type):
        return pc.cast(array, pa.string())
    if pt.is_large_binary(array.type) or pt.is_binary_view(array.type):
        return pc.cast(array, pa.binary())
    return array


def is_plain_text(array: pa.Array) -> bool:
    """Say whether an array is of texts, sound and all ASCII; False says nothing.

    Validating each text as UTF-8 takes ten times as long as the greatest byte of them all, and
    offsets that rise inside the buffer cut ASCII nowhere but between characters.
    """
    if not pt.is_string(array.type) or not len(array):
        return False
    array.validate()
    offsets, data = value_offsets(array), value_bytes(array)
    start, end = int(offsets[0]), int(offsets[-1])
    if not (0 <= start <= end <= len(data)):
        return False
    if (offsets[1:] < offsets[:-1]).any():
        return False
    texts = data[start:end]
    return not texts.size or int(texts.max()) < 0x80
