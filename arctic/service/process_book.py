"""Processes, written into the history as they are asked for, begun and ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arctic.optimizing.report import OptimizeReport
from arctic.service.history.history_file import History
from arctic.service.history.process_record import ProcessStatus
from arctic.service.history.task_log import TaskLog
from arctic.service.table_work import Outcome, Worked

_STATUS = {
    Outcome.DONE: ProcessStatus.DONE,
    Outcome.LEASED: ProcessStatus.LEASED,
    Outcome.OUTRUN: ProcessStatus.LEASED,
    Outcome.FAILED: ProcessStatus.FAILED,
    Outcome.STOPPED: ProcessStatus.LOST,
    Outcome.CANCELLED: ProcessStatus.CANCELLED,
    Outcome.GONE: ProcessStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class ProcessBook:
    """Writes down what becomes of processes."""

    history: History
    now_ms: Callable[[], int]

    def asked(self, table: str, kind: str, type: str | None) -> int:
        """Take note that a call wants a process, and return its id; kinds as in ``began``."""
        return self.history.begin(
            table=table,
            kind=kind,
            trigger="call",
            status=ProcessStatus.WAITING,
            type=type,
            reason="asked for",
            asked_ms=self.now_ms(),
        )

    def began(
        self, table: str, kind: str, *, process_id: int | None, predicted_ms: int | None
    ) -> TaskLog:
        """Take note that a process has begun, and return where its tasks are noted.

        Args:
            table: its table.
            kind: ``optimize``, ``clean``, ``publish`` or ``refresh``.
            process_id: of one that a call wanted; None: it is new.
            predicted_ms: slot time that it is reckoned with.
        """
        now_ms = self.now_ms()
        facts = {
            "status": ProcessStatus.RUNNING,
            "started_ms": now_ms,
            "predicted_ms": predicted_ms,
        }
        if process_id is None:
            process_id = self.history.begin(
                table=table, kind=kind, trigger="service", asked_ms=now_ms, **facts
            )
        else:
            self.history.update(process_id, **facts)
        return TaskLog(self.history, process_id, self.now_ms)

    def dropped(self, process_id: int, status: ProcessStatus) -> None:
        """Take note that a process is over that never began."""
        self.history.update(process_id, status=status, ended_ms=self.now_ms())

    def ended(self, log: TaskLog, worked: Worked) -> None:
        """Take note of what came of a process."""
        facts: dict[str, Any] = {
            "status": _STATUS[worked.outcome],
            "ended_ms": self.now_ms(),
            "slot_ms": log.slot_ms,
            "failure": worked.failure,
        }
        report = worked.report
        if isinstance(report, OptimizeReport):
            facts |= {
                "files_before": report.before.files,
                "bytes_before": report.before.bytes,
                "files_after": report.after.files,
                "bytes_after": report.after.bytes,
                "bytes_written": report.bytes_written,
                "tasks": report.tasks,
            }
            if report.type is not None:
                facts |= {"type": report.type.value, "reason": report.partitions[0].reason}
        elif report is not None:
            facts |= {
                "type": "dry run" if report.dry_run else None,
                "reason": "; ".join(report.notes) or None,
            }
        self.history.update(log.process_id, **facts)
