"""Listed files: what PyIceberg's own entries say, in any manifest that somebody may write."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.avro.file import META_SCHEMA, AvroFileHeader, AvroOutputFile
from pyiceberg.avro.resolver import construct_reader
from pyiceberg.manifest import (
    DataFileContent,
    ManifestEntry,
    ManifestFile,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
    write_manifest,
)
from pyiceberg.table import Table
from pyiceberg.types import StructType

from arctic.errors import FormatError, StorageError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.metadata import entries as module
from arctic.iceberg.metadata.entries import listed_files, live_entries, live_manifests
from arctic.iceberg.metadata.manifest_decoder import ListedFile, decode_manifest
from arctic.iceberg.storage.checksum import _AVRO_ENTRY
from arctic.iceberg.tables.open_table import OpenTable
from arctic.last_used import LastUsed
from tests.iceberg.stores import (
    append,
    commit_files,
    foreign_file,
    local,
    make,
    overwrite,
    position_delete,
    row,
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode every manifest anew."""
    monkeypatch.setattr(module, "CACHE", LastUsed())
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 0)


def manifests(table: Table) -> tuple[ManifestFile, ...]:
    """Return the live manifests of the newest snapshot."""
    head = refresh(table)
    return live_manifests(head, head.current_snapshot())


def by_pyiceberg(table: Table, manifest: ManifestFile) -> list[dict[str, Any]]:
    """Return what PyIceberg decodes from a manifest: the plain truth."""
    return [
        {
            "path": entry.data_file.file_path,
            "content": entry.data_file.content,
            "file_format": entry.data_file.file_format,
            "partition": tuple(
                entry.data_file.partition[place] for place in range(len(entry.data_file.partition))
            ),
            "record_count": entry.data_file.record_count,
            "size_bytes": entry.data_file.file_size_in_bytes,
            "null_counts": _as_dict(entry.data_file.null_value_counts),
            "lower_bounds": _as_dict(entry.data_file.lower_bounds),
            "upper_bounds": _as_dict(entry.data_file.upper_bounds),
            "sequence_number": entry.sequence_number,
        }
        for entry in manifest.fetch_manifest_entry(table.io)
    ]


def by_us(files: Sequence[ListedFile]) -> list[dict[str, Any]]:
    """Return listed files in the same form."""
    return [{**file._asdict(), "null_counts": _counts(file.null_counts)} for file in files]


def _as_dict(found: Mapping[int, Any] | None) -> dict[int, Any] | None:
    # One of PyIceberg's maps builds itself when it is asked for an item, not when it is copied.
    return None if found is None else {key: found[key] for key in found}


def _counts(pairs: Sequence[int] | None) -> dict[int, int] | None:
    return None if pairs is None else dict(zip(pairs[::2], pairs[1::2], strict=True))


def check(table: Table) -> int:
    """Compare both ways to read every live manifest; return the number of files."""
    count = 0
    for manifest, files in listed_files(table.io, manifests(table)):
        assert by_us(files) == by_pyiceberg(table, manifest)
        count += len(files)
    return count


