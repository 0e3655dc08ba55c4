"""Files for tests: a name by the real rules, and what the manifest would say of it."""

from __future__ import annotations

from arctic.table.filename import (
    ParsedName,
    parse_base_name,
    parse_change_name,
    parse_position_delete_name,
)
from arctic.table.files import ColumnBounds, FileKind, KeyedFile, Partition
from arctic.table.keyed_table import Column

KEY_ID = 1
KEY = (Column(field_id=KEY_ID, name="id", type="long", required=True),)

_PARSERS = {
    FileKind.BASE: parse_base_name,
    FileKind.INSERT: parse_change_name,
    FileKind.CHANGE_DELETE: parse_change_name,
    FileKind.POS_DELETE: parse_position_delete_name,
}


def keyed_file(
    kind: FileKind,
    name: str,
    *,
    sequence_number: int = 1,
    partition: Partition = (),
    size_bytes: int = 100,
    record_count: int = 10,
    keys: tuple[object, object] | None = None,
    referenced_path: str | None = None,
) -> KeyedFile:
    """Return a file whose name is parsed as a reader would; ``keys`` are its bounds."""
    parsed = _PARSERS[kind](name)
    if parsed.kind is not kind:
        raise ValueError(f"{name} is not of kind {kind}")
    return KeyedFile(
        path=f"s3://w/db/t/data/{name}",
        kind=kind,
        node=parsed.node,
        partition=partition,
        transaction_id=_transaction_id(parsed, sequence_number),
        sequence_number=sequence_number,
        size_bytes=size_bytes,
        record_count=record_count,
        bounds={} if keys is None else {KEY_ID: _bounds(*keys)},
        referenced_path=referenced_path,
    )


def name_of(kind: FileKind, *, node_id: int = 1, transaction_id: int = 0, number: int = 1) -> str:
    """Return a name such as Arctic writes."""
    return f"{node_id}-{kind.value}-{transaction_id}-00000-1-77-{number:05d}.parquet"


def _transaction_id(parsed: ParsedName, sequence_number: int) -> int:
    if parsed.kind in (FileKind.INSERT, FileKind.CHANGE_DELETE):
        return parsed.transaction_id or sequence_number
    return parsed.transaction_id


def _bounds(lower: object, upper: object) -> ColumnBounds:
    return ColumnBounds(lower=lower, upper=upper, null_count=0)  # type: ignore[arg-type]
