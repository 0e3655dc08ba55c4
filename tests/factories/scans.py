"""What a scan is planned from, for tests that change what they are about."""

from __future__ import annotations

from collections.abc import Iterable

from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import PruneCounts, ScanOptions
from arctic.table.files import TableFile
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from tests.factories.files import KEY


def store_files(base: Iterable[TableFile], change: Iterable[TableFile] = ()) -> StoreFiles:
    """Return what the stores of a table list, without position deletes."""
    return StoreFiles(
        base=tuple(base), position_deletes=(), change=tuple(change), pruned=PruneCounts()
    )


NO_FILES = ScanInput(
    table_name="db.t",
    is_merged_view=True,
    files=store_files(()),
    snapshot=TableSnapshot(base_snapshot_id=1, change_snapshot_id=1, change_sequence_number=9),
    key=KEY,
    ordering=(),
    engine=MergeEngine.LAST_ROW,
    row_filter=None,
    options=ScanOptions(
        weight_ratio=1,
        parallel_multiple=2,
        parallelism=1,
        target_bytes=1 << 20,
        open_file_cost_bytes=1,
        vector_min_rows=1,
    ),
    set_apart=SetApart.NOTHING,
    takes_others=True,
    nodes=None,
)
"""A keyed table's merged view, by one core."""