class TestAsPyIceberg:
    """The walk of our own reads what PyIceberg's walk reads."""

    def test_both_stores_after_appends_removals_and_merges(self, tmp_path: Path) -> None:
        """Added, existing and deleted entries; sequence numbers inherited or written."""
        opened = make(tmp_path, **{"commit__manifest__min-count-to-merge": "2"})
        for number in range(5):
            append(opened, [row(number), row(number, None)], [row(number, "us")])
        overwrite(opened, [row(1), row(2, "us"), row(3, None, score=1.5)])
        overwrite(opened, [row(4, "us")], dynamic=True)
        assert opened.change is not None

        assert check(opened.base) == 3
        assert check(opened.change) == 15

    def test_every_type_of_partition(self, tmp_path: Path) -> None:
        """Numbers, texts, bytes, decimals and times, and nulls of them."""
        schema = pa.schema(
            [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("d", pa.date32()),
                pa.field("t", pa.timestamp("us")),
                pa.field("z", pa.timestamp("us", tz="UTC")),
                pa.field("c", pa.decimal128(10, 2)),
                pa.field("b", pa.binary()),
                pa.field("o", pa.bool_()),
            ]
        )
        columns = ["d", "t", "z", "c", "b", "o", "bucket(4, id)"]
        opened = make(tmp_path, schema=schema, key=(), partition_by=columns)
        values = {
            "d": date(2020, 2, 29),
            "t": 1_600_000_000_000_001,
            "z": -1,
            "c": Decimal("-1.25"),
            "b": b"\x00\xff",
            "o": True,
        }
        overwrite(opened, [{"id": 1, **values}, {"id": 2}])

        assert check(opened.base) == 2

    def test_delete_files_and_what_another_writer_appends(self, tmp_path: Path) -> None:
        """PyIceberg's own producer writes one entry in each block, under its own names."""
        opened = make(tmp_path)
        overwrite(opened, [row(1)])
        refresh(opened.base).append(
            pa.Table.from_pylist([row(7), row(8, "us")], schema=opened.arrow_schema)
        )
        data_path = listed_paths(opened)[0]
        delete = position_delete(opened, [(data_path, 0)], ("eu",), "foreign.parquet")
        odd = foreign_file(
            opened.base, "odd", ("us",), content=DataFileContent.EQUALITY_DELETES, equality_ids=[1]
        )
        commit_files(opened.base, delete, odd)

        assert check(opened.base) == 5

    @pytest.mark.parametrize("version", [1, 2])
    def test_manifests_of_each_format_version(self, tmp_path: Path, version: Literal[1, 2]) -> None:
        """Version 1 writes neither sequence numbers nor what a file holds."""
        table = make(tmp_path).base
        with write_manifest(
            version,
            table.spec(),
            table.schema(),
            table.io.new_output(f"{table.location()}/metadata/v.avro"),
            7,
            "deflate",
        ) as writer:
            for number in range(3):
                file = foreign_file(table, f"{number}.parquet", ("eu",), block_size_in_bytes=1)
                writer.add(ManifestEntry.from_args(data_file=file))
        manifest = writer.to_manifest_file()
        manifest.sequence_number = 0 if version == 1 else 9

        ((_, files),) = listed_files(table.io, [manifest])

        assert by_us(files) == by_pyiceberg(table, manifest)
        assert [file.sequence_number for file in files] == [0 if version == 1 else 9] * 3

    def test_fields_that_we_do_not_know_are_passed_over(self, tmp_path: Path) -> None:
        """As in the manifests of format version 3, which newer writers of version 2 resemble."""
        table = make(tmp_path, partition_by=()).base
        path = f"{table.location()}/metadata/new.avro"
        schema = manifest_entry_schema_with_data_file(3, data_file_with_partition(StructType(), 3))
        old = manifest_entry_schema_with_data_file(2, data_file_with_partition(StructType(), 2))
        with AvroOutputFile[ManifestEntry](
            table.io.new_output(path), schema, "manifest_entry", old
        ) as writer:
            entries = [
                ManifestEntry.from_args(
                    status=1, snapshot_id=1, data_file=foreign_file(table, f"{number}.parquet", ())
                )
                for number in range(3)
            ]
            writer.write_block(entries)
        manifest = manifest_at(path)

        ((_, files),) = listed_files(table.io, [manifest])

        assert len(files) == 3
        assert by_us(files) == by_pyiceberg(table, manifest)

    def test_maps_in_blocks_with_their_length(self, tmp_path: Path) -> None:
        """Avro allows several blocks in a map, each with its length in bytes in front of it."""
        opened = make(tmp_path, partition_by=())
        commit_files(opened.base, foreign_file(opened.base, "a.parquet", ()))
        table = opened.base
        path = f"{table.location()}/metadata/blocks.avro"
        content = rewritten(local(manifests(table)[0].manifest_path).read_bytes(), _entry())
        local(path).write_bytes(content)
        manifest = manifest_at(path)

        ((_, (file,)),) = listed_files(table.io, [manifest])

        assert by_us([file]) == by_pyiceberg(table, manifest)
        assert _counts(file.null_counts) == {1: 10, 2: 20, 3: 30}
        assert file.lower_bounds == {1: b"a", 2: b"bb", 3: b""}


