"""How far a micro-batch goes: whole commits, at least one of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from arctic.scan.changes.change_limit import ChangeLimit, Cut, cut_changes
from arctic.table.files import FileKind, TableFile
from tests.factories.files import name_of, named_file


def commit(sequence_number: int, files: int = 2) -> list[TableFile]:
    """Return files of 100 bytes and 10 rows each."""
    return [
        named_file(
            FileKind.INSERT,
            name_of(FileKind.INSERT, number=number),
            sequence_number=sequence_number,
        )
        for number in range(files)
    ]


def beginning(files: int) -> list[TableFile]:
    """Return base files of 100 bytes and 10 rows each."""
    return [
        named_file(FileKind.BASE, name_of(FileKind.BASE, number=number)) for number in range(files)
    ]


THREE = [*commit(3), *commit(5), *commit(4)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What lies ahead, a limit, and where it cuts."""

    id: str
    limit: ChangeLimit
    cut: Cut
    first: int = 0


CASES = [
    Case(id="no limit takes all", limit=ChangeLimit(), cut=Cut(first_files=0, last_sequence=None)),
    Case(
        id="a commit is never cut",
        limit=ChangeLimit(max_files=1),
        cut=Cut(first_files=0, last_sequence=3),
    ),
    Case(
        id="commits go by number, not by the order they are listed in",
        limit=ChangeLimit(max_files=5),
        cut=Cut(first_files=0, last_sequence=4),
    ),
    Case(
        id="bounds are inclusive",
        limit=ChangeLimit(max_bytes=400),
        cut=Cut(first_files=0, last_sequence=4),
    ),
    Case(
        id="the narrowest bound counts",
        limit=ChangeLimit(max_files=6, max_bytes=10_000, max_rows=39),
        cut=Cut(first_files=0, last_sequence=3),
    ),
    Case(
        id="the beginning is cut between files",
        first=3,
        limit=ChangeLimit(max_rows=20),
        cut=Cut(first_files=2, last_sequence=0),
    ),
    Case(
        id="commits follow the beginning if there is room",
        first=3,
        limit=ChangeLimit(max_files=6),
        cut=Cut(first_files=3, last_sequence=3),
    ),
    Case(
        id="a commit that does not fit waits",
        first=3,
        limit=ChangeLimit(max_files=4),
        cut=Cut(first_files=3, last_sequence=0),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_micro_batch_ends_where_its_limit_says(case: Case) -> None:
    """Whatever comes first is taken, what follows only as far as it fits."""
    assert case.cut == cut_changes(beginning(case.first), THREE, limit=case.limit)
