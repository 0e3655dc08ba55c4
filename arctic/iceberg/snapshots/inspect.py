"""Metadata tables: what a table consists of, as rows.

Rules:
    - ``files``, ``partitions`` and ``nodes`` show the pinned snapshot; ``snapshots``, ``history``
      and ``refs`` show everything that the stores still know.
    - Where both stores contribute rows, a column ``store`` says which one.
    - Rows have a defined order: base before change, then as committed, or by partition and node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table
from pyiceberg.table.snapshots import ancestors_of

from arctic.errors import NotFoundError
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.why_nodes import node_reasons
from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.store_files import StoreFiles
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.snapshot import TableSnapshot

Row = dict[str, Any]

_TIME = pa.timestamp("us", tz="UTC")
_STORE = ("store", pa.string())
_NODE = [("node_id", pa.int64()), ("mask", pa.int64()), ("index", pa.int64())]
_COUNTS = [
    (f"{what}_{unit}", pa.int64())
    for what in ("base", "position_delete", "insert", "change_delete")
    for unit in ("files", "rows", "bytes")
]
_WHAT = {
    FileKind.BASE: "base",
    FileKind.POS_DELETE: "position_delete",
    FileKind.INSERT: "insert",
    FileKind.CHANGE_DELETE: "change_delete",
}
_SCHEMAS = {
    "snapshots": pa.schema(
        [
            _STORE,
            ("committed_at", _TIME),
            ("snapshot_id", pa.int64()),
            ("parent_id", pa.int64()),
            ("operation", pa.string()),
            ("sequence_number", pa.int64()),
            ("summary", pa.map_(pa.string(), pa.string())),
        ]
    ),
    "history": pa.schema(
        [
            _STORE,
            ("made_current_at", _TIME),
            ("snapshot_id", pa.int64()),
            ("parent_id", pa.int64()),
            ("is_current_ancestor", pa.bool_()),
        ]
    ),
    "refs": pa.schema(
        [
            _STORE,
            ("name", pa.string()),
            ("type", pa.string()),
            ("snapshot_id", pa.int64()),
            ("max_reference_age_in_ms", pa.int64()),
            ("min_snapshots_to_keep", pa.int32()),
            ("max_snapshot_age_in_ms", pa.int64()),
        ]
    ),
    "files": pa.schema(
        [
            _STORE,
            ("kind", pa.string()),
            *_NODE,
            ("partition", pa.string()),
            ("path", pa.string()),
            ("record_count", pa.int64()),
            ("size_bytes", pa.int64()),
            ("sequence_number", pa.int64()),
            ("transaction_id", pa.int64()),
            ("merged", pa.bool_()),
            ("referenced_path", pa.string()),
        ]
    ),
    "partitions": pa.schema(
        [("partition", pa.string()), *_COUNTS, ("optimized_sequence", pa.int64())]
    ),
    "nodes": pa.schema([("partition", pa.string()), *_NODE, *_COUNTS, ("why", pa.string())]),
}


def metadata_schema(name: str, opened: OpenTable) -> pa.Schema:
    """Return the columns of a metadata table.

    Raises:
        NotFoundError: no metadata table has this name.
    """
    if name not in _SCHEMAS:
        raise NotFoundError(
            f"table {opened.table.name!r} has no metadata table {name!r}; there are "
            f"{', '.join(sorted(_SCHEMAS))}"
        )
    return _SCHEMAS[name]


def metadata_table(opened: OpenTable, snapshot: TableSnapshot, name: str) -> pa.Table:
    """Return the rows of a metadata table, with the columns of ``metadata_schema``.

    ``merged`` of a change file says whether base holds it already; it is null for other files.
    ``partitions`` and ``nodes`` count the files that a read of the table uses: merged change files
    are left out. ``why`` says why a node is as deep as it is, and what would change that; it is
    null where the number of nodes is stated.

    Raises:
        NotFoundError: no metadata table has this name, or a snapshot has expired.
        UnsupportedError: content that this version would read wrongly.
        StorageError: a manifest cannot be read.
    """
    schema = metadata_schema(name, opened)
    rows = _ROWS[name](opened, snapshot)
    return pa.Table.from_pylist(list(rows), schema=schema)


def _stores(opened: OpenTable) -> Iterator[tuple[str, Table]]:
    yield "base", opened.base
    if opened.change is not None:
        yield "change", opened.change


def _snapshots(opened: OpenTable, _: TableSnapshot) -> Iterator[Row]:
    for store, table in _stores(opened):
        for snapshot in table.metadata.snapshots:
            summary = snapshot.summary
            yield {
                "store": store,
                "committed_at": snapshot.timestamp_ms * 1000,
                "snapshot_id": snapshot.snapshot_id,
                "parent_id": snapshot.parent_snapshot_id,
                "operation": None if summary is None else summary.operation.value,
                "sequence_number": snapshot.sequence_number,
                "summary": [] if summary is None else sorted(summary.additional_properties.items()),
            }


def _history(opened: OpenTable, _: TableSnapshot) -> Iterator[Row]:
    for store, table in _stores(opened):
        current = {
            each.snapshot_id for each in ancestors_of(table.current_snapshot(), table.metadata)
        }
        for entry in table.metadata.snapshot_log:
            snapshot = table.metadata.snapshot_by_id(entry.snapshot_id)
            yield {
                "store": store,
                "made_current_at": entry.timestamp_ms * 1000,
                "snapshot_id": entry.snapshot_id,
                "parent_id": None if snapshot is None else snapshot.parent_snapshot_id,
                "is_current_ancestor": entry.snapshot_id in current,
            }


def _refs(opened: OpenTable, _: TableSnapshot) -> Iterator[Row]:
    for store, table in _stores(opened):
        for name, ref in sorted(table.metadata.refs.items()):
            yield {
                "store": store,
                "name": name,
                "type": ref.snapshot_ref_type.value,
                "snapshot_id": ref.snapshot_id,
                "max_reference_age_in_ms": ref.max_ref_age_ms,
                "min_snapshots_to_keep": ref.min_snapshots_to_keep,
                "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
            }


def _files(opened: OpenTable, snapshot: TableSnapshot) -> Iterator[Row]:
    path_of = _path_of(opened)
    for store, file in _listed(opened, snapshot):
        yield {
            "store": store,
            "kind": file.kind.value,
            **_node_columns(file),
            "partition": path_of(file.partition),
            "path": file.path,
            "record_count": file.record_count,
            "size_bytes": file.size_bytes,
            "sequence_number": file.sequence_number,
            "transaction_id": file.transaction_id,
            "merged": _is_merged(file, snapshot) if store == "change" else None,
            "referenced_path": file.referenced_path,
        }


def _partitions(opened: OpenTable, snapshot: TableSnapshot) -> Iterator[Row]:
    path_of = _path_of(opened)
    rows: dict[Partition, Row] = {
        partition: _empty(partition=path_of(partition)) for partition in snapshot.optimized_sequence
    }
    for _, file in _listed(opened, snapshot):
        row = rows.setdefault(file.partition, _empty(partition=path_of(file.partition)))
        _count(row, file, snapshot)
    for partition, row in rows.items():
        row["optimized_sequence"] = snapshot.optimized_sequence.get(partition)
    yield from sorted(rows.values(), key=lambda row: str(row["partition"]))


def _nodes(opened: OpenTable, snapshot: TableSnapshot) -> Iterator[Row]:
    files = _all_files(opened, snapshot)
    path_of, reasons = _path_of(opened), node_reasons(opened, snapshot, files)
    rows: dict[object, Row] = {}
    for file in (*files.base, *files.position_deletes, *files.change):
        if not _is_merged(file, snapshot):
            key = (path_of(file.partition), file.node.node_id)
            if key not in rows:
                found = reasons.get(file.partition)
                why = None if found is None else found.of(file.node.node_id)
                rows[key] = _empty(partition=key[0], **_node_columns(file), why=why)
            _count(rows[key], file, snapshot)
    yield from (rows[key] for key in sorted(rows))  # type: ignore[type-var]


def _all_files(opened: OpenTable, snapshot: TableSnapshot) -> StoreFiles:
    return list_files(opened, snapshot, field_ids=(), row_filter=None)


def _listed(opened: OpenTable, snapshot: TableSnapshot) -> Iterator[tuple[str, TableFile]]:
    files = _all_files(opened, snapshot)
    for file in (*files.base, *files.position_deletes):
        yield "base", file
    for file in files.change:
        yield "change", file


def _is_merged(file: TableFile, snapshot: TableSnapshot) -> bool:
    in_change = file.kind in (FileKind.INSERT, FileKind.CHANGE_DELETE)
    return in_change and file.sequence_number <= snapshot.merged_up_to(file.partition)


def _node_columns(file: TableFile) -> Row:
    return {"node_id": file.node.node_id, "mask": file.node.mask, "index": file.node.index}


def _empty(**columns: Any) -> Row:
    return {**columns, **{name: 0 for name, _ in _COUNTS}}


def _count(row: Row, file: TableFile, snapshot: TableSnapshot) -> None:
    if _is_merged(file, snapshot):
        return
    what = _WHAT[file.kind]
    row[f"{what}_files"] += 1
    row[f"{what}_rows"] += file.record_count
    row[f"{what}_bytes"] += file.size_bytes


def _path_of(opened: OpenTable) -> Callable[[Partition], str]:
    partitioner = opened.partitioner
    known: dict[Partition, str] = {}

    def path(partition: Partition) -> str:
        if partition not in known:
            known[partition] = partitioner.path(partition)
        return known[partition]

    return path


_ROWS: Mapping[str, Callable[[OpenTable, TableSnapshot], Iterator[Row]]] = {
    "snapshots": _snapshots,
    "history": _history,
    "refs": _refs,
    "files": _files,
    "partitions": _partitions,
    "nodes": _nodes,
}
