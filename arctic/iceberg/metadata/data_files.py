"""Written files as PyIceberg data files: column metrics from the Parquet footers.

Rules:
    - Metrics are taken by the file's own schema: its field ids stay true after a rename, and
      change files have a column more than the table.
    - Bounds of key columns are complete, never truncated: whole deletes are skipped by them.
    - So are those of the path in position deletes: they say which one data file is meant.
    - A bound that does not hold for every row is worse than none, so it is left out.
    - The upper bound of a text that is cut is a text too: see ``_stepped_over_halves``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import (
    DataFileStatistics,
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    pyarrow_to_schema,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, PrimitiveType, TimestampType, TimestamptzType, TimeType
from pyiceberg.utils.truncate import truncate_upper_bound_text_string

from arctic.errors import InternalError
from arctic.iceberg.metadata.bounds import FILE_OFFSET_ID
from arctic.iceberg.values.named_columns import METRICS_OF_COLUMN
from arctic.table.filename import parse_base_name, parse_change_name, parse_position_delete_name
from arctic.table.files import FileKind, WrittenFile
from arctic.table.row_positions import DELETED_PATH_ID, DELETED_POSITION_ID
from arctic.table.table_description import TableDescription

_PARSERS = {
    FileKind.BASE: parse_base_name,
    FileKind.INSERT: parse_change_name,
    FileKind.CHANGE_DELETE: parse_change_name,
    FileKind.POS_DELETE: parse_position_delete_name,
}
_FULL = "full"
_CACHED_PLANS = 64
_TIMES = (DateType, TimeType, TimestampType, TimestamptzType)
_FIRST_HALF, _AFTER_HALVES = "\ud800", "\ue000"
"""Between them are halves of characters (surrogates), which no text has."""


def data_files(
    files: Sequence[WrittenFile],
    table: TableDescription,
    *,
    spec_id: int,
    kinds: Iterable[FileKind],
) -> tuple[DataFile, ...]:
    """Return what is to be added to a store, in the given order.

    Args:
        files: finished files, each path once.
        table: the table they were written for.
        spec_id: the partition spec of the store.
        kinds: what the store can hold.

    Raises:
        InternalError: a file that the store cannot hold, or whose name says something else than
            its record; a path that is given twice.
    """
    allowed = frozenset(kinds)
    key_ids = (column.field_id for column in table.key_columns)
    full_ids = frozenset({*key_ids, FILE_OFFSET_ID, DELETED_PATH_ID, DELETED_POSITION_ID})
    properties = tuple(
        sorted(item for item in table.properties.items() if item[0].startswith("write.metadata."))
    )
    result = []
    for file in files:
        _check(file, allowed)
        added = _data_file(file, properties, full_ids)
        added.spec_id = spec_id
        result.append(added)
    if len({file.path for file in files}) != len(files):
        raise InternalError("a written file is to be committed twice in one snapshot")
    return tuple(result)


def _check(file: WrittenFile, allowed: frozenset[FileKind]) -> None:
    if file.kind not in allowed:
        raise InternalError(
            f"file {file.path!r} of kind {file.kind.value}: its store holds only "
            f"{', '.join(sorted(kind.value for kind in allowed))}"
        )
    # Readers go by the name alone, so a record that says something else would be lost.
    name = _PARSERS[file.kind](file.path)
    if (name.kind, name.node) != (file.kind, file.node):
        raise InternalError(f"file {file.path!r} is named otherwise than {file.kind} {file.node}")


def _data_file(
    file: WrittenFile, properties: tuple[tuple[str, str], ...], full_ids: frozenset[int]
) -> DataFile:
    footer = pq.read_metadata(pa.BufferReader(file.footer))
    # Without the file's own texts, or no two files would have the same plan.
    schema = footer.schema.to_arrow_schema().remove_metadata().serialize().to_pybytes()
    plan, ids_by_path, times = _metrics_plan(schema, properties, full_ids)
    statistics = data_file_statistics_from_parquet_metadata(footer, plan, ids_by_path)
    stepped = _stepped_over_halves(statistics)
    metrics: dict[str, Any] = statistics.to_serialized_dict()
    metrics["upper_bounds"].update(stepped)
    _add_time_bounds(metrics, footer, ids_by_path, times)
    for field_id in without_true_bounds(footer, ids_by_path):
        metrics["lower_bounds"].pop(field_id, None)
        metrics["upper_bounds"].pop(field_id, None)
    return DataFile.from_args(
        content=_content(file.kind),
        file_path=file.path,
        file_format=FileFormat.PARQUET,
        partition=Record(*file.partition),
        file_size_in_bytes=file.size_bytes,
        sort_order_id=file.sort_order_id,
        equality_ids=None,
        key_metadata=None,
        **metrics,
    )


def _content(kind: FileKind) -> DataFileContent:
    is_position_delete = kind is FileKind.POS_DELETE
    return DataFileContent.POSITION_DELETES if is_position_delete else DataFileContent.DATA


def _add_time_bounds(
    metrics: dict[str, Any],
    footer: pq.FileMetaData,
    ids_by_path: Mapping[str, int],
    times: Mapping[int, PrimitiveType],
) -> None:
    """Add the bounds of dates and times from the numbers that they are, for any year."""
    found: dict[int, list[int]] = {}
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for position in range(row_group.num_columns):
            column = row_group.column(position)
            field_id = ids_by_path[column.path_in_schema]
            statistics = column.statistics
            if field_id in times and statistics is not None and statistics.has_min_max:
                found.setdefault(field_id, []).extend([statistics.min_raw, statistics.max_raw])
    for field_id, ends in found.items():
        metrics["lower_bounds"][field_id] = to_bytes(times[field_id], min(ends))
        metrics["upper_bounds"][field_id] = to_bytes(times[field_id], max(ends))


def _stepped_over_halves(statistics: DataFileStatistics) -> dict[int, bytes]:
    """Take out the greatest texts that PyIceberg cannot cut; return what they are cut to, by field.

    It raises the last character that is left of a text by one. After U+D7FF come halves of
    characters, which have no bytes; the next character is U+E000.
    """
    found = {}
    for field_id, column in statistics.column_aggregates.items():
        if column.trunc_length is not None and isinstance(column.current_max, str):
            cut = truncate_upper_bound_text_string(column.current_max, column.trunc_length)
            if cut is not None and _FIRST_HALF in cut:
                found[field_id] = cut.replace(_FIRST_HALF, _AFTER_HALVES).encode()
                column.current_max = None
    return found


def without_true_bounds(footer: pq.FileMetaData, ids_by_path: Mapping[str, int]) -> set[int]:
    """Return the columns where some row group has values but no least and greatest one.

    Parquet leaves bounds of more than 4 KiB out; PyIceberg would take those of the other row
    groups for the whole file.
    """
    found = set()
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for position in range(row_group.num_columns):
            column = row_group.column(position)
            statistics = column.statistics
            if statistics is None or (
                not statistics.has_min_max
                and not (statistics.has_null_count and statistics.null_count == column.num_values)
            ):
                found.add(ids_by_path[column.path_in_schema])
    return found


@lru_cache(maxsize=_CACHED_PLANS)
def _metrics_plan(
    serialized: bytes, properties: tuple[tuple[str, str], ...], full_ids: frozenset[int]
) -> tuple[dict[int, StatisticsCollector], dict[str, int], dict[int, PrimitiveType]]:
    """Return what PyIceberg takes from a footer, and the dates and times whose bounds it must not.

    It makes Python's own values of them, which end with the year 9999.
    """
    # As bytes, because Arrow's schemas compare without the field ids.
    schema = pyarrow_to_schema(pa.ipc.read_schema(pa.py_buffer(serialized)))
    modes = dict(properties)
    for column in schema.columns:
        if column.field_id in full_ids:
            modes[METRICS_OF_COLUMN + column.name] = _FULL
    plan = compute_statistics_plan(schema, modes)
    times: dict[int, PrimitiveType] = {
        field_id: collector.iceberg_type
        for field_id, collector in plan.items()
        if isinstance(collector.iceberg_type, _TIMES)
        and collector.mode.type in (MetricModeTypes.FULL, MetricModeTypes.TRUNCATE)
    }
    counts = MetricsMode(MetricModeTypes.COUNTS)
    plan |= {field_id: replace(plan[field_id], mode=counts) for field_id in times}
    return plan, parquet_path_to_id_mapping(schema), times
