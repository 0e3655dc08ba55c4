"""Which columns get a dictionary, and that Parquet agrees on their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.table.files import FileKind
from arctic.tree.node import ROOT
from arctic.writing.files.encoding import choose_encoding
from arctic.writing.files.node_files import Destination, NodeFiles
from tests.factories.tables import field
from tests.writing.local_table import make_target, new_task

ROWS = 100_000
RANDOM = np.random.default_rng(7)
COLUMNS: dict[str, tuple[Any, bool]] = {
    "id": (np.arange(ROWS), False),
    "shuffled": (RANDOM.permutation(ROWS), False),
    "customer": (RANDOM.integers(0, 60_000, ROWS), False),
    "price": (np.round(RANDOM.gamma(2.0, 20.0, ROWS), 1), True),
    "measure": (RANDOM.random(ROWS), False),
    "quantity": (RANDOM.integers(0, 20, ROWS), True),
    "constant": (np.zeros(ROWS, np.int64), True),
    "status": (RANDOM.choice(["placed", "paid", "packed"], ROWS), True),
    "text": (RANDOM.integers(0, 2**60, ROWS).astype(str), False),
    "flag": (RANDOM.integers(0, 2, ROWS).astype(bool), False),
}
"""Values, and whether they repeat enough for a dictionary."""
ZSTD = pa.Codec("zstd")
KEYS = RANDOM.integers(-(2**63), 2**63 - 1, ROWS)
SEALED: dict[str, tuple[Any, bool]] = {
    "id": (pa.array(range(ROWS)), True),
    "key": (pa.array(KEYS), False),
    "key in order": (pa.array(np.sort(KEYS)), False),
    "half empty": (pa.array([key if at % 2 else None for at, key in enumerate(KEYS)]), False),
    "nothing": (pa.nulls(ROWS, pa.int64()), True),
    "uuid": (pa.array([RANDOM.bytes(16) for _ in range(ROWS)], pa.binary(16)), False),
    "near": (pa.array(RANDOM.integers(0, 2**40, ROWS)), True),
    "moment": (pa.array(KEYS).view(pa.timestamp("us")), False),
    "hexadecimal": (pa.array([RANDOM.bytes(8).hex() for _ in range(ROWS)]), True),
    "random bytes": (pa.array([RANDOM.bytes(9) for _ in range(ROWS)]), True),
    "decimal": (pa.array(COLUMNS["customer"][0]).cast(pa.decimal128(21, 2)), True),
    "flag": (pa.array(RANDOM.integers(0, 2, ROWS).astype(bool)), True),
    "begins alike": (pa.array(np.where(np.arange(ROWS) < ROWS // 3, 7, KEYS)), True),
}
"""Values, and whether the codec is for them."""


@pytest.mark.parametrize("name", COLUMNS)
def test_a_dictionary_is_for_values_that_repeat(name: str) -> None:
    """Ids, times and measures go without."""
    values, expected = COLUMNS[name]

    encoding = choose_encoding(
        pa.table({name: values}), dictionary_bytes=2**20, allow_delta=False, codec=None
    )

    assert encoding.dictionary == ((name,) if expected else ())
    assert encoding.delta == ()


def test_a_dictionary_that_would_be_too_large_is_not_begun() -> None:
    """The writer would throw it away halfway."""
    rows = pa.table({"price": COLUMNS["price"][0]})

    assert (
        choose_encoding(rows, dictionary_bytes=1_000, allow_delta=False, codec=None).dictionary
        == ()
    )


@pytest.mark.parametrize("name", SEALED)
def test_a_codec_is_for_columns_that_it_makes_smaller(name: str) -> None:
    """Not for keys that are random; whatever cannot be told beforehand is compressed."""
    values, expected = SEALED[name]
    rows = pa.table({"id": SEALED["id"][0], "x": values})

    chosen = choose_encoding(rows, dictionary_bytes=2**20, allow_delta=False, codec=ZSTD)

    assert chosen.compressed == (None if expected else ("id",))


def test_where_nothing_compresses_no_column_is_tried() -> None:
    """Then all columns are alike."""
    rows = pa.table({"key": KEYS})

    for codec, expected in ((None, None), (ZSTD, ())):
        chosen = choose_encoding(rows, dictionary_bytes=2**20, allow_delta=False, codec=codec)
        assert chosen.compressed == expected


@pytest.mark.parametrize("settings", [{}, {"compression_level": 3}, {"compression": "gzip"}])
def test_random_keys_are_in_a_file_as_they_are(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Beside them others are compressed; a file of them alone has no codec at all."""
    schema = pa.schema([field("key", pa.int64(), 1), field("id", pa.int64(), 2)])
    rows = pa.table([KEYS, np.arange(ROWS)], schema=schema)
    found = []
    for names in (["key", "id"], ["key"]):
        part = rows.select(names)
        target = make_target(tmp_path, schema=part.schema, key=(), **settings)
        files = NodeFiles(
            target, new_task(), schemas={FileKind.BASE: part.schema}, transaction_id=0
        )
        files.add(Destination(partition=(), node=ROOT, kind=FileKind.BASE), part)
        (written,) = files.close()
        group = pq.read_metadata(written.path).row_group(0)
        found += [group.column(at).compression for at in range(group.num_columns)]
        assert pq.read_table(written.path).equals(part)

    codec = settings.get("compression", "zstd").upper()
    assert found == ["UNCOMPRESSED", codec, "UNCOMPRESSED"]


