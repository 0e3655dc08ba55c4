"""Parts of keys: every row is in one of them, with all others of its key."""

from __future__ import annotations

import pyarrow as pa

from arctic.mor.key_parts import key_parts
from arctic.mor.request import ReadRequest
from arctic.table.files import FileKind
from tests.factories.files import table_file
from tests.mor.local_files import KEY, TABLE

REQUEST = ReadRequest(
    schema=TABLE,
    key=KEY,
    key_types=("long",),
    row_filter=None,
    max_delete_bytes=2**20,
    batch_rows=100,
    verifies_pages=True,
    name_mapping=None,
)


def test_each_key_is_in_one_part_and_none_holds_most_of_them() -> None:
    """Also the keys of one node, whose hashes end in the same bits."""
    file = table_file(path="f.parquet", kind=FileKind.BASE, size=1_000)
    ids = pa.array([16 * number for number in range(2_000)] * 2)
    batch = pa.record_batch([ids, ids.cast(pa.string())], schema=TABLE)

    found = list(key_parts([file, file], held_bytes=500))
    held = [part.of(batch, REQUEST).column("id").to_pylist() for part in found]
    assert len(found) == 4
    assert sorted(key for keys in held for key in keys) == sorted(ids.to_pylist())
    assert all(len(keys) == 2 * len(set(keys)) for keys in held)
    assert all(len(keys) < 1_500 for keys in held)


def test_what_fits_is_one_part() -> None:
    """Without files too, whose rows nobody has to look at."""
    for files in ([], [table_file(path="f.parquet", kind=FileKind.BASE, size=1_000)]):
        (part,) = key_parts(files, held_bytes=1_000)
        batch = pa.record_batch([pa.array([1]), pa.array(["x"])], schema=TABLE)
        assert part.of(batch, REQUEST) is batch
