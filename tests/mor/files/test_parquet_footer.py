"""Times of 96 bits: of every year, and whichever of both a table says they are."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.errors import FormatError
from arctic.mor.files.parquet_footer import is_int96, with_int96_marked
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import FileKind
from arctic.table.filters.predicate import ColumnTest, Op
from tests.factories.tables import field
from tests.mor.local_files import LocalFiles, group, request, task

TIMES = [
    datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 - a wall clock has no zone
    datetime(1600, 2, 29, 1),  # noqa: DTZ001
    None,
    datetime(1, 1, 1),  # noqa: DTZ001
    datetime(2024, 2, 29, 12, 0, 0, 1),  # noqa: DTZ001
]
ZONES = ["UTC", None]


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for the files of one test."""
    return LocalFiles(tmp_path)


def in_zone(time: datetime | None, zone: str | None) -> datetime | None:
    """Return a time as a column with a zone or without one has it."""
    return time if time is None or zone is None else time.replace(tzinfo=timezone.utc)


@pytest.mark.parametrize("written", ZONES)
@pytest.mark.parametrize("wanted", ZONES)
def test_times_of_every_year_are_read_with_a_zone_and_without(
    files: LocalFiles, written: str | None, wanted: str | None
) -> None:
    """In columns and within structs and lists; a filter finds them."""
    kind, target = pa.timestamp("us", written), pa.timestamp("us", wanted)
    stored = pa.table(
        [
            pa.array(TIMES, kind),
            pa.array([{"at": each, "all": [each]} for each in TIMES],
                     pa.struct({"at": kind, "all": pa.list_(kind)})),
        ],
        schema=pa.schema(
            [
                field("at", kind, 5),
                field("s", pa.struct([field("at", kind, 7),
                                      field("all", pa.list_(field("element", kind, 9)), 8)]), 6),
            ]
        ),
    )  # fmt: skip
    file = files.write(FileKind.BASE, stored, use_deprecated_int96_timestamps=True)
    nested = [field("at", target, 7), field("all", pa.list_(field("element", target, 9)), 8)]
    schema = pa.schema([field("at", target, 5), field("s", pa.struct(nested), 6)])
    due: list[Any] = [in_zone(each, wanted) for each in TIMES]
    expected = [{"at": each, "s": {"at": each, "all": [each]}} for each in due]

    assert files.read(group(task(file)), request(schema)) == expected
    for at in (0, 1, 4):
        test = ColumnTest(op=Op.EQ, field_id=5, column="at", literal=micros(TIMES[at]))
        found = files.read(group(task(file)), request(schema, row_filter=test))
        assert found == [expected[at]]


def micros(time: datetime | None) -> int:
    """Return a time as filters have it."""
    number: int = pa.scalar(time, pa.timestamp("us")).cast(pa.int64()).as_py()
    return number


def test_times_are_found_in_wide_and_deep_files() -> None:
    """Wherever they are: their types are looked at as one text, which nothing may cut."""
    kind: pa.DataType = pa.timestamp("us")
    for depth in range(60):
        kind = pa.struct([(f"a field with a long name {depth}", kind), ("n", pa.int64())])
    plain = [(f"column {number}", pa.int64()) for number in range(3_000)]
    schema = pa.schema([*plain, ("deep", kind), *plain, ("last", pa.timestamp("us"))])
    schema = pa.schema([(f"{at}", field.type) for at, field in enumerate(schema)])
    written = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), written, use_deprecated_int96_timestamps=True)
    metadata = pq.read_metadata(pa.BufferReader(written.getvalue()))

    found = with_int96_marked(schema, metadata)

    assert is_int96(found.field(len(found) - 1))
    kind = found.field(3_000).type
    while pa.types.is_struct(kind.field(0).type):
        kind = kind.field(0).type
    assert is_int96(kind.field(0))
    assert not is_int96(kind.field(1))


def test_what_is_finer_than_a_microsecond_is_cut_off(files: LocalFiles) -> None:
    """To the earlier one, before 1970 too, as Iceberg and Spark do."""
    kind = pa.timestamp("ns")
    stored = pa.table([pa.array([1_999, -1], kind)], schema=pa.schema([field("at", kind, 5)]))
    file = files.write(FileKind.BASE, stored, use_deprecated_int96_timestamps=True)
    wanted = pa.schema([field("at", pa.timestamp("us"), 5)])

    found = files.read(group(task(file)), request(wanted))

    assert [micros(row["at"]) for row in found] == [1, -1]


def test_other_times_without_a_zone_are_no_instants(files: LocalFiles) -> None:
    """Beside those of 96 bits in one file; the file itself says so of them."""
    kind = pa.timestamp("us")
    stored = pa.table([TIMES], schema=pa.schema([field("at", kind, 5)]))
    old = files.write(FileKind.BASE, stored, use_deprecated_int96_timestamps=True)
    new = files.write(FileKind.BASE, stored)
    wanted = pa.schema([field("at", pa.timestamp("us", "UTC"), 5)])
    for path, expected in ((old.path, "INT96"), (new.path, "INT64")):
        assert pq.read_metadata(path).schema.column(0).physical_type == expected
        with ParquetInput(path, pa.OSFile) as parquet:
            assert parquet.schema.field("at").type == kind

    with pytest.raises(FormatError, match="cannot be read as timestamp"):
        files.read(group(task(old, new)), request(wanted))
    with pytest.raises(FormatError, match="cannot be read as timestamp"):
        files.read(group(task(*[old] * 8, new)), request(wanted))
