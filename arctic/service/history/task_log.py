"""What the tasks of one process do, written down as it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arctic.optimizing.optimize_task import OptimizeResult
from arctic.service.event_log import why
from arctic.service.history.history_file import History
from arctic.service.history.process_record import ProcessStatus, TaskRecord


@dataclass(slots=True)
class TaskLog:
    """Writes the tasks of one process into the history."""

    history: History
    process_id: int
    now_ms: Callable[[], int]
    slot_ms: int = 0
    """That the tasks took so far, in all."""

    def began(self, number: int, executor: str, rows: int) -> None:
        """Take note that an executor has begun a task."""
        record = TaskRecord(
            number=number,
            executor=executor,
            status=ProcessStatus.RUNNING,
            rows_in=rows,
            started_ms=self.now_ms(),
        )
        self.history.begin_task(self.process_id, record)

    def ended(self, number: int, executor: str, result: Any, used_ms: int) -> None:
        """Take note that a task is done."""
        facts: dict[str, Any] = {}
        if isinstance(result, OptimizeResult):
            facts = {
                "files_out": len(result.files),
                "rows_out": sum(file.record_count for file in result.files),
                "bytes_out": sum(file.size_bytes for file in result.files),
            }
        self._end(number, executor, ProcessStatus.DONE, used_ms, **facts)

    def failed(
        self, number: int, executor: str, error: BaseException, used_ms: int, *, is_lost: bool
    ) -> None:
        """Take note that a task failed, or that its executor died."""
        status = ProcessStatus.LOST if is_lost else ProcessStatus.FAILED
        self._end(number, executor, status, used_ms, failure=why(error))

    def _end(
        self, number: int, executor: str, status: ProcessStatus, used_ms: int, **facts: Any
    ) -> None:
        self.slot_ms += used_ms
        self.history.end_task(
            self.process_id,
            number,
            executor,
            status=status,
            ended_ms=self.now_ms(),
            **facts,
        )
