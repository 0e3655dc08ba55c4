"""Metadata in gzip: one member, what is long compressed once, and a checksum in its header."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

import arctic
from arctic.errors import FormatError
from arctic.iceberg.storage import many_snapshots, packed_metadata
from arctic.iceberg.storage.checksum import LONG_PART, check, sealed
from arctic.iceberg.storage.kept_metadata import KEPT
from arctic.iceberg.storage.packed_metadata import PACKED, packed

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())])
CODEC = "write.metadata.compression-codec"


def part(number: int, length: int) -> bytes:
    """Return bytes that compress a little."""
    return bytes(random.Random(number).choices(range(97, 113), k=length))


@pytest.mark.parametrize(
    "lengths",
    [
        (1,),
        (0,),
        (5, LONG_PART, 7),
        (5, LONG_PART - 1, 3, LONG_PART, LONG_PART + 9, 2),
        (LONG_PART, LONG_PART, LONG_PART),
        (3, 2 * LONG_PART, 0),
    ],
)
def test_a_file_is_one_member_of_gzip(lengths: tuple[int, ...]) -> None:
    """Whatever parts it has, also where another one began as it does."""
    parts = [part(number, length) for number, length in enumerate(lengths)]
    for given in (parts, [*parts, part(9, 50)], parts[:1], [*parts[:1], part(8, LONG_PART)]):
        content = b"".join(sealed("/x/1.gz.metadata.json", packed(given)))
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)

        assert member.decompress(content) == b"".join(given)
        assert member.eof
        assert member.unused_data == b""
        assert check("/y/1.gz.metadata.json", content)


def test_damage_and_another_name_are_noticed() -> None:
    """By Arctic's checksum, wherever the damage is."""
    content = b"".join(sealed("/x/1.gz.metadata.json", packed([b"{", part(1, LONG_PART), b"}"])))
    assert gzip.decompress(content)
    for place in (20, 60, 90, len(content) // 2, len(content) - 1):
        damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        with pytest.raises((FormatError, AssertionError)):
            assert check("/x/1.gz.metadata.json", damaged)
    with pytest.raises(FormatError, match="checksum does not match"):
        check("/x/2.gz.metadata.json", content)


def test_what_is_long_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the next files it comes again."""
    packed_metadata._PIECES.forget()
    lengths: list[int] = []
    deflated = packed_metadata._deflated

    def counted(given: bytes, end: int) -> bytes:
        lengths.append(len(given))
        return deflated(given, end)

    monkeypatch.setattr(packed_metadata, "_deflated", counted)
    blocks = [part(number, LONG_PART) for number in range(3)]
    for count in (2, 3, 3):
        packed([b"{", *blocks[:count], b"}"])
    assert [length for length in lengths if length > 1] == [LONG_PART] * 3


@pytest.mark.parametrize(
    ("properties", "commits", "is_packed"),
    [({}, 2, False), ({}, 3, True), ({CODEC: "none"}, 3, False), ({CODEC: "gzip"}, 1, True)],
)
def test_many_snapshots_are_compressed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    properties: dict[str, str],
    commits: int,
    is_packed: bool,
) -> None:
    """Unless the table says otherwise; and every reader goes by the name of the file."""
    monkeypatch.setattr(packed_metadata, "MANY_SNAPSHOTS", 3)
    monkeypatch.setattr(packed_metadata, "LONG_PART", 500)
    monkeypatch.setattr(many_snapshots, "_BLOCK_BYTES", 500)
    table = arctic.create_table(
        "db.t", SCHEMA, primary_key=(), properties=properties, warehouse=str(tmp_path)
    )
    for number in range(commits):
        rows = pa.table({"id": [number], "text": ["x"]}, schema=SCHEMA)
        table.write(rows, mode="append")
    place = table.refresh()._opened.base.metadata_location

    assert place.endswith(PACKED) is is_packed
    KEPT.forget()
    ids = arctic.read("db.t", warehouse=str(tmp_path)).read_all()["id"].to_pylist()
    assert sorted(ids) == list(range(commits))
    assert len(StaticTable.from_metadata(place).scan().to_arrow()) == commits
    content = Path(place.removeprefix("file://")).read_bytes()
    said = json.loads(gzip.decompress(content) if is_packed else content)
    assert len(said["snapshots"]) == len(said["snapshot-log"]) == commits
    assert check(place, content)


def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is not compressed."""
    monkeypatch.setattr(packed_metadata, "MANY_SNAPSHOTS", 1)
    table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    table.write(pa.table({"id": [1], "text": ["x"]}, schema=SCHEMA), mode="upsert")
    change = table.refresh()._opened.change
    assert change is not None
    path = Path(change.metadata_location.removeprefix("file://"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content))
    KEPT.forget()

    with pytest.raises(FormatError, match=path.name):
        arctic.read("db.t", warehouse=str(tmp_path))
