"""Dead rows that tasks are sent with what they read, where an engine has no other way to them.

Rules:
    - No task is sent more of them than an engine takes for small. Where there are more, tasks are
      more; and of a file that alone has too many, a task merges the deletes itself.

Must not know: engines by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from arctic.scan.task import NodeTask, NodeTaskGroup

_MOST_BYTES = 512 * 2**10
"""Of packed dead rows in a task: as text they are a third more, and Spark warns of tasks beyond
1,000 KiB, because its driver sends each to an executor by itself."""


def sent_in_parts(
    group: NodeTaskGroup, known: Mapping[str, bytes]
) -> Iterator[tuple[NodeTaskGroup, Mapping[str, bytes]]]:
    """Divide a group into what tasks read, each with the dead rows of its files.

    Args:
        group: of a plan.
        known: the dead rows of files, packed, by path.

    Yields:
        Groups that merge nothing whose dead rows are sent, with these; together all of it once.
    """
    tasks: list[NodeTask] = []
    sent: dict[str, bytes] = {}
    for task, more in chain.from_iterable(_parts(task, known) for task in group.tasks):
        if sent and _size(sent) + _size(more) > _MOST_BYTES:
            yield replace(group, tasks=tuple(tasks)), sent
            tasks, sent = [], {}
        tasks.append(task)
        sent |= more
    yield replace(group, tasks=tuple(tasks)), sent


def _parts(
    task: NodeTask, known: Mapping[str, bytes]
) -> Iterator[tuple[NodeTask, Mapping[str, bytes]]]:
    """Yield a task by files, without deletes of those whose dead rows are sent."""
    if any(part.file.path not in known for part in task.data):
        yield task, {}
        return
    sizes = [(part, len(known[part.file.path])) for part in task.data]
    merged = tuple([part for part, size in sizes if size > _MOST_BYTES])
    if merged:
        yield replace(task, data=merged), {}
    for part, size in sizes:
        if size <= _MOST_BYTES:
            data = (replace(part, position_deletes=()),)
            alone = replace(task, data=data, change_deletes=(), rivals=())
            yield alone, {part.file.path: known[part.file.path]}


def _size(sent: Mapping[str, bytes]) -> int:
    return sum(map(len, sent.values()))
