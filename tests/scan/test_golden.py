"""Plans as text: each file of tests/golden says what is in a table, and how its plan reads.

A file has a title, facts, files and, after a line ``plan:``, the expected text. To write the
texts anew after a change that is meant to show: ``UPDATE_GOLDEN=1 pytest tests/scan``; then read
the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from arctic.options import (
    OPEN_FILE_COST,
    PARALLEL_MULTIPLE,
    PARALLELISM,
    TARGET_SIZE,
    VECTOR_MIN_ROWS,
    WEIGHT_RATIO,
)
from arctic.scan.explain import explain_plan
from arctic.scan.plan_scan import ScanPlan, plan_scan
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import PruneCounts, ScanOptions
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.filters.predicate import ColumnTest, Op, Predicate, conjunction
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from tests.factories.files import KEY, KEY_ID, named_file

FOLDER = Path(__file__).parent.parent / "golden"
CASES = sorted(FOLDER.glob("*.txt"))
KINDS = {
    "base": FileKind.BASE,
    "insert": FileKind.INSERT,
    "delete": FileKind.CHANGE_DELETE,
    "position-delete": FileKind.POS_DELETE,
}


@dataclass(slots=True, kw_only=True)
class Case:
    """One golden file, while it is read."""

    options: dict[str, str] = field(default_factory=dict)
    merged: dict[Partition, int] = field(default_factory=dict)
    store: str = "merged"
    verbose: bool = False
    row_filter: Predicate | None = None
    already_pruned: PruneCounts = field(default_factory=PruneCounts)
    files: dict[FileKind, list[TableFile]] = field(
        default_factory=lambda: {kind: [] for kind in FileKind}
    )

    def plan(self) -> ScanPlan:
        """Plan what the file describes."""
        change = [*self.files[FileKind.INSERT], *self.files[FileKind.CHANGE_DELETE]]
        base, deletes = self.files[FileKind.BASE], self.files[FileKind.POS_DELETE]
        sequence_number = max((file.sequence_number for file in change), default=0)
        snapshot = TableSnapshot(
            base_snapshot_id=811 if base else None,
            change_snapshot_id=912 if change else None,
            change_sequence_number=sequence_number,
            optimized_sequence=self.merged,
        )
        options = ScanOptions(
            weight_ratio=WEIGHT_RATIO.value(self.options),
            parallel_multiple=PARALLEL_MULTIPLE.value(self.options),
            parallelism=PARALLELISM.value(self.options) or 2,
            target_bytes=TARGET_SIZE.value(self.options),
            open_file_cost_bytes=OPEN_FILE_COST.value(self.options),
            vector_min_rows=VECTOR_MIN_ROWS.value(self.options),
        )
        files = StoreFiles(
            base=tuple(base),
            position_deletes=tuple(deletes),
            change=tuple(change),
            pruned=self.already_pruned,
        )
        is_merged = self.store == "merged"
        alone = files.of_base() if self.store == "base" else files.of_change()
        return plan_scan(
            ScanInput(
                table_name="db.t",
                is_merged_view=is_merged,
                files=files if is_merged else alone,
                snapshot=snapshot,
                key=KEY if is_merged else (),
                ordering=(),
                engine=MergeEngine.LAST_ROW,
                row_filter=self.row_filter,
                options=options,
                set_apart=SetApart.NOTHING,
                takes_others=False,
                nodes=None,
            )
        )


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_plan_reads_as_expected(path: Path) -> None:
    """The whole text, line by line."""
    described, _, expected = path.read_text().partition("\nplan:\n")
    case = _case(described)
    text = explain_plan(case.plan(), verbose=case.verbose) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(f"{described}\nplan:\n{text}")
    else:
        assert expected == text


def test_there_are_golden_plans() -> None:
    """An empty folder would test nothing."""
    assert CASES


def _case(described: str) -> Case:
    case = Case()
    for line in described.splitlines():
        name, _, rest = line.partition(":")
        if not line or line.startswith("#"):
            continue
        if name == "options":
            case.options |= dict(_pairs(rest))
        elif name == "merged":
            case.merged |= {_partition(key): int(value) for key, value in _pairs(rest)}
        elif name == "pruned":
            case.already_pruned = PruneCounts(**{key: int(value) for key, value in _pairs(rest)})
        elif name == "filter":
            case.row_filter = conjunction(tuple(map(_test, rest.split(" and "))))
        elif name == "store":
            case.store = rest.strip()
        elif name == "explain":
            case.verbose = rest.strip() == "verbose"
        else:
            for file in _files(line):
                case.files[file.kind].append(file)
    return case


def _files(line: str) -> Iterator[TableFile]:
    """Read ``kind name size=1MiB rows=5 seq=3 keys=1..9 in=eu of=NAME``, or ``n x`` that.

    ``{n}`` stands for the number of the copy, ``{n%4}`` for its remainder.
    """
    words = line.split()
    count = int(words[0]) if words[1] == "x" else 1
    template = " ".join(words[2:] if words[1] == "x" else words)
    for number in range(count):
        text = template.replace("{n}", str(number))
        for divisor in (2, 4, 50):
            text = text.replace(f"{{n%{divisor}}}", str(number % divisor))
            text = text.replace(f"{{4+n%{divisor}}}", str(4 + number % divisor))
        kind, name, *facts = text.split()
        yield _file(KINDS[kind], name, dict(fact.split("=") for fact in facts))


def _file(kind: FileKind, name: str, facts: dict[str, str]) -> TableFile:
    lower, _, upper = facts.get("keys", "").partition("..")
    return named_file(
        kind,
        name,
        sequence_number=int(facts["seq"]),
        partition=_partition(facts.get("in", "")),
        size_bytes=TARGET_SIZE.value({"target-size": facts["size"]}),
        record_count=int(facts["rows"]),
        keys=(int(lower), int(upper)) if lower else None,
        referenced_path=f"s3://w/db/t/data/{facts['of']}" if "of" in facts else None,
    )


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        key, _, value = word.partition("=")
        yield key, value


def _partition(text: str) -> Partition:
    return tuple(None if value == "null" else value for value in text.split("/")) if text else ()


def _test(text: str) -> ColumnTest:
    column, op, literal = text.split()
    return ColumnTest(op=Op(op), field_id=KEY_ID, column=column, literal=int(literal))
