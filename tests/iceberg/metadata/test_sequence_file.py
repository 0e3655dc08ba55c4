"""What is merged: partition keys as text, Puffin files, and where a reader finds them."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlparse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table import Table
from pyiceberg.table.puffin import PuffinFile
from pyiceberg.table.statistics import StatisticsFile

from arctic.errors import FormatError, UnsupportedError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits import staging
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.metadata.sequence_file import AMORO_MARKER, TIMES_LIMIT, read_state, stage_state
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.puffin import puffin_file
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import PartitionKeys, partition_keys
from arctic.table.files import Partition, Value
from arctic.table.property_names import (
    LEGACY_OPTIMIZED_SEQUENCE,
    MERGED_UP_TO,
    OPTIMIZED_SEQUENCE,
    SEQUENCE_WRITTEN_AT,
)
from arctic.table.table_description import PartitionField
from tests.factories.numbers import INTS, MICROS
from tests.factories.tables import columns_of, table_of
from tests.iceberg.stores import append, commit_files, foreign_file, make, overwrite, reopened, row

# Dates and timestamps of the years 1 to 9999: Python has no others.
_CATALOG = "arctic.iceberg.catalogs.catalog"
DAYS = st.integers(-719_162, 2_932_896)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["null", "__HIVE_DEFAULT_PARTITION__", "%6Eull", "a/b=c", " ", "+", "%"]
)
DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: Decimal(unscaled).scaleb(-6))
FIELDS: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("identity", "boolean"): st.booleans(),
    ("identity", "int"): INTS,
    ("identity", "long"): st.integers(-(2**63), 2**63 - 1),
    ("identity", "string"): TEXTS,
    ("identity", "decimal(38, 6)"): DECIMALS,
    ("identity", "date"): DAYS,
    ("identity", "timestamp"): MICROS,
    ("identity", "timestamptz"): MICROS,
    ("truncate[4]", "string"): TEXTS,
    ("truncate[10]", "int"): INTS,
    ("truncate[10]", "decimal(38, 6)"): DECIMALS,
    ("bucket[16]", "binary"): st.integers(0, 15),
    ("day", "timestamp"): DAYS,
    ("day", "date"): DAYS,
    ("month", "date"): st.integers(-1969 * 12, 8029 * 12 + 11),
    ("hour", "timestamptz"): st.integers(-719_162 * 24, 2_932_896 * 24),
}


def keys_of(*fields: tuple[str, str], names: tuple[str, ...] = ()) -> PartitionKeys:
    """Return the keys of a table with these (transform, column type) fields, called f0, f1, ..."""
    named = names or tuple(f"f{number}" for number in range(len(fields)))
    return partition_keys(
        table_of(
            columns_of({f"c{number}": each for number, (_, each) in enumerate(fields)}, first_id=0),
            key=("c0",),
            partition_fields=[
                PartitionField(source_id=number, name=name, transform=transform)
                for number, ((transform, _), name) in enumerate(zip(fields, named, strict=True))
            ],
        )
    )


@st.composite
def partitions(draw: st.DrawFn) -> tuple[PartitionKeys, Partition]:
    """Draw the partition fields of a table and one partition of it."""
    fields = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=3))
    values: list[Value] = [draw(st.none() | FIELDS[field]) for field in fields]
    return keys_of(*fields), tuple(values)


class TestPartitionKeys:
    """A partition as text, and back."""

    @given(partitions())
    def test_what_is_written_reads_back_the_same(
        self, drawn: tuple[PartitionKeys, Partition]
    ) -> None:
        """A partition that came back as another one would look unmerged: its rows would double."""
        keys, partition = drawn

        assert keys.partition(keys.text(partition)) == partition

    @pytest.mark.parametrize(
        ("field", "value", "text"),
        [
            (("identity", "string"), "eu west", "f0=eu+west"),
            (("identity", "string"), None, "f0=null"),
            (("identity", "string"), "null", "f0=%6Eull"),
            (("identity", "string"), "a/b=c&d", "f0=a%2Fb%3Dc%26d"),
            (("identity", "string"), "", "f0="),
            (("identity", "boolean"), True, "f0=true"),
            (("identity", "decimal(10, 2)"), Decimal("1.50"), "f0=1.50"),
            (("identity", "date"), 19849, "f0=2024-05-06"),
            (("identity", "timestamp"), 1714979289000000, "f0=2024-05-06T07%3A08%3A09"),
            (("identity", "timestamptz"), 0, "f0=1970-01-01T00%3A00%3A00%2B00%3A00"),
            (("day", "timestamp"), 19849, "f0=2024-05-06"),
            (("month", "date"), 652, "f0=2024-05"),
            (("hour", "timestamp"), 476383, "f0=2024-05-06-07"),
            (("bucket[16]", "long"), 3, "f0=3"),
        ],
    )
    def test_texts_are_those_of_the_format(
        self, field: tuple[str, str], value: Value, text: str
    ) -> None:
        """Amoro reads and writes the same texts."""
        keys = keys_of(field)

        assert keys.text((value,)) == text
        assert keys.partition(text) == (value,)

    @pytest.mark.parametrize(
        ("text", "micros"),
        [
            ("2024-05-06T07:08", 1714979280000000),
            ("2024-05-06T07:08:09.5", 1714979289500000),
            ("2024-05-06T07:08:09.123456", 1714979289123456),
            ("2024-05-06T07:08:09.123Z", 1714979289123000),
            ("2024-05-06T09:08:09+02:00", 1714979289000000),
        ],
    )
    def test_times_are_read_as_java_writes_them(self, text: str, micros: int) -> None:
        """Java leaves out zero seconds and trailing zeros of the fraction."""
        has_zone = text.endswith(("Z", "+02:00"))
        keys = keys_of(("identity", "timestamptz" if has_zone else "timestamp"))

        assert keys.partition(f"f0={quote_plus(text)}") == (micros,)

    def test_an_unpartitioned_table_has_one_key(self) -> None:
        """The format writes it empty, and takes any key for it."""
        assert keys_of().text(()) == ""
        assert keys_of().partition("") == ()
        assert keys_of().partition("anything") == ()

    def test_field_names_may_be_encoded_or_not(self) -> None:
        """Iceberg encodes the name in paths; Amoro expects it plain in keys."""
        keys = keys_of(("identity", "int"), names=("the day",))

        assert keys.text((1,)) == "the+day=1"
        assert keys.partition("the+day=1") == keys.partition("the day=1") == (1,)

    @pytest.mark.parametrize(
        "text", ["f0=x", "f1=1", "f0=1/f1=2", "", "f0", "f0=1.5"], ids=lambda text: repr(text)
    )
    def test_a_text_of_something_else_is_refused(self, text: str) -> None:
        """A key that cannot be read means that nobody knows what is merged."""
        with pytest.raises(FormatError, match=r"table 'db\.t'"):
            keys_of(("identity", "int")).partition(text)

    @pytest.mark.parametrize(
        "field",
        [
            ("year", "date"),
            ("identity", "binary"),
            ("identity", "fixed[4]"),
            ("identity", "time"),
            ("identity", "double"),
            ("truncate[4]", "binary"),
            ("void", "int"),
        ],
        ids=str,
    )
    def test_fields_without_a_certain_text_are_refused(self, field: tuple[str, str]) -> None:
        """Amoro reads some of them back as another partition."""
        with pytest.raises(UnsupportedError, match="f0"):
            keys_of(field)

    def test_a_date_that_python_has_not_has_a_text_that_java_reads(self) -> None:
        """Java wants a sign before long years, and writes none."""
        keys = keys_of(("identity", "date"))
        assert keys.text((2_932_897,)) == "f0=%2B10000-01-01"
        assert keys.partition("f0=%2B10000-01-01") == keys.partition("f0=10000-01-01")
        for days in (-(2**31), -719_529, 2**31 - 1):
            assert keys.partition(keys.text((days,))) == (days,)


class TestPuffin:
    """The file itself."""

    def test_a_file_is_laid_out_as_the_spec_says(self) -> None:
        """Magic, blobs, magic, footer, its length, flags, magic; and PyIceberg reads it."""
        puffin = puffin_file({"a": b"first", "b": b""}, snapshot_id=7, sequence_number=3)

        content = puffin.content
        assert content.startswith(b"PFA1first")
        assert content[-puffin.footer_bytes :].startswith(b"PFA1{")
        assert content.endswith(b"\x00\x00\x00\x00PFA1")
        length = int.from_bytes(content[-12:-8], "little")
        assert length == puffin.footer_bytes - 16
        footer = json.loads(content[-12 - length : -12])
        assert footer["blobs"][0] == {
            "type": "a",
            "fields": [],
            "snapshot-id": 7,
            "sequence-number": 3,
            "offset": 4,
            "length": 5,
        }
        read = PuffinFile(content)
        assert [read.get_blob_payload(blob) for blob in read.footer.blobs] == [b"first", b""]

    def test_payloads_are_those_of_the_format(self, tmp_path: Path) -> None:
        """Compact JSON from partition key to number, both blobs complete."""
        opened = make(tmp_path)
        state = OptimizedState(
            sequence={("eu west",): 57, (None,): 12}, time_ms={("eu west",): 1714979289000}
        )

        staged = stage(opened, state)

        read = PuffinFile(Path(urlparse(staged.statistics.statistics_path).path).read_bytes())
        assert {blob.type: read.get_blob_payload(blob) for blob in read.footer.blobs} == {
            "optimized-sequence": b'{"region=eu+west":57,"region=null":12}',
            "base-optimized-time": b'{"region=eu+west":1714979289000}',
        }
        assert staged.properties == {
            LEGACY_OPTIMIZED_SEQUENCE: '{"region=eu+west":{"base-op-time":"1714979289000",'
            '"max-txId":"57"},"region=null":{"max-txId":"12"}}',
            OPTIMIZED_SEQUENCE: None,
            SEQUENCE_WRITTEN_AT: "1",
        }
        assert staged.summary == {
            OPTIMIZED_SEQUENCE: staged.statistics.statistics_path,
            MERGED_UP_TO: "57",
        }

    @pytest.mark.parametrize("count", [TIMES_LIMIT, TIMES_LIMIT + 1, 5_000])
    def test_the_legacy_property_names_every_partition(self, tmp_path: Path, count: int) -> None:
        """One that it left out would be unmerged to Amoro, which would read its rows twice."""
        opened = make(tmp_path)
        partitions: list[Partition] = [(str(number),) for number in range(count)]
        state = OptimizedState().advanced(partitions, 7, 1_714_979_289_000)

        staged = stage(opened, state)

        entries = json.loads(staged.properties[LEGACY_OPTIMIZED_SEQUENCE])
        assert {key: entry["max-txId"] for key, entry in entries.items()} == {
            f"region={number}": "7" for number in range(count)
        }
        assert ("base-op-time" in entries["region=0"]) == (count <= TIMES_LIMIT)
        assert staged.statistics.blob_metadata == []
        assert staged.summary == {
            OPTIMIZED_SEQUENCE: staged.statistics.statistics_path,
            MERGED_UP_TO: "7",
        }

    def test_where_a_catalog_takes_no_such_property_amoro_gets_its_marker(
        self, tmp_path: Path
    ) -> None:
        """Then the list of blobs says what is merged; a property that went stale would not."""
        opened = make(tmp_path)
        state = OptimizedState().advanced([("a",), ("b",)], 7, 1_714_979_289_000)

        fits = stage(opened, state, property_bytes=1_000)
        too_long = stage(opened, state, property_bytes=100)

        assert AMORO_MARKER not in fits.summary
        assert fits.properties[LEGACY_OPTIMIZED_SEQUENCE] is not None
        assert too_long.summary[AMORO_MARKER] == "true"
        assert [blob.type for blob in too_long.statistics.blob_metadata] == [
            "optimized-sequence",
            "base-optimized-time",
        ]
        assert too_long.properties == {
            LEGACY_OPTIMIZED_SEQUENCE: None,
            OPTIMIZED_SEQUENCE: too_long.statistics.statistics_path,
            SEQUENCE_WRITTEN_AT: "1",
        }


def stage(opened: OpenTable, state: OptimizedState, property_bytes: int | None = None) -> Any:
    """Write a state for a snapshot that is never committed."""
    return stage_state(
        state,
        io=opened.base.io,
        location=opened.base.location(),
        snapshot_id=1,
        sequence_number=1,
        keys=partition_keys(opened.table),
        property_bytes=property_bytes,
    )


def state_of(table: Table, opened: OpenTable, snapshot_id: int | None = None) -> OptimizedState:
    """Read what is merged in a snapshot, by default in the newest one."""
    current = refresh(table).metadata.current_snapshot_id
    wanted = current if snapshot_id is None else snapshot_id
    return read_state(table.metadata, table.io, wanted, partition_keys(opened.table))


def commit_as_amoro(opened: OpenTable, sequence: dict[str, int]) -> int:
    """Commit a base snapshot the way Amoro's optimizer does: blobs listed, its own marker."""
    base = refresh(opened.base)
    snapshot_id = commit_files(
        base,
        foreign_file(base, f"00000-0-{len(base.snapshots())}.parquet", ("eu",)),
        summary={AMORO_MARKER: "true"},
    )
    payload = json.dumps(sequence).encode()
    puffin = puffin_file(
        {"optimized-sequence": payload}, snapshot_id=snapshot_id, sequence_number=1
    )
    path = f"{base.location()}/data/puffin/{snapshot_id}-amoro.puffin"
    with base.io.new_output(path).create() as stream:
        stream.write(puffin.content)
    statistics = StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot_id,
            "statistics-path": path,
            "file-size-in-bytes": len(puffin.content),
            "file-footer-size-in-bytes": puffin.footer_bytes,
            "blob-metadata": puffin.blobs,
        }
    )
    with refresh(base).update_statistics() as update:
        update.set_statistics(statistics)
    return snapshot_id


