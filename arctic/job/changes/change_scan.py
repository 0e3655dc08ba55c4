"""A read of changes: everything between two moments, planned at once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.snapshots.change_log import check_base
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes, chosen_columns
from arctic.job.changes.change_range import range_end, settled_heads, start_position
from arctic.job.changes.row_change_job import row_change_schema
from arctic.job.read.scan_job import ScanJob
from arctic.retry import AT_ONCE
from arctic.table.streams.stream_position import StreamPosition


def change_schema(asked: AskedChanges) -> pa.Schema:
    """Return the schema of changes: the table's columns, and what tells when and how they changed.

    Raises:
        InvalidInputError: a column of the table that changes have too.
        NotFoundError: an unknown table or column.
    """
    chosen = chosen_columns if asked.rows is None else row_change_schema
    return chosen(asked.reference.open(), asked.columns)


def begin_changes(asked: AskedChanges, *, columns: Sequence[str] | None = None) -> ScanJob:
    """Plan a batch of changes.

    Args:
        asked: what the options say; without a start, the rows that are there now come first.
        columns: columns to read, in this order; None: as the options say.

    Raises:
        InvalidInputError: an end before the start.
        NotFoundError: an unknown table or column, or a range whose history has expired.
        UnsupportedError: rows were replaced in the range without a change that says so.
    """
    changes = Changes(asked)
    wanted = columns if columns is not None else asked.columns
    expired: NotFoundError | None = None
    for _ in AT_ONCE.tries():
        start, last = _range(changes, asked)
        try:
            return changes.plan(start, last, columns=wanted)
        except NotFoundError as error:
            # The rows that are there now expired before their files were listed.
            if start.pin is None:
                raise
            expired = error
    assert expired is not None  # every try either returned or failed
    raise expired


def _range(changes: Changes, asked: AskedChanges) -> tuple[StreamPosition, StreamPosition]:
    opened = changes.opened
    start, end = start_position(opened, asked), range_end(opened, asked)
    tells_rows = opened.table.is_keyed and asked.rows is not None
    ends = start.base_sequence_number, end.base_sequence_number
    if tells_rows and asked.is_open_ended and changes.is_replaced(*ends):
        end = settled_heads(opened)
    if end.sequence_number < start.sequence_number:
        raise InvalidInputError(
            f"the range of changes ends at commit {end.sequence_number}, before it starts after "
            f"commit {start.sequence_number}; expected a start before the end"
        )
    base_sequence = start.base_sequence_number
    if tells_rows:
        base_sequence = max(base_sequence, end.base_sequence_number)
    elif opened.change is not None and not changes.skips_overwrites:
        check_base(opened, start.base_sequence_number, end.base_sequence_number)
    return start, StreamPosition(
        table_uuid=start.table_uuid,
        sequence_number=end.sequence_number,
        base_sequence_number=base_sequence,
    )
