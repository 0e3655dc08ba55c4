"""Pages are compared with their checksums where the option says so, and before rows are copied."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.errors import FormatError
from arctic.job.tasks.run_tasks import LocalRunner

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("region", pa.string()),
        ("amount", pa.float64()),
        ("note", pa.string()),
    ]
)
PLAIN = {"write.parquet.compression-codec": "uncompressed"}
VERIFIED = {"read.verify-checksums": "true"}


def rows(start: int, end: int) -> pa.Table:
    """Return rows whose amounts are all different, so that they are stored as they are."""
    return pa.Table.from_pylist(
        [
            {"id": number, "region": "eu", "amount": number * 1.25, "note": "n"}
            for number in range(start, end)
        ],
        schema=SCHEMA,
    )


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """Return a table with a wrong bit in an amount, which no codec looks at."""
    made = arctic.create_table(
        "c.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=["region"],
        properties=PLAIN,
        warehouse=str(tmp_path),
    )
    made.write(rows(0, 2_000), mode="overwrite")
    damage(made, "amount")
    return made


def damage(table: arctic.Table, column: str) -> None:
    """Turn one bit of a column over."""
    path = table.inspect("files").column("path")[0].as_py()
    file = Path(urlparse(path).path)
    content = file.read_bytes()
    place = pq.read_metadata(file).row_group(0).column(SCHEMA.names.index(column))
    at = place.data_page_offset + place.total_compressed_size // 2
    file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def test_a_scan_compares_pages_where_the_option_says_so(table: arctic.Table) -> None:
    """Given to the call, or a property of the table; otherwise rows come as the file has them."""
    read = table.read().read_all()
    assert read.num_rows == 2_000
    assert not read.sort_by("id").equals(rows(0, 2_000))

    with pytest.raises(FormatError, match=r"c/t/.*CRC"):
        table.read(options=VERIFIED).read_all()
    table.set_properties(VERIFIED)
    with pytest.raises(FormatError, match=r"c/t/.*CRC"):
        table.read().read_all()
    off = {"read.verify-checksums": "false"}
    assert table.read(options=off).read_all().equals(read)


@pytest.mark.parametrize("type_", ["major", "full"])
def test_optimizing_never_copies_a_damaged_page(table: arctic.Table, type_: str) -> None:
    """It would get a checksum that fits it; whatever the table says of its reads."""
    table.set_properties({"read.verify-checksums": "false"})
    table.write(rows(0, 1_999), mode="upsert")
    before = table.inspect("files")
    with pytest.raises(FormatError, match=r"c/t/.*CRC"):
        table.optimize(type=type_, runner=LocalRunner(1))

    assert table.inspect("files").equals(before)


def test_an_upsert_that_keeps_values_never_copies_a_damaged_page(table: arctic.Table) -> None:
    """It looks them up, and would write them anew."""
    lacking = rows(990, 1_010).select(["id", "region"])
    with pytest.raises(FormatError, match=r"c/t/.*CRC"):
        table.write(lacking, mode="upsert", options={"missing-columns": "keep"})
