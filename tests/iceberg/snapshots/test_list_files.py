"""Listing: manifest entries as keyed files, pruned by partition, or refused."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import parse_transform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from arctic.errors import FormatError, NotFoundError, UnsupportedError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.manifest_writer import FILES_IN_A_MANIFEST, group_for_merge
from arctic.iceberg.metadata import entries
from arctic.iceberg.metadata.manifest_files import read_manifest
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.partition_filter import PartitionFilter
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.store_files import StoreFiles
from arctic.table.files import ColumnBounds, FileKind
from arctic.table.filters.predicate import ColumnTest, Op, Or, Predicate
from arctic.tree.node import ROOT, TreeNode
from tests.iceberg.stores import (
    append,
    commit_files,
    foreign_file,
    make,
    overwrite,
    paths,
    position_delete,
    reopened,
    row,
)
from tests.table.like import is_like

REGION_ID = 2
EU = ColumnTest(op=Op.EQ, field_id=REGION_ID, column="region", literal="eu")


def listed(opened: OpenTable, row_filter: Predicate | None = None, *field_ids: int) -> StoreFiles:
    """List the newest state."""
    return list_files(opened, pin(opened.refreshed()), field_ids=field_ids, row_filter=row_filter)


class TestFiles:
    """What a manifest entry becomes."""

    def test_change_files_stand_in_the_transaction_of_their_commit(self, tmp_path: Path) -> None:
        """The name says 0, so the data sequence number counts, also after a merge of manifests."""
        opened = make(tmp_path, partition_by=())
        node = TreeNode(3, 2)
        append(opened, [row(1)], node=node)
        append(opened, [row(2)], [row(1)], node=node)

        files = listed(opened).change

        assert [(file.kind.value, file.transaction_id, file.sequence_number) for file in files] == [
            ("I", 2, 2),
            ("ED", 2, 2),
            ("I", 1, 1),
        ]
        assert {file.node for file in files} == {node}
        assert all(file.size_bytes > 0 and file.bounds == {} for file in files)

    def test_base_files_stand_in_the_transaction_of_their_name(self, tmp_path: Path) -> None:
        """A base file knows the greatest transaction that was merged into it."""
        opened = make(tmp_path, partition_by=())
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)

        (file,) = listed(opened).base

        assert (file.kind, file.transaction_id, file.sequence_number) == (FileKind.BASE, 1, 1)

    def test_foreign_names_are_root_files(self, tmp_path: Path) -> None:
        """In base of transaction 0, in change of their sequence number."""
        opened = make(tmp_path, partition_by=())
        assert opened.change is not None
        append(opened, [row(1)])
        commit_files(opened.base, foreign_file(opened.base, "00000-0-abc.parquet", ()))
        commit_files(opened.change, foreign_file(opened.change, "00000-0-def.parquet", ()))

        files = listed(opened)

        assert [(file.node, file.transaction_id) for file in files.base] == [(ROOT, 0)]
        assert [(file.kind, file.node, file.transaction_id) for file in files.change] == [
            (FileKind.INSERT, ROOT, 2),
            (FileKind.INSERT, ROOT, 1),
        ]

    def test_a_file_scoped_delete_names_its_data_file(self, tmp_path: Path) -> None:
        """Equal path bounds mean one file; a delete of several files names none."""
        opened = make(tmp_path, partition_by=())
        overwrite(opened, [row(1), row(2)])
        (data,) = listed(opened).base
        commit_files(
            opened.base,
            position_delete(opened, [(data.path, 0)], (), "6-PD-3-00000-0-1-00001.parquet"),
            position_delete(opened, [(data.path, 0), (data.path + "x", 1)], (), "foreign.parquet"),
        )

        deletes = listed(opened).position_deletes

        assert [(file.referenced_path, file.node.node_id, file.kind) for file in deletes] == [
            (data.path, 6, FileKind.POS_DELETE),
            (None, 1, FileKind.POS_DELETE),
        ]
        assert deletes[0].sequence_number == 2

    def test_an_expired_snapshot_is_named(self, tmp_path: Path) -> None:
        """What was pinned must still be there when it is listed."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        snapshot = pin(opened.refreshed())
        append(opened, [row(2)])
        assert opened.change is not None
        refresh(opened.change).maintenance.expire_snapshots().by_id(
            snapshot.change_snapshot_id or 0
        ).commit()

        with pytest.raises(NotFoundError, match="has expired"):
            list_files(opened, snapshot, field_ids=(), row_filter=None)