class TestReading:
    """Which of several tellings counts."""

    def test_the_newest_marker_of_the_lineage_wins(self, tmp_path: Path) -> None:
        """Snapshots of other writers carry no marker and change nothing."""
        opened = make(tmp_path)
        append(opened, [row(1), row(2, "us")])
        first = overwrite(opened, [row(1)], dynamic=True, up_to=1)
        append(opened, [row(3, "us")])
        overwrite(opened, [row(2, "us")], dynamic=True, up_to=2)
        commit_files(opened.base, foreign_file(opened.base, "foreign.parquet", ("eu",)))

        assert first is not None
        assert state_of(opened.base, opened).sequence == {("eu",): 1, ("us",): 2}
        assert state_of(opened.base, opened, first.snapshot_id).sequence == {("eu",): 1}

    def test_without_any_telling_nothing_is_merged(self, tmp_path: Path) -> None:
        """A new table, or one that only other Iceberg writers have touched."""
        opened = make(tmp_path)

        assert state_of(opened.base, opened).sequence == {}
        commit_files(opened.base, foreign_file(opened.base, "foreign.parquet", ("eu",)))
        assert state_of(opened.base, opened).sequence == {}

    def test_the_legacy_property_counts_where_no_snapshot_is_marked(self, tmp_path: Path) -> None:
        """Amoro up to 0.5 kept it there."""
        opened = make(tmp_path)
        text = '{"region=eu":{"max-txId":"57","base-op-time":"1714979289000"},"region=null":{}}'
        with opened.base.transaction() as transaction:
            transaction.set_properties({LEGACY_OPTIMIZED_SEQUENCE: text})

        state = state_of(opened.base, opened)

        assert state.sequence == {("eu",): 57}
        assert state.time_ms == {("eu",): 1714979289000}

    def test_an_older_snapshot_does_not_see_a_later_property(self, tmp_path: Path) -> None:
        """The property says what is merged now; before the first marker nothing was."""
        opened = make(tmp_path)
        before = commit_files(opened.base, foreign_file(opened.base, "foreign.parquet", ("eu",)))
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)

        assert state_of(opened.base, opened).sequence == {("eu",): 1}
        assert state_of(opened.base, opened, before).sequence == {}

    @pytest.mark.parametrize("limit", [None, 0], ids=["legacy property", "file"])
    def test_a_table_property_counts_once_every_marker_expired(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None
    ) -> None:
        """Other engines expire snapshots without knowing what the marked one is for."""
        monkeypatch.setattr(staging, "longest_property", lambda _: limit)
        opened = make(tmp_path)
        append(opened, [row(1)])
        marked = overwrite(opened, [row(1)], up_to=1)
        assert marked is not None
        commit_files(opened.base, foreign_file(opened.base, "a.parquet", ("eu",)))
        refresh(opened.base).maintenance.expire_snapshots().by_id(marked.snapshot_id).commit()

        assert state_of(opened.base, opened).sequence == {("eu",): 1}

    def test_a_history_that_lost_its_marker_is_refused(self, tmp_path: Path) -> None:
        """A rollback to a snapshot whose past has expired: nobody knows what it holds."""
        opened = make(tmp_path)
        base = opened.base
        first = commit_files(base, foreign_file(base, "a.parquet", ("eu",)))
        second = commit_files(base, foreign_file(base, "b.parquet", ("eu",)))
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        refresh(base).maintenance.expire_snapshots().by_id(first).commit()

        with pytest.raises(UnsupportedError, match="not known any more"):
            state_of(opened.base, opened, second)

    def test_a_broken_property_is_named(self, tmp_path: Path) -> None:
        """What is merged must never be guessed."""
        opened = make(tmp_path)
        with opened.base.transaction() as transaction:
            transaction.set_properties({LEGACY_OPTIMIZED_SEQUENCE: "[1]"})

        with pytest.raises(FormatError, match=LEGACY_OPTIMIZED_SEQUENCE):
            state_of(opened.base, opened)

    def test_a_file_that_is_no_puffin_is_named(self, tmp_path: Path) -> None:
        """A damaged file is an error, not an empty map."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        (path,) = (Path(urlparse(opened.table.base_location).path) / "data" / "puffin").iterdir()
        path.write_bytes(b"PFA1 not a footer PFA1")

        with pytest.raises(FormatError, match="optimized sequence"):
            state_of(opened.base, opened)


class TestAmoro:
    """Tables that Amoro's optimizer has written to."""

    def test_its_marker_is_read_with_the_listed_blob(self, tmp_path: Path) -> None:
        """A table that lists Amoro's blob types opens, and says what Amoro merged."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        commit_as_amoro(opened, {"region=eu": 1})

        again = reopened(opened)

        assert pin(again).optimized_sequence == {("eu",): 1}
        assert state_of(again.base, again).amoro_reads

    def test_the_newer_of_both_markers_wins(self, tmp_path: Path) -> None:
        """Either program reads what the other one wrote last."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        append(opened, [row(2)])
        commit_as_amoro(opened, {"region=eu": 2})
        assert pin(opened.refreshed()).optimized_sequence == {("eu",): 2}

        append(opened, [row(3)])
        overwrite(opened, [row(3)], up_to=3)

        assert pin(opened.refreshed()).optimized_sequence == {("eu",): 3}

    def test_its_readers_are_kept_up_to_date(self, tmp_path: Path) -> None:
        """Amoro ignores the legacy property once its marker is there, so it gets a new one."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        commit_as_amoro(opened, {"region=eu": 1})

        result = overwrite(opened, [row(2, "us")], up_to=1)

        base = reopened(opened).base
        snapshot = base.current_snapshot()
        assert result is not None
        assert snapshot is not None
        assert snapshot.summary is not None
        assert snapshot.summary[AMORO_MARKER] == "true"
        (statistics,) = (
            each for each in base.metadata.statistics if each.snapshot_id == result.snapshot_id
        )
        assert [blob.type for blob in statistics.blob_metadata] == [
            "optimized-sequence",
            "base-optimized-time",
        ]

    def test_a_table_of_many_partitions_tells_it_all_of_them(self, tmp_path: Path) -> None:
        """A commit leaves no partition out of the property that its readers fall back to."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        names = [f"r{number}" for number in range(1_500)]
        partitions = frozenset[Partition]((name,) for name in names)

        overwrite(opened, [row(1)], up_to=1, change_partitions=partitions)

        base = reopened(opened).base
        told = json.loads(base.properties[LEGACY_OPTIMIZED_SEQUENCE])
        assert {text for text, entry in told.items() if entry["max-txId"] == "1"} == {
            "region=eu",
            *(f"region={name}" for name in names),
        }
        assert not any(each.blob_metadata for each in base.metadata.statistics)

    def test_a_marker_without_its_file_is_refused(self, tmp_path: Path) -> None:
        """The statistics of a marked snapshot were replaced: nobody knows what is merged."""
        opened = make(tmp_path)
        commit_files(
            opened.base,
            foreign_file(opened.base, "foreign.parquet", ("eu",)),
            summary={AMORO_MARKER: "true"},
        )

        with pytest.raises(FormatError, match=AMORO_MARKER):
            pin(opened.refreshed())

    @pytest.mark.parametrize(
        ("imports", "expected"),
        [
            ("", "literal_error"),
            (
                f"import {_CATALOG}, pyiceberg.catalog.rest",
                "['optimized-sequence']",
            ),
            (
                f"import pyiceberg.catalog.rest, {_CATALOG}",
                "['optimized-sequence']",
            ),
        ],
        ids=["without Arctic", "before PyIceberg", "after PyIceberg"],
    )
    def test_metadata_loads_whatever_was_imported_first(
        self, tmp_path: Path, imports: str, expected: str
    ) -> None:
        """PyIceberg alone refuses the whole table for one blob type; here it does not."""
        opened = make(tmp_path)
        commit_as_amoro(opened, {"region=eu": 1})
        location = refresh(opened.base).metadata_location
        load = f"""
from pyiceberg.table import StaticTable
table = StaticTable.from_metadata({location!r})
from pyiceberg.catalog.rest import TableResponse
TableResponse.model_validate_json('{{"metadata": ' + table.metadata.model_dump_json() + '}}')
print([blob.type for blob in table.metadata.statistics[0].blob_metadata])
"""

        ran = subprocess.run(
            [sys.executable, "-c", imports + load], capture_output=True, text=True, check=False
        )

        assert expected in ran.stdout + ran.stderr
