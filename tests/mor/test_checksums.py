"""Data files that were damaged or swapped after Arctic wrote them."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.errors import FormatError
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table import footer_checksum
from arctic.writing.files.parquet_output import FooterSink, ParquetOutput
from tests.writing.local_table import make_target

ROWS = 300


def written(folder: Path, name: str = "a.parquet", first: int = 0) -> Path:
    """Write a file of three row groups as every writer of Arctic's does."""
    target = make_target(folder)
    output = ParquetOutput(target, str(folder / name), target.schema)
    for start in range(first, first + ROWS, 100):
        ids = range(start, start + 100)
        columns = {"id": ids, "region": ["eu"] * 100, "amount": ids, "note": map(str, ids)}
        output.write(pa.table({key: list(values) for key, values in columns.items()}))
    output.finish()
    assert output.size_bytes == (folder / name).stat().st_size
    return folder / name


def read(path: Path, size: Size | None = None) -> pa.Table:
    """Read a whole file."""
    with ParquetInput(str(path), pa.OSFile, size) as parquet:
        return parquet.read(parquet.schema.names)


def test_one_wrong_bit_changes_no_value(tmp_path: Path) -> None:
    """In pages, in their headers, in the footer: it is named, or it was in nobody's way."""
    path = written(tmp_path)
    content, truth, draw = path.read_bytes(), read(path), random.Random(3)
    for at in range(0, len(content), 7):
        bit = 1 << draw.randrange(8)
        path.write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
        try:
            assert read(path).equals(truth)
        except FormatError as error:
            assert repr(str(path)) in error.message  # noqa: PT017 - most bits make one


def test_another_file_under_the_name_is_recognised(tmp_path: Path) -> None:
    """Though it has as many bytes and rows, and every checksum of its own is right."""
    path, other = written(tmp_path, "a.parquet"), written(tmp_path, "b.parquet")
    size = Size(path.stat().st_size, ROWS)
    assert other.stat().st_size == size.size_bytes
    path.write_bytes(other.read_bytes())
    with pytest.raises(FormatError, match="the checksum of its footer does not match"):
        read(path, size)


@pytest.mark.parametrize("wrong", [Size(1, ROWS), Size(0, 1)], ids=["bytes", "rows"])
def test_a_file_is_what_its_manifest_says(tmp_path: Path, wrong: Size) -> None:
    """As long, and with as many rows."""
    path = written(tmp_path)
    wrong = wrong._replace(size_bytes=wrong.size_bytes or path.stat().st_size)
    with pytest.raises(FormatError, match="by its manifest"):
        read(path, wrong)


def test_a_file_of_another_writer_is_read(tmp_path: Path) -> None:
    """It has no checksum of its own, but what pyarrow copies from the schema of what it read."""
    path = written(tmp_path)
    plain = tmp_path / "plain.parquet"
    pq.write_table(pq.read_table(path), plain)
    assert footer_checksum.KEY.encode() in plain.read_bytes()
    assert read(plain).equals(read(path))
    pq.write_table(pq.read_table(path).replace_schema_metadata(), plain)
    assert read(plain).equals(read(path))


def test_a_large_footer_is_read_in_full(tmp_path: Path) -> None:
    """Beyond what is fetched with the end of the file, and covered as well."""
    path = tmp_path / "wide.parquet"
    table = pa.table({f"column {number} of many": [number] for number in range(1_000)})
    with pa.OSFile(str(path), "wb") as output:
        sink = FooterSink(str(path), output)
        writer = pq.ParquetWriter(pa.PythonFile(sink, mode="w"), table.schema)
        writer.write_table(table)
        writer.add_key_value_metadata({footer_checksum.KEY: footer_checksum.unknown(str(path))})
        sink.hold_footer()
        writer.close()
        sink.write_footer()
    content = path.read_bytes()
    assert int.from_bytes(content[-8:-4], "little") > 2**16
    assert read(path).equals(table)
    path.write_bytes(content.replace(b"column 7 of many", b"column 8 of many", 1))
    with pytest.raises(FormatError, match="the checksum of its footer"):
        read(path)
