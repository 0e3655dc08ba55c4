"""Files for tests, as the manifest would tell of them: nothing of them is anywhere."""

from __future__ import annotations

from arctic.table.filename import (
    ParsedName,
    parse_base_name,
    parse_change_name,
    parse_position_delete_name,
)
from arctic.table.files import ColumnBounds, FileKind, Partition, TableFile
from arctic.table.table_description import Column
from arctic.tree.node import ROOT, TreeNode

KEY_ID = 1
KEY = (Column(field_id=KEY_ID, name="id", type="long", required=True),)

_PARSERS = {
    FileKind.BASE: parse_base_name,
    FileKind.INSERT: parse_change_name,
    FileKind.CHANGE_DELETE: parse_change_name,
    FileKind.POS_DELETE: parse_position_delete_name,
}


def table_file(
    path: str,
    kind: FileKind,
    size: int = 100,
    *,
    rows: int = 100,
    node: TreeNode = ROOT,
    partition: Partition = (),
    transaction: int = 1,
    sequence: int | None = None,
    keys: tuple[object, object] | None = None,
    referenced_path: str | None = None,
) -> TableFile:
    """Return a file that is said to be so, whatever its name.

    Args:
        path: of the file.
        kind: what its rows are.
        size: in bytes.
        rows: how many it has.
        node: of its keys.
        partition: of its rows.
        transaction: the greatest of its rows.
        sequence: number of its commit; None: as ``transaction``.
        keys: bounds of column ``KEY_ID``, inclusive; None: not known.
        referenced_path: of a position delete, the one data file it is for.
    """
    return TableFile(
        path=path,
        kind=kind,
        node=node,
        partition=partition,
        transaction_id=transaction,
        sequence_number=transaction if sequence is None else sequence,
        size_bytes=size,
        record_count=rows,
        bounds={} if keys is None else {KEY_ID: _bounds(*keys)},
        referenced_path=referenced_path,
    )


def named_file(
    kind: FileKind,
    name: str,
    *,
    sequence_number: int = 1,
    partition: Partition = (),
    size_bytes: int = 100,
    record_count: int = 10,
    keys: tuple[object, object] | None = None,
    referenced_path: str | None = None,
) -> TableFile:
    """Return a file whose name is parsed as a reader would; ``keys`` are its bounds."""
    parsed = _PARSERS[kind](name)
    if parsed.kind is not kind:
        raise ValueError(f"{name} is not of kind {kind}")
    return table_file(
        f"s3://w/db/t/data/{name}",
        kind,
        size_bytes,
        rows=record_count,
        node=parsed.node,
        partition=partition,
        transaction=_transaction_id(parsed, sequence_number),
        sequence=sequence_number,
        keys=keys,
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