class TestBounds:
    """What planning learns of the columns that it asks for."""

    def test_only_wanted_columns_are_decoded(self, tmp_path: Path) -> None:
        """Bounds are internal values, with the count of nulls; other columns are absent."""
        opened = make(tmp_path, partition_by=())
        append(opened, [row(3, None, day=None), row(7, "us", score=1.5)])

        (file,) = listed(opened, None, 1, 2, 4, 99).change

        assert dict(file.bounds) == {
            1: ColumnBounds(lower=3, upper=7, null_count=0),
            2: ColumnBounds(lower="us", upper="us", null_count=1),
            4: ColumnBounds(lower=None, upper=None, null_count=2),
        }

    def test_bounds_from_before_a_promotion_are_read(self, tmp_path: Path) -> None:
        """An int file keeps four bytes when its column becomes a long; a float likewise."""
        schema = pa.schema(
            [pa.field("id", pa.int64(), nullable=False), ("n", pa.int32()), ("x", pa.float32())]
        )
        opened = make(tmp_path, schema=schema, partition_by=())
        append(opened, [{"id": 1, "n": -5, "x": 0.5}])
        for store in (opened.base, opened.change):
            assert store is not None
            with store.update_schema() as update:
                update.update_column("n", LongType())
                update.update_column("x", DoubleType())

        (file,) = listed(reopened(opened), None, 2, 3).change

        assert (file.bounds[2].lower, file.bounds[3].upper) == (-5, 0.5)

    def test_nan_is_no_bound(self, tmp_path: Path) -> None:
        """Nothing compares with NaN: as a bound it would prune rows that match."""
        opened = make(tmp_path, partition_by=())
        commit_files(
            opened.base,
            foreign_file(
                opened.base,
                "a.parquet",
                (),
                lower_bounds={5: struct.pack("<d", math.nan), 2: b"\xe2\x82"},
                upper_bounds={5: struct.pack("<d", 4.0), 2: b"z"},
                null_value_counts={},
            ),
        )

        (file,) = listed(opened, None, 2, 5).base

        assert (file.bounds[5].lower, file.bounds[5].upper) == (None, 4.0)
        # A foreign writer may cut a text inside a character.
        assert (file.bounds[2].lower, file.bounds[2].upper) == (None, "z")


TRANSFORMS = ("identity", "bucket[4]", "truncate[3]", "year", "month", "day", "hour")
TEXT_OPS = (Op.STARTS_WITH, Op.NOT_STARTS_WITH, Op.LIKE, Op.NOT_LIKE)
OPS = [op for op in Op if op not in (Op.IN, Op.NOT_IN)]


