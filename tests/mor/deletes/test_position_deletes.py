"""Position deletes: rows counted over the whole file, delete files read once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.errors import FormatError, InternalError
from arctic.mor.files.parquet_input import ParquetInput
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.table.filters.predicate import ColumnTest, Op
from tests.factories.tables import field
from tests.mor.local_files import POSITION_DELETES, LocalFiles, group, request, task


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for the files of one test."""
    return LocalFiles(tmp_path)


def numbered(files: LocalFiles, count: int, **more: int) -> TableFile:
    """Write a base file whose row ``n`` has id ``n``."""
    return files.base([{"id": at, "text": "x"} for at in range(count)], 1, **more)


def ids(
    files: LocalFiles, *tasks: FileTask, deletes: tuple[TableFile, ...] = (), **more: object
) -> list[int]:
    """Read data files as one task and return their ids."""
    wanted = request(**more)  # type: ignore[arg-type]
    return [row["id"] for row in files.read(group(task(*tasks, deletes=deletes)), wanted)]


def test_positions_count_over_row_groups_that_are_left_out(files: LocalFiles) -> None:
    """A pruned row group still has its rows."""
    base = numbered(files, 20, row_group_size=4)
    deletes = files.position_deletes([(base.path, at) for at in (0, 9, 10, 19)])
    data = FileTask(file=base, position_deletes=(deletes,))
    kept = [8, 11, *range(12, 19)]
    test = ColumnTest(op=Op.GE, field_id=1, column="id", literal=8)
    assert ids(files, data, row_filter=test, batch_rows=3) == kept


@given(
    deleted=st.lists(st.integers(0, 59), max_size=40),
    wanted=st.sets(st.integers(0, 70), max_size=3),
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 7)),
    apart=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_a_look_at_few_rows_finds_the_same_as_a_read_of_all(
    tmp_path_factory: pytest.TempPathFactory,
    deleted: list[int],
    wanted: set[int],
    sizes: tuple[int, int],
    apart: int,
) -> None:
    """Of two data files that share their delete files, which are in any order and row groups."""
    files = LocalFiles(tmp_path_factory.mktemp("few"))
    bases = [numbered(files, 60, row_group_size=sizes[0]) for _ in range(2)]
    rows = [(bases[at % 2].path, position) for at, position in enumerate(deleted)]
    deletes = tuple(
        files.position_deletes(rows[part::apart], row_group_size=sizes[1]) for part in range(apart)
    )
    data = [FileTask(file=base, position_deletes=deletes) for base in bases]
    test = ColumnTest(op=Op.IN, field_id=1, column="id", literal=tuple(sorted(wanted)))
    every = ids(files, *data)
    assert ids(files, *data, row_filter=test) == [each for each in every if each in wanted]


