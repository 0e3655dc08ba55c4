"""Reads that keep what they fetch: the same rows, and it is told which bytes came from where."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import FormatError
from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import begin_scan

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("city", pa.string())])
TODAY = datetime.now(timezone.utc).date()
COUNTS = ("kept_bytes", "fetched_bytes", "requests", "unkept_bytes", "evicted_bytes")
LOCAL = {"read.cache.local-files": "true"}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> arctic.Table:
    """Return a table of days, and a folder for what is kept that is this test's."""
    monkeypatch.setenv("ARCTIC_CACHE_PATH", str(tmp_path / "kept"))
    return arctic.create_table(
        "shop.sales",
        SCHEMA,
        primary_key=["id", "day"],
        partition_by=["day"],
        warehouse=str(tmp_path / "lake"),
    )


def rows(first: int, count: int, city: str, *, days_ago: int = 0) -> pa.Table:
    """Return rows of a day."""
    day = TODAY - timedelta(days=days_ago)
    return pa.table(
        {
            "id": range(first, first + count),
            "day": [day] * count,
            "city": [f"{city} {each % 97}" for each in range(count)],
        },
        schema=SCHEMA,
    )


def read(table: arctic.Table, **options: str) -> pa.Table:
    """Return all rows in order."""
    found = table.read(options={name.replace("_", "."): text for name, text in options.items()})
    return found.read_all().sort_by([("day", "ascending"), ("id", "ascending")])


def places(table: arctic.Table, **options: str) -> tuple[int, int]:
    """Return how many bytes a read of all rows has from here, and from where files lie."""
    text = table.explain(options={**LOCAL, **options}, analyze=True)
    found = re.search(r"kept +([\d,]+) bytes .*\n +fetched +([\d,]+) bytes", text)
    assert found, text
    kept, fetched = (int(each.replace(",", "")) for each in found.groups())
    return kept, fetched


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a warehouse."""
    return sorted((folder / "lake").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("place", "most"), [("memory", "1 TiB"), ("disk", "100 KiB"), ("disk", "1")]
)
def test_rows_are_the_same_with_a_cache(table: arctic.Table, place: str, most: str) -> None:
    """Through upserts, deletes and optimizing, with much room, little and none."""
    cached = {**LOCAL, "read.cache": place, "read.cache.max-bytes": most}
    steps: list[Callable[[], Any]] = [
        partial(table.write, rows(0, 30_000, "Rome"), mode="upsert"),
        partial(table.write, rows(0, 5_000, "Oslo", days_ago=1), mode="upsert"),
        partial(table.write, rows(100, 300, "Bern"), mode="upsert"),
        partial(table.write, rows(200, 40, "").select(["id", "day"]), mode="delete"),
        partial(table.optimize, type="full"),
        partial(table.write, rows(250, 40, "Kyiv"), mode="upsert"),
    ]
    for step in steps:
        step()
        plain = read(table)
        for _ in range(2):
            found = table.read(options=cached).read_all()
            assert found.sort_by([("day", "ascending"), ("id", "ascending")]) == plain
        some = {"columns": "city", "filter": f"id = 220 and day = date '{TODAY}'"}
        asked = {name: text for name, text in some.items() if name == "filter"}
        assert (
            table.read(columns="city", options=cached, **asked).read_all()
            == table.read(columns="city", **asked).read_all()
        )
        changes = table.read_changes(options=cached).read_all()
        assert changes.num_rows == table.read_changes().read_all().num_rows


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_second_read_fetches_nothing(table: arctic.Table, place: str) -> None:
    """And says so; one without a cache says nothing of it."""
    table.write(rows(0, 20_000, "Rome"), mode="upsert")
    first = places(table, **{"read.cache": place})
    second = places(table, **{"read.cache": place})

    assert first[1] > 0
    assert second == (sum(first), 0)
    assert "kept" not in table.explain(analyze=True)


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_process_counts_what_its_reads_had_and_what_made_room(
    table: arctic.Table, place: str
) -> None:
    """The same as the reads say themselves, also those that nobody asks."""
    table.write(rows(0, 60_000, "Rome"), mode="upsert")
    before = copy.copy(vars(OF_PROCESS))
    first = places(table, **{"read.cache": place})
    table.read(options={**LOCAL, "read.cache": place}).read_all()
    counted = {name: vars(OF_PROCESS)[name] - before[name] for name in COUNTS}
    narrow = {**LOCAL, "read.cache": place, "read.cache.max-bytes": "300 KiB"}
    table.write(rows(0, 60_000, "Oslo"), mode="upsert")
    table.read(options=narrow).read_all()

    assert counted["kept_bytes"] == first[0] + sum(first)
    assert counted["fetched_bytes"] == first[1]
    assert counted["unkept_bytes"] == counted["evicted_bytes"] == 0
    assert OF_PROCESS.evicted_bytes > before["evicted_bytes"]


def test_what_was_just_written_is_here(table: arctic.Table) -> None:
    """A table that is read through a cache is written through it; so the newest minute is there."""
    table.set_properties({**LOCAL, "read.cache": "disk"})
    table.write(rows(0, 2_000, "Rome"), mode="upsert")
    kept, fetched = places(table)
    table.write(rows(0, 2_000, "Oslo"), mode="upsert")

    assert kept > 0
    assert fetched == 0
    assert places(table)[1] == 0


def test_days_that_are_too_old_are_not_kept(table: arctic.Table, tmp_path: Path) -> None:
    """They are read all the same."""
    for days_ago in (0, 1, 40):
        table.write(rows(0, 1_000, "Rome", days_ago=days_ago), mode="upsert")
    limited = {**LOCAL, "read.cache": "disk", "read.cache.max-age": "7d"}
    found = table.read(options=limited).read_all()
    blocks = [each for each in (tmp_path / "kept").rglob("*-0") if each.is_file()]

    assert found.num_rows == 3_000
    assert len(blocks) == 2 * len(data_files(tmp_path)) // 3


def test_files_of_this_machine_are_kept_only_if_that_is_asked_for(
    table: arctic.Table, tmp_path: Path
) -> None:
    """To read a copy takes as long."""
    table.write(rows(0, 1_000, "Rome"), mode="upsert")
    table.read(options={"read.cache": "disk"}).read_all()

    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("count", [1_000, 300_000])
def test_a_file_that_came_damaged_is_fetched_anew(
    table: arctic.Table, tmp_path: Path, place: str, count: int
) -> None:
    """Its blocks are as it came, so a read that finds it damaged lets them go."""
    table.write(rows(0, count, "Rome"), mode="upsert")
    path = next(each for each in data_files(tmp_path) if "-I-" in each.name)
    whole = path.read_bytes()
    path.write_bytes(whole[:-500] + bytes(100) + whole[-400:])
    options = {**LOCAL, "read.cache": place}
    with pytest.raises(FormatError, match=path.name):
        table.read(options=options).read_all()
    path.write_bytes(whole)

    assert table.read(options=options).read_all().num_rows == count


def test_a_reader_with_a_cache_travels(table: arctic.Table, tmp_path: Path) -> None:
    """To executors, which have folders of their own."""
    table.write(rows(0, 1_000, "Rome"), mode="upsert")
    asked = {"path": "shop.sales", "warehouse": str(tmp_path / "lake"), "read.cache": "disk"}
    job = begin_scan(AskedRead.of({**asked, **LOCAL}))
    reader = pickle.loads(pickle.dumps(job.reader))
    found = sum(batch.num_rows for group in job.groups for batch in reader.read(group))

    assert found == 1_000
    assert list((tmp_path / "kept").rglob("*-0"))