def test_nothing_is_chosen_for_a_column_without_values() -> None:
    """Change deletes have many of them."""
    rows = pa.table({"a": pa.nulls(5_000, pa.string()), "b": pa.nulls(5_000, pa.int64())})

    assert (
        choose_encoding(rows, dictionary_bytes=2**20, allow_delta=False, codec=None).dictionary
        == ()
    )


def test_very_few_bytes_are_written_plainly() -> None:
    """Whatever they are: to look at them takes longer than a dictionary could save."""
    rows = pa.table({"constant": COLUMNS["constant"][0], "id": COLUMNS["id"][0]})

    for count, dictionary in ((1_000, ()), (2_000, ("constant",))):
        encoding = choose_encoding(
            rows[:count], dictionary_bytes=2**20, allow_delta=True, codec=ZSTD
        )
        assert encoding.dictionary == dictionary
        assert encoding.delta == (("id",) if dictionary else ())


def test_integers_and_times_without_a_dictionary_may_be_differences() -> None:
    """Where the table allows it; texts and floats never."""
    counted = [
        pa.int32(), pa.int64(), pa.date32(), pa.time64("us"), pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
    ]  # fmt: skip
    numbers = pa.array(range(1_000))
    arrays = {
        str(kind): numbers.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
        for kind in counted
    }
    others = {"float": numbers.cast(pa.float64()), "text": numbers.cast(pa.string())}
    rows = pa.table({**arrays, **others, "decimal": numbers.cast(pa.decimal128(21, 2))})

    encoding = choose_encoding(rows, dictionary_bytes=2**20, allow_delta=True, codec=ZSTD)

    assert encoding.delta == tuple(arrays)


@pytest.mark.parametrize("delta_encoding", [False, True])
@pytest.mark.parametrize("count", [600, 10_000])
def test_every_type_is_written_as_chosen_and_read_back(
    tmp_path: Path, count: int, delta_encoding: bool
) -> None:
    """Names of nested columns are those of the file, or a choice would be lost."""
    element = field("element", pa.int64(), 11)
    kinds: dict[str, pa.DataType] = {
        "id": pa.int64(),
        "name.with.dots": pa.string(),
        "list": pa.list_(element),
        "struct": pa.struct([field("x", pa.int64(), 12), field("y", pa.list_(element), 13)]),
        "map": pa.map_(
            field("key", pa.string(), 14, nullable=False), field("value", pa.int64(), 15)
        ),
        "fixed": pa.binary(4),
        "decimal": pa.decimal128(20, 2),
        "nothing": pa.string(),
    }
    schema = pa.schema(
        [field(name, kind, number) for number, (name, kind) in enumerate(kinds.items(), start=1)]
    )
    rows = pa.Table.from_pylist(
        [
            {
                "id": number, "name.with.dots": str(number % 3), "list": [number % 2, None],
                "struct": None if number % 5 else {"x": number % 2, "y": [number]},
                "map": {str(number % 4): number}, "fixed": b"abcd", "decimal": None,
            }
            for number in range(count)
        ],
        schema=schema,
    )  # fmt: skip
    target = make_target(tmp_path, schema=schema, key=(), delta_encoding=delta_encoding)
    files = NodeFiles(target, new_task(), schemas={FileKind.BASE: schema}, transaction_id=0)
    files.add(Destination(partition=(), node=ROOT, kind=FileKind.BASE), rows)
    (written,) = files.close()

    chosen = choose_encoding(rows, dictionary_bytes=2**20, allow_delta=delta_encoding, codec=ZSTD)
    group = pq.read_metadata(written.path).row_group(0)
    encodings = {
        column.path_in_schema: column.encodings
        for column in (group.column(index) for index in range(group.num_columns))
    }
    assert pq.read_table(written.path).to_pylist() == rows.to_pylist()
    assert {name for name, used in encodings.items() if "RLE_DICTIONARY" in used} == {
        *chosen.dictionary
    }
    assert {name for name, used in encodings.items() if "DELTA_BINARY_PACKED" in used} == {
        *chosen.delta
    }
    assert {"struct.x", "list.list.element", "map.key_value.key"} <= {*chosen.dictionary}
    assert ("map.key_value.value" in chosen.delta) == delta_encoding