class TestRefusals:
    """A manifest that is not whole would lose files."""

    def test_a_cut_manifest(self, tmp_path: Path) -> None:
        """Wherever it ends, also right between two entries."""
        opened = make(tmp_path, partition_by=())
        commit_files(opened.base, foreign_file(opened.base, "a.parquet", ()))
        (manifest,) = manifests(opened.base)
        content = local(manifest.manifest_path).read_bytes()
        header = new_decoder(content)
        construct_reader(META_SCHEMA, {-1: AvroFileHeader}).read(header)

        for length in range(header.tell() + 1, len(content)):
            with pytest.raises(FormatError, match="its checksum does not match"):
                decode_manifest(content[:length], manifest)
            with pytest.raises(FormatError, match=r"manifest '.*': it (cannot be decoded|holds)"):
                decode_manifest(without_checksum(content[:length]), manifest)

    def test_a_block_that_holds_more_than_it_says(self, tmp_path: Path) -> None:
        """Its other entries would be lost."""
        opened = make(tmp_path, partition_by=())
        commit_files(opened.base, foreign_file(opened.base, "a.parquet", ()))
        (manifest,) = manifests(opened.base)
        content = local(manifest.manifest_path).read_bytes()

        with pytest.raises(FormatError, match="holds more"):
            decode_manifest(rewritten(content, _entry() + _entry()), manifest)

    def test_an_unknown_kind_of_content(self, tmp_path: Path) -> None:
        """Nobody can say what such a file is for."""
        opened = make(tmp_path, partition_by=())
        commit_files(opened.base, foreign_file(opened.base, "a.parquet", ()))
        (manifest,) = manifests(opened.base)
        content = local(manifest.manifest_path).read_bytes()

        with pytest.raises(FormatError, match="9 is not a valid DataFileContent"):
            decode_manifest(rewritten(content, _entry(content=9)), manifest)

    @pytest.mark.parametrize("damaged", ["m\0.avro", "file:/\0/m"])
    def test_a_manifest_with_a_name_that_no_file_can_have(
        self, tmp_path: Path, damaged: str
    ) -> None:
        """As a list without a checksum may give it."""
        opened = make(tmp_path, partition_by=())
        overwrite(opened, [row(1)])
        (manifest,) = manifests(opened.base)
        manifest[0] = damaged

        assert manifest.manifest_path == damaged
        with pytest.raises(FormatError, match="it cannot have this name"):
            list(listed_files(opened.base.io, [manifest]))

    def test_a_manifest_that_is_gone(self, tmp_path: Path) -> None:
        """The environment failed, not the format."""
        opened = make(tmp_path, partition_by=())
        overwrite(opened, [row(1)])
        (manifest,) = manifests(opened.base)
        local(manifest.manifest_path).unlink()

        with pytest.raises(StorageError, match="read manifests"):
            list(listed_files(opened.base.io, [manifest]))


def test_more_manifests_than_are_fetched_ahead_stay_in_order(tmp_path: Path) -> None:
    """However many there are, each comes once, with its own files."""
    opened = make(tmp_path, key=(), partition_by=(), **{"commit__manifest-merge__enabled": "false"})
    for number in range(module._READ_AHEAD + 3):
        commit_files(opened.base, foreign_file(opened.base, f"{number}.parquet", ()))
    listed = manifests(opened.base)

    found = list(listed_files(opened.base.io, listed))

    assert [manifest for manifest, _ in found] == list(listed)
    assert sorted(int(Path(file.path).stem) for _, (file,) in found) == list(range(len(listed)))


def listed_paths(opened: OpenTable) -> list[str]:
    """Return the paths of the base store in manifest order."""
    return [
        file.path
        for _, files in listed_files(opened.base.io, manifests(opened.base))
        for file in files
    ]


def manifest_at(path: str) -> ManifestFile:
    """Return a record of a manifest that was just written."""
    return ManifestFile.from_args(
        manifest_path=path,
        manifest_length=local(path).stat().st_size,
        sequence_number=5,
        added_snapshot_id=1,
        partition_spec_id=0,
        content=0,
    )