class TestPruning:
    """Whole partitions that cannot match."""

    def test_a_partition_is_left_out_of_both_stores(self, tmp_path: Path) -> None:
        """Its deletes can only touch rows that are left out too; everything is counted."""
        opened = make(tmp_path)
        rows = [row(1, "eu"), row(2, "us"), row(3, None)]
        overwrite(opened, rows)
        append(opened, rows, rows)

        files = listed(opened, EU)

        assert {file.partition for file in (*files.base, *files.change)} == {("eu",)}
        assert (len(files.base), len(files.change)) == (1, 2)
        assert files.pruned.by_partition == 2 + 4
        assert files.pruned.manifests == 0

    def test_manifests_without_a_matching_partition_are_not_opened(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Their partition summaries say enough."""
        opened = make(tmp_path)
        append(opened, [row(1, "eu")])
        append(opened, [row(2, "us")])
        append(opened, [row(3, "asia")])
        snapshot = pin(opened.refreshed())
        opened_paths = []
        real = read_manifest

        def fetch(io: FileIO, manifest: ManifestFile) -> bytes:
            opened_paths.append(manifest.manifest_path)
            return real(io, manifest)

        monkeypatch.setattr(entries, "read_manifest", fetch)
        files = list_files(opened, snapshot, field_ids=(), row_filter=EU)

        assert len(files.change) == len(opened_paths) == 1
        assert files.pruned.manifests == 2

    @pytest.mark.parametrize("partition_by", [(), ("region",)])
    def test_merged_change_files_can_be_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition_by: tuple[str, ...]
    ) -> None:
        """In one partition whole manifests of them; nothing else changes in a listing."""
        opened = make(tmp_path, partition_by=partition_by)
        for number in range(3):
            append(opened, [row(number, "eu")], [row(number, "eu")])
        append(opened, [row(3, "us")])
        overwrite(opened, [row(1, "eu")], up_to=2)
        state = pin(opened.refreshed())
        every = list_files(opened, state, field_ids=(1,), row_filter=None)
        read = []

        def fetch(io: FileIO, manifest: ManifestFile) -> bytes:
            read.append(manifest.manifest_path)
            return read_manifest(io, manifest)

        monkeypatch.setattr(entries, "read_manifest", fetch)
        entries.CACHE.forget()
        newer = list_files(opened, state, field_ids=(1,), row_filter=None, with_merged=False)

        unmerged = [
            file
            for file in every.change
            if file.sequence_number > state.merged_up_to(file.partition)
        ]
        assert 0 < len(unmerged) < len(every.change)
        assert list(newer.change) == unmerged
        assert newer.base == every.base
        assert newer.pruned.merged == len(every.change) - len(unmerged)
        assert len(read) == (3 if partition_by == () else 5)
        assert newer.pruned.manifests == 5 - len(read)

    def test_a_filter_follows_its_column_through_a_rename(self, tmp_path: Path) -> None:
        """It was built when the table was opened; the column is called otherwise by now."""
        opened = make(tmp_path)
        append(opened, [row(1, "eu"), row(2, "us")])
        for store in (opened.base, opened.change):
            assert store is not None
            with refresh(store).update_schema() as update:
                update.rename_column("region", "area")

        assert {file.partition for file in listed(opened, EU).change} == {("eu",)}
        gone = ColumnTest(op=Op.EQ, field_id=99, column="gone", literal=1)
        assert len(listed(opened, gone).change) == 2

    def test_a_filter_that_nothing_matches_leaves_nothing(self, tmp_path: Path) -> None:
        """An empty disjunction is false, partitioned or not."""
        opened = make(tmp_path, partition_by=())
        append(opened, [row(1)])

        assert listed(opened, Or(())).change == ()

    @pytest.mark.parametrize(("op", "as_literal"), [(Op.EQ, int), (Op.IN, lambda each: (each, 7))])
    def test_a_partition_that_wrapped_before_its_column_was_a_long_is_read(
        self, op: Op, as_literal: Callable[[int], Any]
    ) -> None:
        """Below the least int begins the greatest: files are where 32 bits, or 64, put them."""
        column, tens = NestedField(1, "x", "long"), parse_transform("truncate[10]")
        test = ColumnTest(op=op, field_id=1, column="x", literal=as_literal(-(2**31)))

        judged = partition_filter(column, tens, test)

        places = (2**31 - 2, -(2**31) - 2, -(2**31) + 8)
        assert [judged.matches((place,)) for place in places] == [True, True, False]

    @given(st.data())
    def test_the_partition_of_a_matching_row_is_never_pruned(self, data: st.DataObject) -> None:
        """For every transform and test: if the row matches, its partition may match."""
        types: dict[str, st.SearchStrategy[Any]] = {
            "int": st.integers(-40, 40),
            "string": st.text("ab\u00e9", max_size=5),
            "date": st.integers(-800, 800),
            "timestamp": st.integers(-(10**14), 10**14),
        }
        column_type = data.draw(st.sampled_from(sorted(types)))
        source = NestedField(1, "x", column_type)
        transform = parse_transform(data.draw(st.sampled_from(TRANSFORMS)))
        assume(transform.can_transform(source.field_type))
        value = data.draw(types[column_type] | st.none())
        test = data.draw(column_tests(types[column_type], column_type))
        assume(matches(test, value))

        partition = (transform.transform(source.field_type)(value),)

        assert partition_filter(source, transform, test).matches(partition)


@st.composite
def column_tests(draw: st.DrawFn, values: st.SearchStrategy[Any], column_type: str) -> ColumnTest:
    """Draw a test of column x."""
    op = draw(st.sampled_from([*OPS, Op.IN, Op.NOT_IN]))
    assume(column_type == "string" or op not in TEXT_OPS)
    literal: Any = draw(values)
    if op in (Op.IS_NULL, Op.NOT_NULL):
        literal = None
    elif op in (Op.IN, Op.NOT_IN):
        literal = tuple(sorted(draw(st.sets(values, min_size=1, max_size=4))))
    elif op in (Op.LIKE, Op.NOT_LIKE):
        literal = draw(st.text("ab%_", max_size=4))
    return ColumnTest(op=op, field_id=1, column="x", literal=literal)


def matches(test: ColumnTest, value: Any) -> bool:
    """Say whether a row with this value passes the test: the plain truth."""
    literal: Any = test.literal
    if test.op is Op.IS_NULL:
        return value is None
    if value is None:
        return False
    outcomes: dict[Op, Callable[[], Any]] = {
        Op.NOT_NULL: lambda: True,
        Op.EQ: lambda: value == literal,
        Op.NE: lambda: value != literal,
        Op.LT: lambda: value < literal,
        Op.LE: lambda: value <= literal,
        Op.GT: lambda: value > literal,
        Op.GE: lambda: value >= literal,
        Op.IN: lambda: value in literal,
        Op.NOT_IN: lambda: value not in literal,
        Op.STARTS_WITH: lambda: value.startswith(literal),
        Op.NOT_STARTS_WITH: lambda: not value.startswith(literal),
        Op.LIKE: lambda: is_like(value, literal),
        Op.NOT_LIKE: lambda: not is_like(value, literal),
    }
    return bool(outcomes[test.op]())


def partition_filter(source: NestedField, transform: Any, test: ColumnTest) -> PartitionFilter:
    """Return the filter of a table with one column and one partition field."""
    return PartitionFilter(_OneColumn(source, transform), test)


class _OneColumn(Table):
    def __init__(self, source: NestedField, transform: Any) -> None:
        from_spec = PartitionSpec(PartitionField(1, 1000, transform, "p"))
        self._schema, self._spec = Schema(source), from_spec

    def schema(self) -> Schema:
        return self._schema

    def spec(self) -> PartitionSpec:
        return self._spec


class TestRefusals:
    """Content that would be read wrongly stops the planning, by name."""

    @pytest.mark.parametrize(
        ("content", "file_format", "reason"),
        [
            (DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, "equality deletes"),
            (DataFileContent.POSITION_DELETES, FileFormat.PUFFIN, "deletion vectors"),
            (DataFileContent.POSITION_DELETES, FileFormat.AVRO, "AVRO"),
            (DataFileContent.DATA, FileFormat.ORC, "ORC"),
        ],
        ids=lambda value: getattr(value, "name", value),
    )
    def test_files_that_cannot_be_read(
        self, tmp_path: Path, content: DataFileContent, file_format: FileFormat, reason: str
    ) -> None:
        """Skipping one of them would bring deleted rows back, or lose rows."""
        opened = make(tmp_path)
        commit_files(
            opened.base,
            foreign_file(
                opened.base, "odd.file", ("eu",), content=content, file_format=file_format
            ),
        )

        with pytest.raises(UnsupportedError, match=rf"odd\.file.*{reason}"):
            listed(opened)

    def test_delete_files_in_the_change_store(self, tmp_path: Path) -> None:
        """The format knows change deletes only as data files."""
        opened = make(tmp_path)
        assert opened.change is not None
        file = foreign_file(
            opened.change, "odd.parquet", ("eu",), content=DataFileContent.POSITION_DELETES
        )
        commit_files(opened.change, file)

        with pytest.raises(UnsupportedError, match=r"odd\.parquet.*change store"):
            listed(opened)

    def test_files_of_another_partition_spec(self, tmp_path: Path) -> None:
        """Their partition tuples mean something else."""
        opened = make(tmp_path, key=())
        append(opened, [row(1)])
        refresh(opened.base)
        with opened.base.update_spec() as update:
            update.add_field("day", "day", "day_of")

        with pytest.raises(UnsupportedError, match=r"parquet.*partition spec 0"):
            listed(opened)

    @pytest.mark.parametrize("store", ["base", "change"])
    def test_names_of_another_store(self, tmp_path: Path, store: str) -> None:
        """A change delete in base would be read as rows, a base file in change be merged twice."""
        opened = make(tmp_path)
        table = opened.base if store == "base" else opened.change
        assert table is not None
        kind = "ED" if store == "base" else "B"
        name = f"1-{kind}-0-00000-0-1-00001.parquet"
        commit_files(table, foreign_file(table, name, ("eu",)))

        with pytest.raises(FormatError, match=name):
            listed(opened)


class TestManifestCache:
    """Manifests are decoded once."""

    def test_a_manifest_is_read_once(self, tmp_path: Path) -> None:
        """The second listing needs only the manifest list."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        before = listed(opened)
        assert opened.change is not None
        folder = Path(urlparse(opened.change.location()).path) / "metadata"
        for path in folder.glob("*-m0.avro"):
            path.unlink()

        assert listed(opened) == before


def manifest(path: str, files: int, **fields: Any) -> ManifestFile:
    """Return a manifest record."""
    return ManifestFile.from_args(
        **{
            "manifest_path": path,
            "content": 0,
            "partition_spec_id": 0,
            "added_snapshot_id": 1,
            "added_files_count": files,
            "existing_files_count": 0,
            **fields,
        }
    )


MERGING = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "3"}


