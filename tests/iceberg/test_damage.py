"""Metadata that was damaged or swapped: an error that names the file, never other rows."""

from __future__ import annotations

import contextlib
import gzip
import random
import sqlite3
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

import arctic
from arctic.errors import ArcticError, FormatError, NotFoundError, StorageError
from arctic.iceberg.catalogs.in_database.quick_loads import KEPT_CONNECTIONS
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.metadata import entries as manifests
from arctic.iceberg.metadata import manifest_files
from arctic.iceberg.metadata.entries import live_entries, live_manifests
from arctic.iceberg.metadata.manifest_decoder import decode_manifest
from arctic.iceberg.metadata.manifest_files import manifests_of
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage import checked_io
from arctic.iceberg.storage.avro_blocks import CheckedDecoder
from arctic.iceberg.storage.checksum import check, sealed
from arctic.iceberg.tables.open_table import OpenTable
from arctic.last_used import LastUsed
from arctic.table.property_names import OPTIMIZED_SEQUENCE
from tests.iceberg.stores import append, local, make, overwrite, reopened, row


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every file anew."""
    monkeypatch.setattr(manifests, "CACHE", LastUsed())
    monkeypatch.setattr(manifests, "MAX_CACHED_BYTES", 0)


def small(folder: Path, **properties: str) -> OpenTable:
    """Return a table with two commits in each store."""
    opened = make(folder, **properties)
    for number in range(2):
        append(opened, [row(number)], [row(number)])
        overwrite(opened, [row(number + 10)], up_to=number + 1)
    refresh(opened.base)
    return opened


def manifest_of(store: Table) -> ManifestFile:
    """Return one live manifest."""
    return live_manifests(store, store.current_snapshot())[0]


def wrong_bits(content: bytes, step: int) -> Iterator[bytes]:
    """Yield copies with one wrong bit each, all over the file."""
    draw = random.Random(7)
    for at in range(draw.randrange(step), len(content), step):
        yield content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


@pytest.mark.parametrize("kind", ["manifest", "list", "puffin", "metadata"])
def test_one_wrong_bit_is_named_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Wherever it is. It changes nothing where it hides that there is a checksum."""
    opened = small(tmp_path)
    path, look = looks(opened)[kind]
    content, truth = path.read_bytes(), look()
    same = 0
    for damaged in wrong_bits(content, max(1, len(content) // 60)):
        path.write_bytes(damaged)
        try:
            assert look() == truth
            same += 1
        except FormatError as error:
            assert path.name in error.message  # noqa: PT017 - not every bit makes one
    assert same <= 9


@pytest.mark.parametrize("kind", ["manifest", "list", "puffin", "metadata"])
def test_another_valid_file_under_the_name_is_recognised(tmp_path: Path, kind: str) -> None:
    """Also one of the same table, of the same length, with as many files and rows."""
    opened = small(tmp_path)
    before = looks(opened)[kind][0].read_bytes()
    overwrite(opened, [row(11)], up_to=2)
    path, look = looks(reopened(opened))[kind]
    path.write_bytes(before)
    with pytest.raises(FormatError) as caught:
        look()
    assert path.name in caught.value.message


def looks(opened: OpenTable) -> dict[str, tuple[Path, Callable[[], object]]]:
    """Return files of a base store, each with what reads it."""
    base = opened.base
    snapshot = base.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    manifest = manifest_of(base)
    return {
        "manifest": (local(manifest.manifest_path), lambda: listed(base, manifest)),
        "list": (
            local(snapshot.manifest_list),
            lambda: [each.manifest_path for each in manifests_of(base.io, snapshot)],
        ),
        "puffin": (
            local(str(snapshot.summary[OPTIMIZED_SEQUENCE])),
            lambda: pin(opened.refreshed()),
        ),
        "metadata": (local(base.metadata_location), lambda: reopened(opened).base.metadata),
    }


def listed(store: Table, manifest: ManifestFile) -> list[str]:
    """Read a manifest as planning does, and as commits do."""
    ((_, files),) = manifests.listed_files(store.io, [manifest])
    entries = live_entries(store.io, manifest)
    return [f"{each.path} {each.sequence_number} {each.lower_bounds}" for each in files] + [
        f"{each.data_file.file_path} {each.sequence_number} {each.snapshot_id}" for each in entries
    ]


def test_compressed_metadata_of_another_engine_is_read_or_named(tmp_path: Path) -> None:
    """PyIceberg writes none; gzip has a checksum of its own."""
    path = local(small(tmp_path).base.metadata_location)
    packed = path.with_name(path.name.replace(".metadata", ".gz.metadata"))
    content = gzip.compress(path.read_bytes())
    with contextlib.closing(sqlite3.connect(tmp_path / "catalog.db")) as database, database:
        database.execute(
            "update iceberg_tables set metadata_location = replace(metadata_location, ?, ?)",
            (path.name, packed.name),
        )
    for damaged in (content[:-9], content[:40] + b"\0" + content[41:], b"", path.read_bytes()):
        packed.write_bytes(damaged)
        with pytest.raises(FormatError) as caught:
            arctic.open_table("db.t", warehouse=str(tmp_path))
        assert packed.name in caught.value.message
    packed.write_bytes(content)
    assert arctic.open_table("db.t", warehouse=str(tmp_path)).is_keyed


@pytest.mark.parametrize("kind", ["manifest", "list", "puffin", "metadata"])
def test_files_without_a_checksum_are_read_and_never_end_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Other engines write them so: damage is an error of ours, or a value that looks right."""
    monkeypatch.setattr(checked_io, "sealed", lambda _, parts: parts)
    monkeypatch.setattr("arctic.iceberg.storage.puffin.CHECKSUM", "none")
    opened = small(tmp_path)
    path, look = looks(opened)[kind]
    content = path.read_bytes()
    assert not check(str(path), content)
    look()
    for damaged in wrong_bits(content, max(1, len(content) // 80)):
        path.write_bytes(damaged)
        try:
            look()
        except ArcticError as error:
            # What looks right by itself may still contradict the table, which is named then.
            assert path.name in error.message or "'db.t'" in error.message  # noqa: PT017


def test_a_manifest_must_hold_what_its_list_says(tmp_path: Path) -> None:
    """Without a checksum too: its length, its files and its rows."""
    opened = small(tmp_path)
    manifest = manifest_of(opened.base)
    content = local(manifest.manifest_path).read_bytes()
    for files, rows in ((7, 1), (1, 7)):
        other = ManifestFile.from_args(
            manifest_path=manifest.manifest_path,
            added_files_count=files,
            existing_files_count=0,
            added_rows_count=rows,
            existing_rows_count=0,
        )
        with pytest.raises(FormatError, match="as its manifest list says"):
            decode_manifest(content, other)
    local(manifest.manifest_path).write_bytes(content + b"0")
    with pytest.raises(FormatError, match="as its manifest list says"):
        manifest_files.read_manifest(opened.base.io, manifest)


numbers = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.one_of(numbers, st.binary(max_size=20), st.floats(allow_nan=False))))
def test_the_decoder_of_unknown_bytes_reads_what_pyiceberg_reads(values: list[object]) -> None:
    """Numbers, bytes and floats, in any order."""
    content = b"".join(encoded(value) for value in values)
    ours, theirs = CheckedDecoder(content), StreamingBinaryDecoder(content)
    for value in values:
        name = {int: "read_int", bytes: "read_bytes", float: "read_double"}[type(value)]
        assert getattr(ours, name)() == getattr(theirs, name)() == value
        assert ours.tell() == theirs.tell()


def encoded(value: object) -> bytes:
    """Return a value as Avro writes it."""
    if isinstance(value, bytes):
        return encoded(len(value)) + value
    if isinstance(value, float):
        return struct.pack("<d", value)
    assert isinstance(value, int)
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


@pytest.mark.parametrize("content", [b"\xff" * 5_000, b"\x80", b"\xfe\xff\xff\xff\x0f", b"\x01"])
def test_the_decoder_of_unknown_bytes_stays_within_them(content: bytes) -> None:
    """Whatever length they claim."""
    for name in ("read_int", "read_bytes", "read_utf8", "skip_int", "skip_bytes"):
        decoder = CheckedDecoder(content)
        with pytest.raises((EOFError, ValueError)):
            twice(getattr(decoder, name))
        assert decoder.tell() <= len(content)
    with pytest.raises(EOFError):
        CheckedDecoder(content).read_ints(2**40)
    with pytest.raises(EOFError):
        CheckedDecoder(content).skip(-1)


def twice(read: Callable[[], object]) -> None:
    """Read two values."""
    read()
    read()


def test_a_checksum_is_put_in_once() -> None:
    """A file that has one is not given another."""
    once = b"".join(sealed("/x/a.metadata.json", [b'{"format-ver', b'sion":2}']))
    assert check("/y/a.metadata.json", once)
    assert b"".join(sealed("/x/b.metadata.json", [once])).count(b"arctic-checksum") == 1
    for content in (b"", b"{}", b"Obj\x01", b"PFA1", b"no metadata"):
        assert b"".join(sealed("/x/a.avro", [content])) == content
        assert not check("/x/a.avro", content)


def test_a_damaged_catalog_file_is_named(tmp_path: Path) -> None:
    """Whether SQLite sees it, or a name or a location changed within it."""
    opened = small(tmp_path)
    database = tmp_path / "catalog.db"
    KEPT_CONNECTIONS.close()
    content = database.read_bytes()
    location = opened.base.metadata_location.encode()
    for damaged, error in (
        (b"no database" * 1_000, StorageError),
        (content[:4096] + bytes(len(content) - 4096), StorageError),
        (content.replace(b"db.t", b"db.u").replace(b"dbt", b"dbu"), NotFoundError),
        (content.replace(location, location.replace(b".metadata", b".netadata")), StorageError),
        (content.replace(location, location.replace(b"file:", b"fi\0e:")), ArcticError),
    ):
        database.write_bytes(damaged)
        with pytest.raises(error) as caught:
            arctic.open_table("db.t", warehouse=str(tmp_path))
        assert "catalog.db" in caught.value.message
