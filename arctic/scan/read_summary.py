"""A plan in a few numbers: what a read opens, and what it leaves out and why."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.scan.explain import KIND_NAMES, left_out
from arctic.scan.plan_scan import ScanPlan
from arctic.table.files import TableFile


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedKind:
    """The files of one kind that a read opens, each counted once."""

    kind: str
    files: int
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Files that a read need not open, for one reason."""

    files: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSummary:
    """What one read considers, leaves out and opens."""

    row_filter: str | None
    considered_files: int
    opened: tuple[OpenedKind, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def opened_files(self) -> int:
        """Of all kinds."""
        return sum(each.files for each in self.opened)


def summed_up(plan: ScanPlan) -> ReadSummary:
    """Sum a plan up, with the files that an engine reads by itself."""
    return ReadSummary(
        row_filter=None if plan.row_filter is None else str(plan.row_filter),
        considered_files=plan.considered_files,
        opened=_opened(plan),
        left_out=tuple(
            LeftOut(files=number, reason=f"{noun}{'' if number == 1 else 's'} {reason}")
            for number, noun, reason in left_out(plan.pruned)
        ),
    )


def _opened(plan: ScanPlan) -> tuple[OpenedKind, ...]:
    files: dict[str, TableFile] = {}
    for group in (*plan.groups, *plan.dirty_groups, *plan.clean_groups):
        for task in group.tasks:
            for part in task.data:
                files[part.file.path] = part.file
                files |= {each.path: each for each in part.position_deletes}
            files |= {each.path: each for each in task.change_deletes}
    kinds = []
    for kind, name in KIND_NAMES.items():
        found = [file for file in files.values() if file.kind is kind]
        if found:
            kinds.append(
                OpenedKind(
                    kind=name,
                    files=len(found),
                    rows=sum(file.record_count for file in found),
                    size_bytes=sum(file.size_bytes for file in found),
                )
            )
    return tuple(kinds)