class TestMerging:
    """Which manifests of a new snapshot become one."""

    def groups(self, manifests: list[ManifestFile], properties: dict[str, str]) -> list[list[str]]:
        """Return the paths of each group."""
        groups = group_for_merge(manifests, properties, written_by=99)
        return [[each.manifest_path for each in group] for group in groups]

    def test_manifests_of_one_tier_are_merged(self) -> None:
        """Three of 1 to 2 files become one; those of 3 to 8 wait for a third of their size."""
        sizes = {"a": 1, "b": 4, "c": 2, "d": 8, "e": 1}
        manifests = [manifest(path, files) for path, files in sizes.items()]

        assert self.groups(manifests, MERGING) == [["a", "c", "e"], ["b"], ["d"]]

    def test_new_large_and_unlike_manifests_stay(self) -> None:
        """What was just written, is large, or lists deletes or another spec is not touched."""
        manifests = [
            manifest("a", 1),
            manifest("b", 1),
            manifest("new", 1, added_snapshot_id=99),
            manifest("deletes", 1, content=1),
            manifest("other", 1, partition_spec_id=1),
            *(manifest(f"large{number}", FILES_IN_A_MANIFEST) for number in range(3)),
        ]

        assert all(len(group) == 1 for group in self.groups(manifests, MERGING))

    def test_merging_is_off_by_default(self) -> None:
        """As in PyIceberg; tables that Arctic creates turn it on."""
        manifests = [manifest(str(number), 1) for number in range(200)]

        assert len(self.groups(manifests, {})) == 200
        assert len(self.groups(manifests, {"commit.manifest-merge.enabled": "true"})) == 1


def test_every_row_of_a_listing_is_deterministic(tmp_path: Path) -> None:
    """Two listings of one state are equal, files in manifest order."""
    opened = make(tmp_path)
    append(opened, [row(1), row(2, "us")])

    first, second = listed(opened, None, 1), listed(reopened(opened), None, 1)

    assert first == second
    assert len(paths(first.change)) == 2


def test_text_bounds_are_what_iceberg_stores(tmp_path: Path) -> None:
    """A round trip through PyIceberg's own single-value encoding."""
    opened = make(tmp_path, partition_by=())
    bound = to_bytes(StringType(), "é")
    commit_files(
        opened.base,
        foreign_file(
            opened.base, "a.parquet", (), lower_bounds={2: bound}, upper_bounds={2: bound}
        ),
    )

    assert listed(opened, None, 2).base[0].bounds[2].lower == "é"
