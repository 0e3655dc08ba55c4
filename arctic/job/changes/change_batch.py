"""A batch of changes: everything between two moments, planned at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.snapshots.change_log import check_base
from arctic.iceberg.tables.open_table import open_table
from arctic.job.changes.change_job import Changes, chosen_columns
from arctic.job.changes.change_range import batch_end, start_position
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import table_reference
from arctic.options import Scope
from arctic.table.streams.stream_position import StreamPosition

_MAX_BEGINNINGS = 5


def change_schema(options: Mapping[str, str]) -> pa.Schema:
    """Return the schema of changes: the table's columns, and what tells when and how they changed.

    Raises:
        NotFoundError: an unknown table or column.
    """
    reference = table_reference(options)
    opened = open_table(reference.config, reference.identifier)
    return chosen_columns(opened, opt.COLUMNS.value(options))


def begin_changes(options: Mapping[str, str], *, columns: Sequence[str] | None = None) -> ScanJob:
    """Plan a batch of changes.

    Args:
        options: ``path``, catalog and change options; without a start, the rows that are there
            now come first, and there must be no end.
        columns: columns to read, in this order; else the ``columns`` option; else all.

    Raises:
        InvalidInputError: an unknown option, a bad value, or an end before the start.
        NotFoundError: an unknown table or column, or a range whose history has expired.
        UnsupportedError: rows were replaced in the range without a change that says so.
    """
    opt.check_known(options, Scope.CHANGES)
    changes = Changes(options)
    wanted = columns if columns is not None else opt.COLUMNS.value(options)
    for _ in range(_MAX_BEGINNINGS - 1):
        start, last = _range(changes, options)
        try:
            return changes.plan(start, last, columns=wanted)
        except NotFoundError:
            # The rows that are there now expired before their files were listed.
            if start.pin is None:
                raise
    return changes.plan(*_range(changes, options), columns=wanted)


def _range(changes: Changes, options: Mapping[str, str]) -> tuple[StreamPosition, StreamPosition]:
    opened = changes.opened
    start, end = start_position(opened, options), batch_end(opened, options)
    if end.sequence_number < start.sequence_number:
        raise InvalidInputError(
            f"the range of changes ends at commit {end.sequence_number}, before it starts after "
            f"commit {start.sequence_number}; expected a start before the end"
        )
    if opened.change is not None and not changes.skips_overwrites:
        check_base(opened, start.base_sequence_number, end.base_sequence_number)
    return start, StreamPosition(
        table_uuid=start.table_uuid,
        sequence_number=end.sequence_number,
        base_sequence_number=start.base_sequence_number,
    )
