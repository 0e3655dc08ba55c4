"""Partition fields: their texts, their values for whole columns, their paths.

Rules:
    - Values are Iceberg's internal ones: a date is an int, a timestamp int microseconds.
    - A field is refused where its values would not survive the partition key text of the format
      (``docs/format.md`` 7.2), or where equal rows could get unequal values.
    - ``arrays`` equals PyIceberg's row-wise transforms; it runs on whole Arrow columns.

Must not know: who routes rows by these values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionSpec
from pyiceberg.partitioning import PartitionField as IcebergPartitionField
from pyiceberg.schema import Schema
from pyiceberg.transforms import Transform, parse_transform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.transforms import partition_path_text, partition_values
from arctic.table.files import Partition
from arctic.table.table_description import PartitionField, TableDescription

_TEXT = re.compile(
    r"(?:(?P<transform>\w+)\s*\((?:\s*(?P<width>\d+)\s*,)?)?\s*(?P<column>[^()]+?)\s*\)?"
)
_SUFFIXES = {
    "bucket": "_bucket", "truncate": "_trunc", "year": "_year", "month": "_month", "day": "_day",
    "hour": "_hour", "identity": "",
}  # fmt: skip
"""What Iceberg's own builders append to the column name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionText:
    """A partition field as somebody wrote it."""

    column: str
    transform: str
    """Iceberg's text: ``identity``, ``bucket[16]``, ``day``, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStep:
    """How one partition value is computed; texts only, so that it pickles."""

    column: str
    column_type: str
    transform: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioner:
    """Computes partition values and paths; pickles small."""

    steps: tuple[PartitionStep, ...]

    @classmethod
    def of(cls, table: TableDescription) -> Partitioner:
        """Return the partitioner of a table that was opened."""
        by_id = {column.field_id: column for column in table.columns}
        return cls(
            steps=tuple(
                PartitionStep(
                    column=by_id[field.source_id].name,
                    column_type=by_id[field.source_id].type,
                    transform=field.transform,
                    name=field.name,
                )
                for field in table.partition_fields
            )
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The fields as ``create_table`` takes them: ``region``, ``bucket(16, id)``."""
        return tuple(partition_text(step.transform, step.column) for step in self.steps)

    def arrays(self, batch: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        """Return one array of internal values for each field, as long as the batch.

        Args:
            batch: holds the source columns by name, in the table's Arrow types.
        """
        return [
            partition_values(
                step.transform, step.column_type, batch.column(step.column), name=step.column
            )
            for step in self.steps
        ]

    def path(self, partition: Partition) -> str:
        """Return ``name=value/...`` as Iceberg writes it; empty when unpartitioned."""
        return "/".join(
            f"{quote_plus(step.name, safe='')}={quote_plus(_text(step, value), safe='')}"
            for step, value in zip(self.steps, partition, strict=True)
        )

    def values(self, partition: Partition) -> list[str | None]:
        """Return the values as their texts in a path; None is null, and no text."""
        return [
            None if value is None else _text(step, value)
            for step, value in zip(self.steps, partition, strict=True)
        ]

    def record(self, partition: Partition) -> Record:
        """Return the partition as PyIceberg keeps it in a data file."""
        return Record(*partition)


def parse_partition_field(text: str) -> PartitionText:
    """Read ``region``, ``identity(region)``, ``bucket(16, id)``, ``days(ts)`` and the like.

    Raises:
        InvalidInputError: a text that is none of these.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None or ("(" in text) != text.strip().endswith(")"):
        raise _bad_text(text)
    transform, width, column = match.group("transform", "width", "column")
    name = (transform or "identity").lower()
    name = name.removesuffix("s") if name in ("years", "months", "days", "hours") else name
    takes_width = name in ("bucket", "truncate")
    if name not in _SUFFIXES or takes_width != (width is not None):
        raise _bad_text(text)
    if width is not None and not 0 < int(width) < 2**31:
        raise InvalidInputError(f"partition field {text!r}: expected a number from 1 to 2**31 - 1")
    return PartitionText(column=column, transform=f"{name}[{int(width)}]" if width else name)


def partition_text(transform: str, column: str) -> str:
    """Return what ``parse_partition_field`` reads.

    >>> partition_text("bucket[16]", "id")
    'bucket(16, id)'
    """
    if transform == "identity":
        return column
    name, _, width = transform.rstrip("]").partition("[")
    return f"{name}({width}, {column})" if width else f"{name}({column})"


def partition_texts(spec: PartitionSpec, schema: Schema) -> tuple[str, ...]:
    """Return the fields of a spec as ``create_table`` takes them."""
    return tuple(
        partition_text(str(field.transform), schema.find_field(field.source_id).name)
        for field in spec.fields
    )


def partition_spec(schema: Schema, texts: Sequence[str], *, keyed: bool) -> PartitionSpec:
    """Return the spec of a new table.

    Raises:
        InvalidInputError: an unknown column, a transform that does not fit its type, a name that
            is taken.
        UnsupportedError: a field that a table of this kind cannot carry.
    """
    columns = {column.name: column for column in schema.columns}
    fields: list[IcebergPartitionField] = []
    for position, text in enumerate(texts):
        wanted = parse_partition_field(text)
        source = columns.get(wanted.column)
        if source is None:
            raise InvalidInputError(
                f"partition field {text!r}: no top-level column {wanted.column!r}; the table has "
                f"{', '.join(columns)}"
            )
        transform: Transform[Any, Any] = parse_transform(wanted.transform)
        if not source.field_type.is_primitive or not transform.can_transform(source.field_type):
            raise InvalidInputError(
                f"partition field {text!r}: {transform} does not apply to type {source.field_type}"
            )
        name = wanted.column + _SUFFIXES[wanted.transform.partition("[")[0]]
        if name in {field.name for field in fields} or (name in columns and name != wanted.column):
            raise InvalidInputError(f"partition field {text!r}: the name {name!r} is taken")
        fields.append(
            IcebergPartitionField(
                source_id=source.field_id,
                field_id=PARTITION_FIELD_ID_START + position,
                transform=transform,
                name=name,
            )
        )
    spec = PartitionSpec(*fields)
    check_partition_fields(spec, schema, subject="partition field", keyed=keyed)
    return spec


def check_partition_fields(
    spec: PartitionSpec, schema: Schema, *, subject: str, keyed: bool
) -> None:
    """Refuse fields whose values we, or the format's partition keys, would get wrong.

    Args:
        spec: the fields.
        schema: holds their source columns.
        subject: what has the fields, for the error message.
        keyed: whether the table has a change store, hence partition keys as text.

    Raises:
        UnsupportedError: naming the field and the reason.
    """
    top_level = {column.field_id: column for column in schema.columns}
    sources: set[int] = set()
    for field in spec.fields:
        source = top_level.get(field.source_id)
        reason = _reason(field, source) or (keyed and _keyed_reason(field, source, sources))
        if reason:
            raise UnsupportedError(f"{subject} {field.name!r} ({field.transform}): {reason}")
        sources.add(field.source_id)


def check_new_names(spec: PartitionSpec, before: Schema, after: Schema, *, subject: str) -> None:
    """Refuse that a column comes to the name of a partition field: Java would not open the table.

    Source: iceberg PartitionSpec.Builder.checkAndAddPartitionName.
    """
    names = {(column.field_id, column.name) for column in before.columns}
    for column in after.columns:
        for field in spec.fields if (column.field_id, column.name) not in names else ():
            is_own = field.source_id == column.field_id and str(field.transform) == "identity"
            if field.name == column.name and not is_own:
                raise InvalidInputError(
                    f"{subject}: column {column.name!r}: a partition field made of column "
                    f"{after.find_field(field.source_id).name!r} has this name; choose another one"
                )


def key_decides_partition(spec: PartitionSpec, schema: Schema, key: Sequence[str]) -> bool:
    """Say whether all rows of a key are in one partition: it is made of key columns alone."""
    ids = {schema.find_field(name).field_id for name in key}
    return all(field.source_id in ids for field in spec.fields)


def partition_fields(spec: PartitionSpec) -> tuple[PartitionField, ...]:
    """Return the fields of a spec as values."""
    return tuple(
        PartitionField(source_id=field.source_id, name=field.name, transform=str(field.transform))
        for field in spec.fields
    )


def _reason(field: IcebergPartitionField, source: NestedField | None) -> str | None:
    if source is None:
        return "its source is not a top-level column"
    transform = str(field.transform)
    if transform.partition("[")[0] not in _SUFFIXES:
        return "the transform is not known"
    if transform == "identity" and str(source.field_type) in ("float", "double"):
        return "a NaN or a signed zero is not equal to itself as a partition"
    if str(source.field_type) == "uuid":
        return "type uuid is unknown to Spark"
    return None


def _keyed_reason(
    field: IcebergPartitionField, source: NestedField | None, seen: set[int]
) -> str | None:
    """Source: amoro MixedDataFiles.data @96a4d781a, which reads partition keys back."""
    transform = str(field.transform).partition("[")[0]
    type_text = str(source.field_type if source is not None else "")
    if transform == "year":
        return "a keyed table cannot read its year partition keys back; use month or day"
    if transform in ("identity", "truncate") and type_text.startswith(("binary", "fixed")):
        return "a keyed table cannot read binary partition keys back; use bucket"
    if transform == "identity" and type_text == "time":
        return "a keyed table cannot read time partition keys back; use bucket"
    if quote_plus(field.name, safe="") != field.name:
        return "a keyed table needs a name of letters, digits, '_', '-' and '.'"
    if field.source_id in seen:
        return "a keyed table can use a column in one partition field only"
    return None


def _text(step: PartitionStep, value: Any) -> str:
    return partition_path_text(step.transform, step.column_type, value)


def _bad_text(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"partition field {text!r}; expected a column, or one of bucket(n, x), truncate(n, x), "
        "year(x), month(x), day(x), hour(x), identity(x)"
    )
