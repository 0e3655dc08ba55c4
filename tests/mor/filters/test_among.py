"""Reads of rows with some keys: those of a plain read that have one, of fewer row groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.filters.among import Among
from arctic.mor.read import read_group
from arctic.mor.touched import Touched
from arctic.table.filters.predicate import ColumnTest, Op
from tests.factories.tables import field
from tests.mor.local_files import ID, TABLE, TEXT, LocalFiles, group, request, task

NUMBER = field("number", pa.int64(), 3)
WIDE = pa.schema([*TABLE, NUMBER])


@given(
    ids=st.lists(st.integers(0, 40), unique=True, max_size=30),
    deleted=st.lists(st.integers(0, 40), unique=True, max_size=10),
    inserted=st.lists(st.integers(0, 40), unique=True, max_size=10),
    wanted=st.lists(
        st.tuples(st.integers(-2, 42), st.none() | st.sampled_from(["", "a", "b"])), max_size=8
    ),
    columns=st.sampled_from([("id",), ("text",), ("id", "text"), ("text", "id")]),
)
def test_no_wanted_row_is_left_out(
    ids: list[int],
    deleted: list[int],
    inserted: list[int],
    wanted: list[tuple[int, str | None]],
    columns: tuple[str, ...],
) -> None:
    """Base rows in order or not, inserts and deletes of keys; values of the key or beside it."""

    def row(number: int) -> dict[str, object]:
        return {"id": number, "text": [None, "", "a", "c"][number % 4], "number": number}

    chosen = [dict(zip(("id", "text"), each, strict=True)) for each in wanted]
    fields = pa.schema([{"id": ID, "text": TEXT}[name].with_nullable(True) for name in columns])
    among = Among(pa.Table.from_pylist(chosen, schema=fields))
    with TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        base = files.base([row(each) for each in ids], schema=WIDE, row_group_size=3)
        deletes = files.deletes(
            [row(each) | {"_file_offset": at} for at, each in enumerate(deleted, 1)],
            2,
            schema=WIDE,
            row_group_size=2,
        )
        more = files.insert(
            [row(each) | {"_file_offset": at} for at, each in enumerate(inserted, 1)],
            1,
            schema=WIDE,
        )
        tasks = group(task(base, more, deletes=[deletes]))
        every = files.read(tasks, request(WIDE))
        found = files.read(tasks, replace(request(WIDE), among=among))

    values = {tuple(each[name] for name in columns) for each in chosen}
    assert found == [each for each in every if tuple(each[name] for name in columns) in values]


@given(
    ids=st.lists(st.integers(0, 40), unique=True, max_size=30),
    wanted=st.lists(st.integers(-2, 42), max_size=30),
    low=st.integers(-1, 41),
)
def test_a_filter_beside_values_drops_the_same_rows(
    ids: list[int], wanted: list[int], low: int
) -> None:
    """Whether few rows are left for it to test, or many, or none."""
    rows = [{"id": each, "text": None, "number": each % 7} for each in ids]
    test = ColumnTest(op=Op.GE, field_id=1, column="id", literal=low)
    among = Among(pa.table({"id": wanted}, schema=pa.schema([ID])))
    with TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        tasks = group(task(files.base(rows, schema=WIDE, row_group_size=9)))
        found = files.read(tasks, replace(request(WIDE), row_filter=test, among=among))

    assert found == [row for row in rows if row["id"] in set(wanted) and row["id"] >= low]


def test_row_groups_without_a_wanted_key_stay_unread(tmp_path: Path) -> None:
    """By their bounds; of the others, columns are read only where a key was found."""
    files = LocalFiles(tmp_path)
    rows = [{"id": 2 * at, "text": f"t{at}"} for at in range(10_000)]
    tasks = group(task(files.base(rows, row_group_size=1_000)))
    keys = pa.table({"id": [3, 2_004, 6_000]}, schema=pa.schema([ID]))
    touched = Touched()
    asked = replace(request(), among=Among(keys))
    found = [
        row for batch in read_group(tasks, asked, files.open, touched) for row in batch.to_pylist()
    ]

    assert found == [{"id": 2_004, "text": "t1002"}, {"id": 6_000, "text": "t3000"}]
    assert (touched.outside_bounds, touched.without_match, touched.read) == (7, 1, 2)
