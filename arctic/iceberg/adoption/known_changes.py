"""What a plain table knows of changes: one that was a pair before, or holds files of one.

Rules:
    - Files say in their names up to which change they hold rows, snapshots what is merged in them.
      Both outlive a release. A change that comes later must be later than all of these, or it
      would count as merged, or kill nothing.
"""

from __future__ import annotations

from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.scan.store_files import StoreFiles
from arctic.table.property_names import MERGED_UP_TO


def last_known_change(opened: OpenTable, files: StoreFiles) -> int:
    """Return the greatest transaction that a plain table names; 0: none.

    Args:
        opened: the table, as it is now.
        files: its live files.

    Raises:
        FormatError: what is merged is not readable.
        StorageError: the file that says so cannot be read.
    """
    metadata, keys = opened.base.metadata, partition_keys(opened.table)
    merged = read_state(metadata, opened.base.io, metadata.current_snapshot_id, keys).sequence
    summaries = [each.summary for each in metadata.snapshots if each.summary is not None]
    told = [summary[MERGED_UP_TO] for summary in summaries]
    return max(
        0,
        *merged.values(),
        *(int(text) for text in told if text is not None),
        *(file.transaction_id for file in (*files.base, *files.position_deletes)),
    )
