"""How much of a task's rows is sorted in memory."""

from __future__ import annotations

import dataclasses

import pyarrow as pa

from arctic.machine_memory import memory_bytes
from arctic.optimizing.sorting.ordered_rows import RowOrder

ORDER = RowOrder(
    terms=(), schema=pa.schema([]), sorts=False, buffer_bytes=None, tasks=1, fragment_bytes=1
)


def test_what_is_said_holds_and_else_tasks_share_what_there_is() -> None:
    """Of all that run at once none takes more than its part of the memory."""
    assert dataclasses.replace(ORDER, buffer_bytes=7, tasks=9).room_bytes() == 7
    assert ORDER.room_bytes() == max(2**24, min(2**29, memory_bytes() // 8))