def test_a_look_at_few_rows_reads_positions_near_them(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the bounds of row groups; none where no row can match."""
    base = numbered(files, 100, row_group_size=10)
    deletes = files.position_deletes([(base.path, at) for at in range(0, 100, 2)], row_group_size=5)
    decoded = []
    plain = ParquetInput.batches

    def batches(
        self: ParquetInput, names: list[str], groups: list[int], *more: int, **how: Any
    ) -> Any:
        if "pos" in names:
            decoded.extend(groups)
        return plain(self, names, groups, *more, **how)

    monkeypatch.setattr(ParquetInput, "batches", batches)
    data = FileTask(file=base, position_deletes=(deletes,))
    test = ColumnTest(op=Op.IN, field_id=1, column="id", literal=(34, 35))
    assert ids(files, data, row_filter=test) == [35]
    assert decoded == [3]
    files.opened.clear()
    assert ids(files, data, row_filter=replace(test, literal=(134, 135))) == []
    assert files.opened == [Path(base.path).name]


def test_a_file_that_many_share_is_read_once_for_few_rows_too(files: LocalFiles) -> None:
    """Where its positions are in no order of theirs, each would read most of it again."""
    bases = [numbered(files, 100, row_group_size=10) for _ in range(4)]
    rows = [(base.path, at) for base in bases for at in range(0, 100, 2)]
    deletes = files.position_deletes(rows, row_group_size=100)
    data = [FileTask(file=base, position_deletes=(deletes,)) for base in bases]
    test = ColumnTest(op=Op.IN, field_id=1, column="id", literal=(34, 35))
    assert ids(files, *data, row_filter=test) == [35] * 4
    assert files.opened.count(Path(deletes.path).name) == 1


def test_positions_and_change_deletes_apply_together(files: LocalFiles) -> None:
    """Each kind kills its own rows; pieces of change deletes change nothing."""
    base = numbered(files, 10, row_group_size=3)
    positions = files.position_deletes([(base.path, 2), (base.path, 3)])
    deletes = files.deletes([{"id": at, "_file_offset": at} for at in (3, 4, 8)], 2)
    data = FileTask(file=base, position_deletes=(positions,))
    for max_delete_bytes in (1, 2**20):
        found = ids(
            files, data, deletes=(deletes,), max_delete_bytes=max_delete_bytes, batch_rows=2
        )
        assert found == [0, 1, 5, 6, 7, 9]


def test_several_files_in_any_order_make_one_set(files: LocalFiles) -> None:
    """Positions may repeat, be unsorted, or lie beyond the file."""
    base = numbered(files, 6)
    deletes = tuple(
        files.position_deletes([(base.path, at) for at in positions])
        for positions in ([5, 1, 1], [1, 700], [])
    )
    assert ids(files, FileTask(file=base, position_deletes=deletes)) == [0, 2, 3, 4]


def test_a_path_is_compared_byte_for_byte(files: LocalFiles) -> None:
    """Another spelling of the same path names another file."""
    base = numbered(files, 3)
    deletes = files.position_deletes([(f"file:{base.path}", 0), (base.path.upper(), 1)])
    assert ids(files, FileTask(file=base, position_deletes=(deletes,))) == [0, 1, 2]


def test_a_delete_file_is_read_once_for_a_group(files: LocalFiles) -> None:
    """However many data files of however many tasks it is attached to."""
    bases = [numbered(files, 3) for _ in range(3)]
    deletes = files.position_deletes([(base.path, at) for at, base in enumerate(bases)])
    tasks = [task(FileTask(file=base, position_deletes=(deletes,))) for base in bases]
    found = files.read(group(*tasks), request())
    assert [row["id"] for row in found] == [1, 2, 0, 2, 0, 1]
    assert files.opened.count(Path(deletes.path).name) == 1


def test_columns_are_found_by_id_or_else_by_name(files: LocalFiles) -> None:
    """Writers that carry no ids use the names of the format."""
    base = numbered(files, 4)
    renamed = [field("path", pa.large_string(), 2147483546), field("row", pa.int32(), 2147483545)]
    for schema in (pa.schema(renamed), POSITION_DELETES.remove_metadata()):
        table = pa.table([[base.path], [1]], schema=schema)
        deletes = files.write(FileKind.POS_DELETE, table)
        assert ids(files, FileTask(file=base, position_deletes=(deletes,))) == [0, 2, 3]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"pos": [1]}), "no column 'file_path'"),
        (pa.table({"file_path": ["x"]}), "no column 'pos'"),
        (pa.table({"file_path": ["x"], "pos": pa.array([None], pa.int64())}), "is null"),
        (pa.table({"file_path": pa.array([None], pa.string()), "pos": [1]}), "is null"),
        (pa.table({"file_path": ["x"], "pos": ["1"]}), "position is string"),
        (pa.table({"file_path": [1], "pos": [1]}), "path is int64"),
    ],
)
def test_a_delete_file_of_another_shape_is_refused(
    files: LocalFiles, table: pa.Table, message: str
) -> None:
    """A delete that is not understood would let rows live, of few rows that are asked for too."""
    deletes = files.write(FileKind.POS_DELETE, table)
    data = FileTask(file=numbered(files, 9, row_group_size=3), position_deletes=(deletes,))
    for row_filter in (None, ColumnTest(op=Op.EQ, field_id=1, column="id", literal=0)):
        with pytest.raises(FormatError, match=message) as caught:
            ids(files, data, row_filter=row_filter)
        assert deletes.path in caught.value.message


def test_a_file_of_another_kind_is_not_taken_for_position_deletes(files: LocalFiles) -> None:
    """Equality deletes in base are refused while planning."""
    base = numbered(files, 1)
    wrong = replace(files.position_deletes([]), kind=FileKind.BASE)
    with pytest.raises(InternalError, match="attached as position deletes"):
        ids(files, FileTask(file=base, position_deletes=(wrong,)))
