"""Planning reads of 10,000 and 100,000 files, without reading one."""

from __future__ import annotations

from arctic.scan.plan import plan_scan
from arctic.scan.task import PruneCounts, ScanOptions
from arctic.table.files import ColumnBounds, FileKind, KeyedFile
from arctic.table.snapshot import TableSnapshot
from arctic.tree.node import TreeNode
from benchmarks.report import Figure

KEY_ID = 1
MASK = 15
OPTIONS = ScanOptions(
    weight_ratio=2.0,
    parallel_multiple=2,
    parallelism=64,
    target_bytes=128 * 2**20,
    open_file_cost_bytes=4 * 2**20,
)


def plan_figures() -> list[Figure]:
    """Return planning of tables of two sizes."""
    return [_figure(count) for count in (10_000, 100_000)]


def _figure(count: int) -> Figure:
    kinds = (FileKind.BASE, FileKind.INSERT, FileKind.CHANGE_DELETE)
    files = [_file(number, kinds[number % 3]) for number in range(count)]
    base = [file for file in files if file.kind is FileKind.BASE]
    change = [file for file in files if file.kind is not FileKind.BASE]
    snapshot = TableSnapshot(base_snapshot_id=1, change_snapshot_id=2, change_sequence_number=count)

    def run() -> None:
        plan_scan(
            table_name="bench.plan",
            base=base,
            position_deletes=(),
            change=change,
            snapshot=snapshot,
            key_ids=(KEY_ID,),
            key_types=("long",),
            row_filter=None,
            options=OPTIONS,
            already_pruned=PruneCounts(),
        )

    return Figure(
        title=f"plan {count:,} files, a third deletes", run=run, count=count, noun="files"
    )


def _file(number: int, kind: FileKind) -> KeyedFile:
    """Return one of 100 partitions' files; its keys are a hundredth of all."""
    node = TreeNode(MASK, number // 3 % (MASK + 1))
    low = number * 7_919 % 990_000
    transaction = 0 if kind is FileKind.BASE else number + 1
    return KeyedFile(
        path=f"s3://bucket/bench/data/{node.node_id}-{kind.value}-0-00000-0-1-{number:05d}.parquet",
        kind=kind,
        node=node,
        partition=(number // 3 // (MASK + 1) % 100,),
        transaction_id=transaction,
        sequence_number=number + 1,
        size_bytes=1_000_000 + number % 1_000 * 50_000,
        record_count=10_000,
        bounds={KEY_ID: ColumnBounds(lower=low, upper=low + 10_000, null_count=0)},
    )
