"""A plan as text for a terminal: what is read, what was left out, how it is divided.

Rules: the text is stable (golden tests compare it) and short: a large plan is summarised, unless
every file is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from arctic.scan.plan_scan import ScanPlan
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup, PruneCounts
from arctic.table.files import FileKind, Partition, TableFile

MAX_DETAILED_TASKS = 40
"""A plan with more tasks is summarised by group."""
MAX_FILES = 12
"""Files of one kind that a task lists."""
MAX_LINES = 10
"""Groups or split nodes that a summary lists."""

KIND_NAMES = {
    FileKind.BASE: "base",
    FileKind.INSERT: "insert",
    FileKind.CHANGE_DELETE: "change delete",
    FileKind.POS_DELETE: "position delete",
}
"""What texts call the kinds of files."""
_REASONS = (
    ("merged", "change file", "already merged into base"),
    ("by_partition", "file", "of partitions that the filter excludes"),
    ("by_key", "file", "without a key that the filter asks for"),
    ("by_filter", "data file", "whose bounds the filter excludes"),
    ("listed_again", "file", "listed before"),
    ("idle_position_deletes", "position delete file", "for no data that is read"),
    ("idle_change_deletes", "change delete file", "for no row that is read"),
)


def explain_plan(plan: ScanPlan, *, verbose: bool = False) -> str:
    """Return the text of a plan, without a line break at its end.

    Args:
        plan: what was decided.
        verbose: lists every group, task and file.
    """
    tasks = [task for group in plan.groups for task in group.tasks]
    lines = [f"read of {plan.table_name}: {'merged view' if plan.is_merged_view else 'one store'}"]
    lines += _table(_facts(plan, tasks, verbose=verbose))
    if verbose or len(tasks) <= MAX_DETAILED_TASKS:
        for number, group in enumerate(plan.groups):
            lines += ["", *_group_lines(number, group, verbose=verbose)]
    else:
        lines += ["", *_group_summary(plan.groups)]
    return "\n".join(lines)


def _facts(
    plan: ScanPlan, tasks: Sequence[NodeTask], *, verbose: bool
) -> Iterator[tuple[str, str]]:
    yield "snapshot", _snapshot(plan)
    if plan.row_filter is not None:
        yield "filter", str(plan.row_filter)
    yield "options", _options(plan)
    yield from _reads(plan, tasks)
    yield from _left_out(plan.pruned)
    yield from _splits(tasks, verbose=verbose)
    yield "groups", _groups(plan, tasks)


def _table(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    previous = ""
    for name, text in facts:
        yield f"  {name if name != previous else '':<9} {text}"
        previous = name


def _snapshot(plan: ScanPlan) -> str:
    snapshot = plan.snapshot
    base = "empty" if snapshot.base_snapshot_id is None else str(snapshot.base_snapshot_id)
    if snapshot.change_snapshot_id is None:
        return f"base {base}"
    change = f"change {snapshot.change_snapshot_id} (sequence {snapshot.change_sequence_number})"
    merged = sorted(snapshot.optimized_sequence.values())
    if not merged:
        return f"base {base}, {change}, nothing merged yet"
    span = str(merged[0]) if merged[0] == merged[-1] else f"{merged[0]} to {merged[-1]}"
    where = counted(len(merged), "partition")
    return f"base {base}, {change}, merged up to sequence {span} in {where}"


def _options(plan: ScanPlan) -> str:
    options = plan.options
    return (
        f"parallelism {options.parallelism}, parallel-multiple {options.parallel_multiple}, "
        f"target-size {size_text(options.target_bytes)}, "
        f"open-file-cost {size_text(options.open_file_cost_bytes)}, "
        f"weight-ratio {options.weight_ratio:g}"
    )


def _reads(plan: ScanPlan, tasks: Sequence[NodeTask]) -> Iterator[tuple[str, str]]:
    by_path = {file.path: file for task in tasks for file in _files(task)}
    if not by_path:
        yield "reads", f"nothing of {counted(plan.considered_files, 'file')}"
        return
    size = sum(file.size_bytes for file in by_path.values())
    of = f"{len(by_path):,} of {counted(plan.considered_files, 'file')}"
    yield "reads", f"{of}, {size_text(size)}"
    for kind, name in KIND_NAMES.items():
        found = [file for file in by_path.values() if file.kind is kind]
        if found:
            rows = sum(file.record_count for file in found)
            yield "reads", f"{counted(len(found), f'{name} file')}, {counted(rows, 'row')}"
    rivals = {rival.file.path for task in tasks for rival in task.rivals}
    if rivals:
        yield "reads", f"keys of {counted(len(rivals), 'merged file')} that may outdo an insert"


def _left_out(pruned: PruneCounts) -> Iterator[tuple[str, str]]:
    for number, noun, reason in left_out(pruned):
        yield "left out", f"{counted(number, noun)} {reason}"
    if pruned.manifests:
        what = counted(pruned.manifests, "manifest")
        yield "unopened", f"{what} of excluded partitions or merged files"
    for number, reason in (
        (pruned.pairs_by_lsn, "by transaction"),
        (pruned.pairs_by_key_range, "by key range"),
    ):
        if number:
            yield "detached", f"{counted(number, 'pair')} of task and change delete, {reason}"


def _splits(tasks: Sequence[NodeTask], *, verbose: bool) -> Iterator[tuple[str, str]]:
    first_parts = [task for task in tasks if task.part_count > 1 and task.part_number == 1]
    # Groups come by cost; here the heaviest node comes first, and equal ones in table order.
    found = sorted(first_parts, key=lambda task: -task.part_count)
    shown = found if verbose else found[:MAX_LINES]
    for task in shown:
        yield "split", f"{_node(task.partition, task.node.node_id)} into {task.part_count} parts"
    if len(found) > len(shown):
        yield "split", f"... and {counted(len(found) - len(shown), 'more node')}"


def _groups(plan: ScanPlan, tasks: Sequence[NodeTask]) -> str:
    if not plan.groups:
        return "none"
    costs = [group.cost_bytes for group in plan.groups]
    text = f"{len(costs):,} of at most {plan.options.max_groups:,}, {counted(len(tasks), 'task')}"
    if len(costs) == 1:
        return f"{text}, cost {size_text(costs[0])}"
    span = f"{size_text(min(costs))} to {size_text(max(costs))}"
    return f"{text}, cost {size_text(sum(costs))}: {span} each"


def _group_summary(groups: Sequence[NodeTaskGroup]) -> Iterator[str]:
    for number, group in enumerate(groups[:MAX_LINES]):
        data = sum(len(task.data) for task in group.tasks)
        deletes = {delete.path for task in group.tasks for delete in task.change_deletes}
        partitions = {task.partition for task in group.tasks}
        yield (
            f"group {number}: cost {size_text(group.cost_bytes)}, "
            f"{counted(len(group.tasks), 'task')} in {counted(len(partitions), 'partition')}, "
            f"{counted(data, 'data file')}, "
            f"{counted(len(deletes), 'change delete')}"
        )
    if len(groups) > MAX_LINES:
        rest = [group.cost_bytes for group in groups[MAX_LINES:]]
        yield (
            f"... and {counted(len(rest), 'more group')} of cost {size_text(max(rest))} down to "
            f"{size_text(min(rest))}"
        )
    yield "explain(verbose=True) lists every file"


def _group_lines(number: int, group: NodeTaskGroup, *, verbose: bool) -> Iterator[str]:
    yield f"group {number}: cost {size_text(group.cost_bytes)}, {counted(len(group.tasks), 'task')}"
    for task in group.tasks:
        part = f", part {task.part_number} of {task.part_count}" if task.part_count > 1 else ""
        yield (
            f"  {_node(task.partition, task.node.node_id)}{part}: cost {size_text(task.cost_bytes)}"
        )
        yield from _bounded(_data_lines(task.data), "data file", verbose=verbose)
        deletes = [_file_line(delete) for delete in task.change_deletes]
        yield from _bounded(deletes, "change delete", verbose=verbose)


def _data_lines(data: Sequence[FileTask]) -> list[str]:
    return [
        "\n".join(
            (
                _file_line(part.file),
                *(_file_line(delete, mark="- ") for delete in part.position_deletes),
            )
        )
        for part in data
    ]


def _bounded(lines: Sequence[str], noun: str, *, verbose: bool) -> Iterator[str]:
    shown = lines if verbose or len(lines) <= MAX_FILES else lines[: MAX_FILES - 1]
    yield from shown
    if len(shown) < len(lines):
        yield f"    ... and {counted(len(lines) - len(shown), f'more {noun}')}"


def _file_line(file: TableFile, *, mark: str = "") -> str:
    order = f"transaction {file.transaction_id}"
    if file.sequence_number != file.transaction_id:
        order += f", sequence {file.sequence_number}"
    return (
        f"    {mark + KIND_NAMES[file.kind]:<17} {size_text(file.size_bytes):>10}"
        f" {counted(file.record_count, 'row'):>16}  {order}  {file.path.rsplit('/', 1)[-1]}"
    )


def _files(task: NodeTask) -> Iterator[TableFile]:
    for part in task.data:
        yield part.file
        yield from part.position_deletes
    yield from task.change_deletes


def _node(partition: Partition, node_id: int) -> str:
    values = ", ".join(repr(value) for value in partition)
    return f"partition ({values}) node {node_id}" if partition else f"node {node_id}"


def left_out(pruned: PruneCounts) -> Iterator[tuple[int, str, str]]:
    """Return what was left out: how many, of what, and why."""
    for name, noun, reason in _REASONS:
        number = getattr(pruned, name)
        if number:
            yield number, noun, reason


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless there is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size_text(number: int) -> str:
    """Return a size with one decimal place, exact where it is whole.

    >>> size_text(812), size_text(4 * 2**20), size_text(1_500_000)
    ('812 B', '4 MiB', '1.4 MiB')
    """
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if number >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{number} B"
