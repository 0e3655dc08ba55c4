"""Many small files that are merged together, beside one at a time: the rows are the same."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.mor import read, small_files
from arctic.mor.files import decoded_size
from arctic.mor.files.file_columns import FileColumns
from arctic.mor.request import CHANGE_ACTION_FIELD, TRANSACTION_ID_FIELD, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTaskGroup
from arctic.table.files import TableFile
from arctic.table.filters.predicate import ColumnTest, Op
from arctic.table.merge_engine import MergeEngine
from tests.factories.tables import field
from tests.mor.local_files import ID, LocalFiles, group, request, task

AT = field("at", pa.int64(), 3)
OTHERS = {
    "wide": pa.schema([ID, field("text", pa.string(), 2), AT]),
    "renamed": pa.schema([ID, field("words", pa.string(), 2), AT]),
    "narrow": pa.schema([field("id", pa.int32(), 1, nullable=False), AT]),
}
"""Layouts that one table's files may have: columns came, were renamed, and were widened."""
SCHEMA = OTHERS["wide"]


def rows_one_by_one(files: LocalFiles, tasks: NodeTaskGroup, wanted: ReadRequest) -> list[object]:
    """Read every file by itself, and find its columns anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "LEAST_FILES", 2**40)
        patch.setattr(FileColumns, "are_those_of", lambda *_: False)
        return [list(row.items()) for row in files.read(tasks, wanted)]


@st.composite
def written(draw: st.DrawFn, files: LocalFiles, kind: str) -> TableFile:
    """Write a few rows of any layout, in one row group or in several."""
    schema = draw(st.sampled_from(list(OTHERS.values())))
    row = st.tuples(
        st.integers(0, 5), st.none() | st.sampled_from(["", "long " * 9]), st.integers(0, 3)
    )
    rows = [
        {"id": key, "text": text, "words": text, "at": at, "_file_offset": place}
        for place, (key, text, at) in enumerate(draw(st.lists(row, max_size=4)))
    ]
    number, more = draw(st.integers(1, 4)), {"row_group_size": draw(st.integers(1, 4))}
    if kind == "insert":
        return files.insert(rows, number, schema=schema, **more)
    if kind == "deletes":
        return files.deletes(rows, number, schema=schema, **more)
    return files.base(rows, number, schema=schema, **more)


@given(st.data())
def test_files_that_are_joined_have_the_rows_of_each(data: st.DataObject) -> None:
    """Whatever their layouts and transactions, the deletes, the order of rows and the filter."""
    with tempfile.TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        parts: list[TableFile | FileTask] = [
            data.draw(written(files, data.draw(st.sampled_from(["insert", "insert", "base"]))))
            for _ in range(data.draw(st.integers(1, 7)))
        ]
        if data.draw(st.booleans(), label="positions"):
            first = parts[0]
            assert isinstance(first, TableFile)
            gone = files.position_deletes([(first.path, 0)])
            parts[0] = FileTask(file=first, position_deletes=(gone,))
        deletes = [
            data.draw(written(files, "deletes")) for _ in range(data.draw(st.integers(0, 3)))
        ]
        ordering, engine = data.draw(
            st.sampled_from(
                [
                    (pa.schema([]), MergeEngine.LAST_ROW),
                    (pa.schema([AT]), MergeEngine.LAST_ROW),
                    (pa.schema([]), MergeEngine.FIRST_ROW),
                ]
            )
        )
        more = data.draw(st.sampled_from([[], [TRANSACTION_ID_FIELD], [CHANGE_ACTION_FIELD]]))
        number = ColumnTest(op=Op.GE, field_id=3, column="at", literal=2)
        wanted = replace(
            request(
                pa.schema([*SCHEMA, *more][data.draw(st.integers(0, 3)) :]),
                row_filter=data.draw(st.sampled_from([None, None, number])),
                max_delete_bytes=data.draw(st.sampled_from([1, 2**20])),
                batch_rows=data.draw(st.sampled_from([1, 5, 1000])),
            ),
            ordering=ordering,
            engine=engine,
        )
        tasks = group(task(*parts, deletes=deletes))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(read, "LEAST_FILES", 1)
            found = [list(row.items()) for row in files.read(tasks, wanted)]
        assert found == rows_one_by_one(files, tasks, wanted)


def small_inserts(files: LocalFiles, count: int) -> list[TableFile]:
    """Write files of one row."""
    return [
        files.insert([{"id": at, "text": "x", "_file_offset": 1}], at + 1) for at in range(count)
    ]


def test_joined_files_are_looked_up_together_and_counted_each(tmp_path: Path) -> None:
    """One look at the deletes for all, and the counts of a read say what they said."""
    files = LocalFiles(tmp_path)
    inserts = small_inserts(files, small_files.LEAST_FILES + 2)
    deletes = files.deletes([{"id": 3, "_file_offset": 0}], 6)
    touched = Touched()
    batches = list(
        read.read_group(group(task(*inserts, deletes=[deletes])), request(), files.open, touched)
    )
    assert [row["id"] for batch in batches for row in batch.to_pylist()] == [0, 1, 2, *range(4, 10)]
    assert (touched.files, touched.row_groups, touched.merged, touched.passed) == (10, 10, 6, 4)
    assert len(files.opened) == len(set(files.opened)) == 11


def test_memory_of_joined_files_has_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is reached they are handed on, and others are joined."""
    files = LocalFiles(tmp_path)
    joined: list[int] = []
    survivors = small_files.SmallFiles.survivors

    def counted(self: small_files.SmallFiles, some: small_files.JoinedFiles) -> pa.RecordBatch:
        joined.append(len(some.files))
        return survivors(self, some)

    monkeypatch.setattr(small_files.SmallFiles, "survivors", counted)
    monkeypatch.setattr(small_files, "BATCH_BYTES", 100)
    monkeypatch.setattr(decoded_size, "_FEW_BYTES", 0)  # of a hundred bytes none are few
    assert len(files.read(group(task(*small_inserts(files, 9))), request())) == 9
    assert sum(joined) == 9
    assert 1 < max(joined) < 9


@pytest.mark.parametrize("number", [0, 5, 11])
def test_a_joined_file_that_is_wrong_is_named(tmp_path: Path, number: int) -> None:
    """Though its rows were held against deletes together with those of others."""
    files = LocalFiles(tmp_path)
    inserts = small_inserts(files, 12)
    wrong = [{"id": 7, "text": "x", "_file_offset": None}]
    inserts[number] = files.insert(wrong, 3)
    deletes = files.deletes([{"id": 7, "_file_offset": 0}], 20)
    with pytest.raises(FormatError, match="have no '_file_offset'") as caught:
        files.read(group(task(*inserts, deletes=[deletes])), request())
    assert inserts[number].path in str(caught.value)


@pytest.mark.parametrize("number", [0, 2])
def test_a_file_of_deletes_that_is_wrong_is_named(tmp_path: Path, number: int) -> None:
    """Though its columns were found in the one before."""
    files = LocalFiles(tmp_path)
    deletes: Sequence[TableFile] = [
        files.deletes([{"id": 1, "_file_offset": None if at == number else 0}], at + 1)
        for at in range(3)
    ]
    base = files.base([{"id": 1, "text": "x"}])
    with pytest.raises(FormatError, match="have no '_file_offset'") as caught:
        files.read(group(task(base, deletes=deletes)), request())
    assert deletes[number].path in str(caught.value)