def without_checksum(manifest: bytes) -> bytes:
    """Return a manifest as other engines write it."""
    magic, entries, rest = manifest[:4], manifest[4], manifest[5 + len(_AVRO_ENTRY) :]
    return magic + bytes([entries - 2]) + rest


def rewritten(manifest: bytes, entries: bytes) -> bytes:
    """Return a manifest with other bytes for its one entry, under the same schema."""
    manifest = without_checksum(manifest)
    decoder = new_decoder(manifest)
    header: AvroFileHeader = construct_reader(META_SCHEMA, {-1: AvroFileHeader}).read(decoder)
    deflate = zlib.compressobj(wbits=-15)
    block = deflate.compress(entries) + deflate.flush()
    out = io.BytesIO()
    out.write(manifest[: decoder.tell()])
    encoder = BinaryEncoder(out)
    encoder.write_int(1)
    encoder.write_bytes(block)
    out.write(header.sync)
    return out.getvalue()


def _entry(content: int = 0) -> bytes:
    """Return an entry of an unpartitioned store whose maps come in blocks with lengths."""
    out = io.BytesIO()
    encoder = BinaryEncoder(out)
    for number in (1, 1, 7, 0, 0, content):  # added, by snapshot 7, no sequence numbers, content
        encoder.write_int(number)
    encoder.write_utf8("file:///t/data/a.parquet")
    encoder.write_utf8("PARQUET")
    for number in (10, 100):  # rows, bytes
        encoder.write_int(number)
    for _ in range(4):  # column sizes, counts of values, of nulls, of NaN
        _blocks(encoder, out, [{1: 10, 2: 20}, {3: 30}])
    for _ in range(2):
        _blocks(encoder, out, [{1: b"a"}, {2: b"bb", 3: b""}])
    for _ in range(4):  # key metadata, split offsets, equality ids, sort order
        encoder.write_int(0)
    return out.getvalue()


def _blocks(encoder: BinaryEncoder, out: io.BytesIO, blocks: Sequence[Mapping[int, Any]]) -> None:
    encoder.write_int(1)
    for block in blocks:
        inner = io.BytesIO()
        written = BinaryEncoder(inner)
        for key, value in block.items():
            written.write_int(key)
            written.write_bytes(value) if isinstance(value, bytes) else written.write_int(value)
        encoder.write_int(-len(block))
        encoder.write_int(len(inner.getvalue()))
        out.write(inner.getvalue())
    encoder.write_int(0)


def test_what_is_more_than_the_cache_holds_leaves_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One listing of very many files neither drives out what is known nor keeps its end."""
    opened = make(tmp_path, key=(), partition_by=(), **{"commit__manifest-merge__enabled": "false"})
    for number in range(3):
        commit_files(opened.base, foreign_file(opened.base, f"{number}.parquet", ()))
    io, wanted = opened.base.io, manifests(opened.base)
    entry_bytes = module.ENTRY_BYTES[ListedFile]
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 2 * entry_bytes)

    assert sum(len(files) for _, files in listed_files(io, wanted)) == 3
    assert module.CACHE.weight == 0
    assert sum(len(files) for _, files in listed_files(io, wanted[:2])) == 2
    assert module.CACHE.weight == 2 * entry_bytes


def test_what_one_decoder_kept_is_not_what_the_other_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both share the room, and neither takes the files of the other for its own."""
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 10**9)
    opened = make(tmp_path)
    append(opened, [row(1)])
    assert opened.change is not None
    (manifest,), io = manifests(opened.change), opened.change.io

    for _ in range(2):
        ((_, listed),) = listed_files(io, [manifest])
        entries = live_entries(io, manifest)
        assert {type(file) for file in listed} == {ListedFile}
        assert {type(entry) for entry in entries} == {ManifestEntry}
        assert [file.path for file in listed] == [entry.data_file.file_path for entry in entries]
    assert module.CACHE.weight == len(listed) * sum(module.ENTRY_BYTES.values())
