"""Which files a manifest lists, and how many manifests a look-up opens for that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
from pyiceberg.typedef import Record

import arctic
from arctic.iceberg.commits import manifest_writer
from arctic.iceberg.commits.manifest_writer import cut_in_order
from arctic.iceberg.metadata import entries as kept_entries
from arctic.iceberg.metadata.manifest_files import read_manifest
from arctic.last_used import LastUsed
from tests.iceberg.stores import make, overwrite, reopened, row

NAME = "db.t"
SCHEMA = pa.schema([pa.field("region", pa.string()), pa.field("id", pa.int64())])
MOST = 12
REGIONS = 30


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a manifest have few files."""
    monkeypatch.setattr(manifest_writer, "FILES_IN_A_MANIFEST", MOST)


def entry(*partition: Any) -> ManifestEntry:
    """Return an entry of a file in a partition."""
    return ManifestEntry.from_args(data_file=DataFile.from_args(partition=Record(*partition)))


def cut(*counts: int) -> list[list[int]]:
    """Cut so many files of each partition; return the partitions of each run."""
    entries = [entry(number) for number, count in enumerate(counts) for _ in range(count)]
    runs = cut_in_order(reversed(entries), 1)
    return [[each.data_file.partition[0] for each in run] for run in runs]


@pytest.mark.parametrize(
    ("counts", "lengths"),
    [
        ((), []),
        ((12,), [12]),
        ((13,), [6, 7]),
        ((6, 6), [12]),
        ((7, 6), [7, 6]),
        ((1,) * 13, [7, 6]),
        ((5,) * 5, [10, 10, 5]),
        ((3, 25, 3), [3, 8, 8, 9, 3]),
    ],
)
@pytest.mark.usefixtures("few")
def test_a_run_has_whole_partitions(counts: Sequence[int], lengths: Sequence[int]) -> None:
    """Unless one has more files than a manifest should; every file is in one of the runs."""
    runs = cut(*counts)

    assert [len(run) for run in runs] == lengths
    found = [partition for run in runs for partition in run]
    assert found == [number for number, count in enumerate(counts) for _ in range(count)]


def test_partitions_without_a_value_come_first() -> None:
    """Values are compared with their like alone."""
    (run,) = cut_in_order([entry("b", 1), entry(None, 2), entry("a", None), entry("a", 0)], 2)

    found = [tuple(each.data_file.partition[place] for place in (0, 1)) for each in run]
    assert found == [(None, 2), ("a", None), ("a", 0), ("b", 1)]


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """Make a table of many partitions."""
    return arctic.create_table(
        NAME,
        SCHEMA,
        primary_key=["region", "id"],
        partition_by=["region"],
        properties={"commit.manifest.min-count-to-merge": "100"},
        warehouse=str(tmp_path),
    )


def put(table: arctic.Table, first: int) -> None:
    """Write a row to each partition."""
    ids = range(first, first + REGIONS)
    table.write(pa.table([[f"r{n % REGIONS:02}" for n in ids], [*ids]], SCHEMA), mode="upsert")


@pytest.mark.usefixtures("few")
def test_a_look_up_opens_one_manifest_of_base(
    table: arctic.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many runs of optimizing there were: each of them has files of every partition."""
    for number in range(6):
        put(table, number * REGIONS)
        table.optimize(type="minor")
    opened: list[str] = []

    def watched(io: FileIO, manifest: ManifestFile) -> bytes:
        opened.append(manifest.manifest_path)
        return read_manifest(io, manifest)

    monkeypatch.setattr(kept_entries, "CACHE", LastUsed())
    monkeypatch.setattr(kept_entries, "read_manifest", watched)
    found = table.read(filter="region = 'r07' and id = 37").read_all()
    of_one = [path for path in opened if "/t_change_/" not in path]
    opened.clear()
    everything = table.read().read_all()
    of_all = [path for path in opened if "/t_change_/" not in path]

    assert found.to_pylist() == [{"region": "r07", "id": 37}]
    assert everything.num_rows == 6 * REGIONS
    assert len(of_one) == 1
    assert len(of_all) >= REGIONS // MOST


@pytest.mark.usefixtures("few")
def test_entries_keep_their_sequence_numbers(tmp_path: Path) -> None:
    """In whichever manifests they come to stand; removed ones stand in none that has live files."""
    opened = make(tmp_path, key=())
    overwrite(opened, [row(number, f"r{number:02}") for number in range(REGIONS)], up_to=None)

    overwrite(opened, [row(99, "r08")], dynamic=True, up_to=None)

    snapshot = reopened(opened).base.current_snapshot()
    assert snapshot is not None
    entries = [
        [
            (each.status.name, each.sequence_number, each.data_file.partition[0])
            for each in manifest.fetch_manifest_entry(opened.base.io, discard_deleted=False)
        ]
        for manifest in snapshot.manifests(opened.base.io)
    ]
    live = [each[1:] for found in entries for each in found if each[0] != "DELETED"]
    others = [(1, f"r{number:02}") for number in range(REGIONS) if number != 8]
    assert sorted(live) == sorted([(2, "r08"), *others])
    assert [("DELETED", 1, "r08")] in entries
    assert {row["id"] for row in opened.base.refresh().scan().to_arrow().to_pylist()} == {
        99,
        *range(8),
        *range(9, REGIONS),
    }
