"""Dividing the work of a heavy node by ranges of its first key column.

Rules:
    - The ranges cover every key once, so each row belongs to exactly one of them.
    - Cuts lie where a base file begins: files of one node seldom overlap, so most are read once.
    - Where bounds do not tell, or a key may be null, nothing is divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.table.keyed_table import Column
from arctic.table.predicate import ColumnTest, Op, Predicate, conjunction


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPart:
    """A range of the first key column, and the files that can hold rows in it."""

    row_range: Predicate | None
    """None: the only part."""
    files: tuple[FileTask, ...]
    bytes: int
    """Of the files, by the share that falls to this part."""


def divide_by_key(
    files: Sequence[FileTask], *, column: Column | None, ranges: FileRanges, max_bytes: int
) -> tuple[KeyPart, ...]:
    """Divide files into parts of at most about ``max_bytes``.

    Args:
        files: data files of one subtree, at least one.
        column: the first key column; None for an unkeyed table, which has no ranges.
        ranges: of the primary key.
        max_bytes: of one part; files that begin at the same key stay together.

    Returns:
        Parts in key order; one when nothing can or need be divided.
    """
    total = sum(task.file.size_bytes for task in files)
    cuts = [] if column is None else _cuts(files, ranges, total=total, max_bytes=max_bytes)
    if not cuts or column is None:
        return (KeyPart(row_range=None, files=tuple(files), bytes=total),)
    edges = list(zip([None, *cuts], [*cuts, None], strict=True))
    held = [[_touches(task, ranges, low, high) for low, high in edges] for task in files]
    return tuple(
        KeyPart(
            row_range=_row_range(column, low, high),
            files=tuple(task for task, places in zip(files, held, strict=True) if places[number]),
            bytes=sum(
                task.file.size_bytes // sum(places)
                for task, places in zip(files, held, strict=True)
                if places[number]
            ),
        )
        for number, (low, high) in enumerate(edges)
        if any(places[number] for places in held)
    )


def _cuts(
    files: Sequence[FileTask], ranges: FileRanges, *, total: int, max_bytes: int
) -> list[Any]:
    if total <= max_bytes:
        return []
    bounds = [ranges.of(task.file).columns[0] for task in files]
    if any(bound.may_be_null or bound.lower is None for bound in bounds):
        return []
    base = sorted(
        (bound.lower, task.file.size_bytes)
        for task, bound in zip(files, bounds, strict=True)
        if task.file.kind is FileKind.BASE
    )
    base_bytes = sum(size for _, size in base)
    # Inserts are spread over all parts, so a part has room for its share of base only.
    room = max(1, max_bytes * base_bytes // total)
    cuts: list[Any] = []
    filled = 0
    for lower, size in base:
        if filled and filled + size > room and (not cuts or cuts[-1] < lower):
            cuts.append(lower)
            filled = 0
        filled += size
    # A cut at the least key of all would leave the part before it without a row.
    least = min(bound.lower for bound in bounds)
    return [cut for cut in cuts if cut > least]


def _touches(task: FileTask, ranges: FileRanges, low: Any, high: Any) -> bool:
    bound = ranges.of(task.file).columns[0]
    above = low is None or bound.upper is None or bound.upper >= low
    return above and (high is None or bound.lower < high)


def _row_range(column: Column, low: Any, high: Any) -> Predicate | None:
    tests = []
    if low is not None:
        tests.append(_test(column, Op.GE, low))
    if high is not None:
        tests.append(_test(column, Op.LT, high))
    return conjunction(tuple(tests))


def _test(column: Column, op: Op, literal: Any) -> ColumnTest:
    return ColumnTest(op=op, field_id=column.field_id, column=column.name, literal=literal)
