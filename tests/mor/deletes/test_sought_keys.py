"""Keys that a read seeks in a file: rows stay the same, and files without such a key unread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.filters.among import Among
from arctic.mor.read import read_group
from arctic.mor.touched import Touched
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import ROOT, TreeNode
from tests.factories.tables import field
from tests.mor.local_files import ID, TEXT, LocalFiles, Row, group, request, task

KEYS = st.lists(st.integers(0, 40), unique=True, max_size=20)
VERSION = field("version", pa.int64(), 3, nullable=False)


def _row(number: int, text: str, offset: int | None = None) -> Row:
    return {"id": number, "text": text} | ({} if offset is None else {"_file_offset": offset})


def _is_of(number: int, node: TreeNode) -> bool:
    found = int(hash_arrays([pa.array([number], pa.int64())], ["long"])[0])
    return found & node.mask == node.index


@given(
    base=KEYS,
    changes=st.lists(st.tuples(KEYS, KEYS), max_size=4),
    wanted=KEYS,
    depth=st.integers(0, 2),
    max_delete_bytes=st.sampled_from([1, 2**20]),
)
def test_rows_are_those_of_a_plain_read_with_a_wanted_key(
    base: list[int],
    changes: list[tuple[list[int], list[int]]],
    wanted: list[int],
    depth: int,
    max_delete_bytes: int,
) -> None:
    """Of every node, whichever commits deleted and inserted a key, and however often it is."""
    nodes = [TreeNode((1 << depth) - 1, index) for index in range(1 << depth)]
    with TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        tasks = []
        for node in nodes:
            data = [files.base([_row(k, "b") for k in base if _is_of(k, node)], 1, node=node)]
            deletes = []
            for transaction, (gone, new) in enumerate(changes, start=1):
                dead = [_row(k, "", at) for at, k in enumerate(gone, 1) if _is_of(k, node)]
                rows = [_row(k, f"{transaction}", at) for at, k in enumerate(new, 5)]
                own = [row for row in rows if _is_of(row["id"], node)]
                deletes += [files.deletes(dead, transaction, node=node)] if dead else []
                data += [files.insert(own, transaction, node=node)] if own else []
            tasks.append(task(*data, deletes=deletes, node=node))
        asked = request(max_delete_bytes=max_delete_bytes)
        every = files.read(group(*tasks), asked)
        among = Among(pa.table({"id": wanted}, schema=pa.schema([ID])))
        found = files.read(group(*tasks), replace(asked, among=among))

    assert found == [row for row in every if row["id"] in set(wanted)]


@pytest.mark.parametrize("deleted_by", [3, 4])
def test_a_key_is_sought_only_where_no_later_delete_has_it(tmp_path: Path, deleted_by: int) -> None:
    """A delete of the file's own transaction may lie before its rows, so these are looked at."""
    files = LocalFiles(tmp_path)
    keys = list(range(100))
    base = files.base([_row(key, "b") for key in keys], 3)
    deletes = files.deletes([_row(key, "", at) for at, key in enumerate(keys, 1)], deleted_by)
    inserts = files.insert([_row(key, "i", 200 + key) for key in keys], deleted_by)
    among = Among(pa.table({"id": keys[10:60]}, schema=pa.schema([ID])))
    touched = Touched()
    tasks = group(task(base, inserts, deletes=[deletes]))
    batches = list(read_group(tasks, replace(request(), among=among), files.open, touched))

    read = [(row["id"], row["text"]) for batch in batches for row in batch.to_pylist()]
    is_later = deleted_by > 3
    assert read == ([] if is_later else [(k, "b") for k in keys[10:60]]) + [
        (k, "i") for k in keys[10:60]
    ]
    assert (touched.row_groups, touched.outside_bounds) == (2, is_later)


def test_values_of_rows_decide_before_transactions(tmp_path: Path) -> None:
    """With an ordering column a later delete may lose, so the key is sought in base as ever."""
    files = LocalFiles(tmp_path)
    schema = pa.schema([ID, TEXT, VERSION])
    base = files.base([_row(1, "b") | {"version": 9}], 0, schema=schema)
    deletes = files.deletes([_row(1, "", 1) | {"version": 5}], 4, schema=schema)
    among = Among(pa.table({"id": [1]}, schema=pa.schema([ID])))
    asked = replace(request(schema), among=among, ordering=pa.schema([VERSION]))
    tasks = group(task(base, deletes=[deletes]))

    assert files.read(tasks, asked) == [{"id": 1, "text": "b", "version": 9}]


def test_part_of_a_key_is_sought_in_every_file(tmp_path: Path) -> None:
    """Whoever deleted one key with a value may have left another with it."""
    files = LocalFiles(tmp_path)
    base = files.base([_row(1, "a"), _row(1, "b")], 0)
    deletes = files.deletes([_row(1, "a", 1)], 4)
    key = pa.schema([ID, TEXT])
    among = Among(pa.table({"id": [1]}, schema=pa.schema([ID])))
    asked = replace(request(key=key), key_types=("long", "string"), among=among)
    tasks = group(task(base, deletes=[deletes], node=ROOT))

    assert files.read(tasks, asked) == [{"id": 1, "text": "b"}]
