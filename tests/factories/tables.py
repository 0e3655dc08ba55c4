"""Tables for tests, as values: nothing of them is anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic.table.table_description import Column, PartitionField, TableDescription


def field(name: str, data_type: pa.DataType, number: int, *, nullable: bool = True) -> pa.Field:
    """Return an Arrow column with a field id, as a table's schema has it."""
    return pa.field(name, data_type, nullable, metadata={b"PARQUET:field_id": str(number)})


def columns_of(types: Mapping[str, str], *, first_id: int = 1) -> tuple[Column, ...]:
    """Return optional columns with ascending field ids.

    Args:
        types: name -> Iceberg's text of the type.
        first_id: field id of the first column.
    """
    return tuple(
        Column(field_id=number, name=name, type=text, required=False)
        for number, (name, text) in enumerate(types.items(), start=first_id)
    )


def table_of(
    columns: Sequence[Column],
    *,
    key: Sequence[str] = ("id",),
    partition_fields: Sequence[PartitionField] = (),
    location: str = "",
) -> TableDescription:
    """Return table ``db.t``.

    Args:
        columns: in table order.
        key: names of the key columns; empty: the table has no change store.
        partition_fields: in spec order.
        location: what the locations of its stores begin with.
    """
    return TableDescription(
        identifier=("db", "t"),
        columns=tuple(columns),
        primary_key=tuple(key),
        partition_fields=tuple(partition_fields),
        properties={},
        base_location=f"{location}base",
        change_location=f"{location}change" if key else None,
    )
