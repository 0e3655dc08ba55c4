"""A whole cleaning on real tables: what goes, what stays, what can still be read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

import arctic
from arctic.errors import (
    FormatError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.cleaning import spare_others
from arctic.iceberg.tables.open_table import open_table
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task
from arctic.retry import RetryPolicy
from arctic.table.expire_report import ExpiredKind
from tests.iceberg.stores import commit_files, config_of, position_delete

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("by", pa.string()),
    ]
)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}
Row = dict[str, Any]


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """Partitioned by region; upserts, two merges between them, one upsert after."""
    return worn(tmp_path, partition_by=["region"])


def worn(folder: Path, **arguments: Any) -> arctic.Table:
    """Make a table with a past."""
    made = arctic.create_table(
        "m.t", SCHEMA, primary_key=["id"], warehouse=str(folder), **arguments
    )
    for turn in range(2):
        for number in range(2):
            upsert(made, number, by=f"turn {turn}")
            upsert(made, 10 + turn, "us")
        merge(made)
    upsert(made, 1, by="last")
    return made


def upsert(table: arctic.Table, number: int, region: str = "eu", by: str = "me") -> None:
    """Write one row."""
    rows = [{"id": number, "region": region, "by": by}]
    table.write(pa.Table.from_pylist(rows, schema=SCHEMA), mode="upsert")


def merge(table: arctic.Table) -> None:
    """Fold all changes into base."""
    table.write(table.read().read_all(), mode="overwrite")


def rows_of(table: arctic.Table, snapshot_id: int | None = None) -> list[str]:
    """Read the rows, sorted."""
    options = {} if snapshot_id is None else {"snapshot-id": str(snapshot_id)}
    return sorted(map(str, table.read(options=options).read_all().to_pylist()))


def rows_or_none(table: arctic.Table, snapshot_id: int) -> list[str] | None:
    """Read the rows of a snapshot; None when that is refused."""
    try:
        return rows_of(table, snapshot_id)
    except NotFoundError:
        return None


def stores(warehouse: Path) -> Iterator[Table]:
    """Load every Iceberg table of the namespace, past Arctic."""
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(warehouse)}))
    for identifier in catalog.list_tables("m"):
        yield catalog.load_table(identifier)


def reachable(warehouse: Path) -> set[Path]:
    """Return what the metadata refers to, as PyIceberg alone reads it."""
    paths: set[str] = set()
    for store in stores(warehouse):
        paths.add(store.metadata_location)
        paths.update(entry.metadata_file for entry in store.metadata.metadata_log)
        paths.update(entry.statistics_path for entry in store.metadata.statistics)
        for snapshot in store.metadata.snapshots:
            paths.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(store.io):
                paths.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(store.io, discard_deleted=True)
                paths.update(entry.data_file.file_path for entry in entries)
    return {Path(urlparse(path).path) for path in paths}


def on_disk(warehouse: Path) -> set[Path]:
    """Return the files of the tables."""
    return {path for path in (warehouse / "m").rglob("*") if path.is_file()}


def snapshot_ids(table: arctic.Table) -> list[int]:
    """Return the snapshots of both stores."""
    ids: list[int] = table.inspect("snapshots").column("snapshot_id").to_pylist()
    return ids


class TestWhatStays:
    """Rows, and the past as far as it is kept."""

    @pytest.mark.parametrize("partition_by", [[], ["region"], ["bucket(4, id)", "region"]])
    def test_rows_are_the_same_and_only_what_they_need_is_left(
        self, tmp_path: Path, partition_by: list[str]
    ) -> None:
        """Nothing merged, nothing old, no file without an owner."""
        table = worn(tmp_path, partition_by=partition_by)
        before = rows_of(table)

        report = table.expire(options=AT_ONCE)

        assert rows_of(table) == before
        assert on_disk(tmp_path) == reachable(tmp_path)
        assert report.counts[ExpiredKind.CHANGE_FILE] > 0
        assert {row["operation"] for row in table.inspect("snapshots").to_pylist()} == {
            "overwrite",
            "delete",
        }
        assert len(snapshot_ids(table)) == 2

    def test_again_finds_nothing(self, table: arctic.Table) -> None:
        """The second run has nothing to commit."""
        table.expire(options=AT_ONCE)
        left = snapshot_ids(table)

        report = table.expire(options=AT_ONCE)

        assert report.items == ()
        assert snapshot_ids(table) == left

    def test_nothing_young_goes(self, table: arctic.Table, tmp_path: Path) -> None:
        """With the defaults, a table of this minute stays as it is."""
        before = on_disk(tmp_path)

        report = table.expire()

        assert report.items == ()
        assert on_disk(tmp_path) == before

    def test_a_base_snapshot_that_stays_is_read_as_before(self, table: arctic.Table) -> None:
        """Merged changes are gone at once, but those under young base snapshots are kept."""
        past = {each: rows_of(table, each) for each in snapshot_ids(table)}

        table.expire(options={**AT_ONCE, "snapshot.keep.duration": "1d"})

        left = set(snapshot_ids(table))
        rows = table.inspect("snapshots").to_pylist()
        base = {row["snapshot_id"] for row in rows if row["store"] == "base"}
        assert len(base) == 2
        for each in base:
            assert rows_of(table, each) == past[each]
        for each in past.keys() - left:
            with pytest.raises(NotFoundError, match=f"no snapshot {each}"):
                rows_of(table, each)

    @pytest.mark.parametrize("ttl", ["0", "10080"])
    @pytest.mark.parametrize("keep", ["0", "1d"])
    def test_the_past_is_read_as_it_was_or_refused(
        self, table: arctic.Table, ttl: str, keep: str
    ) -> None:
        """Whatever is kept: an expired half is never taken for an empty one."""
        past = {each: rows_of(table, each) for each in snapshot_ids(table)}

        table.expire(
            options={
                **AT_ONCE,
                "change.data.ttl.minutes": ttl,
                "snapshot.keep.duration": keep,
            }
        )

        after = {each: rows_or_none(table, each) for each in past}
        refused = {each for each, rows in after.items() if rows is None}
        assert {each: past[each] if rows else None for each, rows in after.items()} == after
        assert bool(refused) is ((ttl, keep) != ("10080", "1d"))

    def test_branches_and_tags_survive(self, table: arctic.Table, tmp_path: Path) -> None:
        """In both stores, and the table reads as before at the tagged base snapshot."""
        first = {
            store.name(): store.metadata.snapshots[0].snapshot_id for store in stores(tmp_path)
        }
        for store in stores(tmp_path):
            store.manage_snapshots().create_tag(first[store.name()], "then").commit()
        before = rows_of(table, first["m", "t"])

        table.expire(options=AT_ONCE)

        for store in stores(tmp_path):
            assert store.metadata.refs["then"].snapshot_id == first[store.name()]
        assert rows_of(table, first["m", "t"]) == before
        assert on_disk(tmp_path) == reachable(tmp_path)

    def test_writes_go_on(self, table: arctic.Table, tmp_path: Path) -> None:
        """Upserts and merges of a cleaned table, cleaned again."""
        table.expire(options=AT_ONCE)
        upsert(table, 1, by="later")
        merge(table)
        upsert(table, 50)
        before = rows_of(table)

        table.expire(options=AT_ONCE)

        assert rows_of(table) == before
        assert sum("later" in row for row in before) == 1
        assert on_disk(tmp_path) == reachable(tmp_path)

    def test_deletes_that_delete_nothing_leave_the_disk(
        self, table: arctic.Table, tmp_path: Path
    ) -> None:
        """A foreign file of deletes goes with the last snapshot that holds it.

        That one stays until the next merge: it lies on the way to what is merged.
        """
        opened = open_table(CatalogConfig.from_options({"warehouse": str(tmp_path)}), "m.t")
        gone = f"{opened.base.location()}/data/gone.parquet"
        delete = position_delete(opened, [(gone, 0)], ("eu",), "region=eu/deletes.parquet")
        commit_files(opened.base, delete)
        before = rows_of(table)

        said = table.expire(dry_run=True, options=AT_ONCE)
        done = table.expire(options=AT_ONCE)

        assert said.items == done.items
        assert [item.name for item in done.of_kind(ExpiredKind.POSITION_DELETES)] == [
            delete.file_path
        ]
        assert rows_of(table) == before
        merge(table)
        table.expire(options=AT_ONCE)
        assert on_disk(tmp_path) == reachable(tmp_path)
        assert not Path(urlparse(delete.file_path).path).exists()

    def test_a_table_without_a_key_is_cleaned_too(self, tmp_path: Path) -> None:
        """It has one store."""
        plain = arctic.create_table("m.t", SCHEMA, warehouse=str(tmp_path))
        for number in range(3):
            rows = [{"id": number, "region": "eu", "by": "me"}]
            plain.write(pa.Table.from_pylist(rows, schema=SCHEMA), mode="append")
        merge(plain)
        before = rows_of(plain)

        report = plain.expire(options=AT_ONCE)

        assert rows_of(plain) == before
        assert report.counts[ExpiredKind.SNAPSHOT] == 3
        assert report.counts[ExpiredKind.DATA_FILE] == 3
        assert on_disk(tmp_path) == reachable(tmp_path)

    def test_an_empty_table_has_nothing_to_clean(self, tmp_path: Path) -> None:
        """It has no snapshot at all."""
        made = arctic.create_table("m.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))

        assert str(made.expire(options=AT_ONCE)) == "m.t: expired nothing"

    def test_what_was_never_merged_stays(self, tmp_path: Path) -> None:
        """However old: it is the only copy of its rows."""
        made = arctic.create_table("m.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
        for number in range(3):
            upsert(made, number)
        before = rows_of(made)

        report = made.expire(options=AT_ONCE)

        assert rows_of(made) == before
        assert set(report.counts) == {ExpiredKind.SNAPSHOT, ExpiredKind.MANIFEST_LIST}


class TestDryRun:
    """What would go, without going."""

    def test_it_changes_nothing_and_says_what_a_run_does(
        self, table: arctic.Table, tmp_path: Path
    ) -> None:
        """Item for item, as long as the commits merge no manifests."""
        before = on_disk(tmp_path)

        said = table.expire(dry_run=True, options=AT_ONCE)

        assert on_disk(tmp_path) == before
        done = table.expire(options=AT_ONCE)
        assert said.items == done.items
        assert said.explain().replace("would expire", "expired") == done.explain()

    def test_the_text_says_how_much_and_why(self, table: arctic.Table) -> None:
        """Counts first, then items, then how many are not shown."""
        at_once = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
        report = table.expire(dry_run=True, options=at_once)

        lines = str(report).splitlines()
        more = len(report.items) - 20
        assert lines[0].startswith("m.t: would expire 16 x change file (")
        assert "merged (sequence 1 <= 8) and older than 0 minutes" in lines[1]
        assert lines[-1] == f"  ... and {more} more"
        assert len(report.explain(verbose=True).splitlines()) == len(report.items) + 1


class TestOrphans:
    """Files that nobody refers to."""

    def plant(self, warehouse: Path) -> set[Path]:
        """Leave files where crashed writers leave them."""
        places = [
            "t/data/region=eu/0-B-0-crashed.parquet",
            "t_change_/data/x/y/z.parquet",
            "t/data/puffin/1-lost.puffin",
            "t/metadata/00007-lost.metadata.json",
            "t_change_/metadata/snap-lost.avro",
        ]
        planted = {warehouse / "m" / place for place in places}
        for path in planted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"left")
        return planted

    def test_planted_files_go_and_nothing_else(self, table: arctic.Table, tmp_path: Path) -> None:
        """In both folders of both stores, however deep."""
        before = on_disk(tmp_path)
        planted = self.plant(tmp_path)

        report = table.expire(options={"clean-orphan-file.min-existing-time-minutes": "0"})

        assert on_disk(tmp_path) == before
        assert {Path(urlparse(item.name).path) for item in report.items} == planted
        assert {item.kind for item in report.items} == {ExpiredKind.ORPHAN}

    def test_files_of_a_write_that_never_committed_go(
        self, table: arctic.Table, tmp_path: Path
    ) -> None:
        """They look like any other data file."""
        before = on_disk(tmp_path)
        options = {"path": "m.t", "warehouse": str(tmp_path), "write-mode": "upsert"}
        job = begin_write(AskedWrite.of(options), SCHEMA)
        data = pa.Table.from_pylist([{"id": 5, "region": "eu", "by": "x"}], schema=SCHEMA)
        write_task(job.work, data.to_batches(), partition_id=0, task_id=0)
        assert on_disk(tmp_path) > before

        table.expire(options={"clean-orphan-file.min-existing-time-minutes": "0"})

        assert on_disk(tmp_path) == before

    def test_young_ones_stay(self, table: arctic.Table, tmp_path: Path) -> None:
        """They may belong to a write that commits in a minute; age is that of the file."""
        planted = sorted(self.plant(tmp_path))
        three_days_ago = planted[0].stat().st_mtime - 3 * 86_400
        os.utime(planted[0], (three_days_ago, three_days_ago))

        table.expire()

        assert [path.exists() for path in planted] == [False, True, True, True, True]

    def test_the_search_can_be_left_out(self, table: arctic.Table, tmp_path: Path) -> None:
        """By an option or a table property."""
        planted = self.plant(tmp_path)

        table.expire(options={**AT_ONCE, "clean-orphan-file.enabled": "false"})

        assert all(path.exists() for path in planted)

    def test_the_search_can_be_made_alone(self, table: arctic.Table, tmp_path: Path) -> None:
        """Also where cleaning leaves it out; nothing else goes, and a dry run leaves all."""
        planted = self.plant(tmp_path)
        commits = len(table.history())
        options = {**AT_ONCE, "clean-orphan-file.enabled": "false"}

        said = table.clean_orphans(dry_run=True, options=options)
        assert all(path.exists() for path in planted)
        done = table.clean_orphans(options=options)

        assert said.items == done.items
        assert {Path(urlparse(item.name).path) for item in done.items} == planted
        assert not any(path.exists() for path in planted)
        assert len(table.history()) == commits

    def test_a_run_that_could_not_delete_is_finished_by_the_next(
        self, table: arctic.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What it left is an orphan then; the report names what is left."""

        def refuse(*_: object) -> None:
            raise PermissionError("read-only")

        with monkeypatch.context() as patch:
            patch.setattr(PyArrowFileIO, "delete", refuse)
            report = table.expire(options=AT_ONCE)

        assert report.counts.keys() == {ExpiredKind.CHANGE_FILE, ExpiredKind.SNAPSHOT}
        assert any("could not be deleted" in note for note in report.notes)
        table.expire(options=AT_ONCE)
        assert on_disk(tmp_path) == reachable(tmp_path)


class TestOthers:
    """Files that may be somebody else's."""

    def keyless(self, folder: Path, *numbers: int, name: str = "m.t") -> arctic.Table:
        """Make a table with one snapshot for each number."""
        made = arctic.create_table(name, SCHEMA, warehouse=str(folder))
        for number in numbers:
            made.write(self.rows(number), mode="append")
        return made

    def rows(self, *numbers: int) -> pa.Table:
        """Return some rows."""
        values = [{"id": number, "region": "eu", "by": "me"} for number in numbers]
        return pa.Table.from_pylist(values, schema=SCHEMA)

    def test_files_stay_where_another_table_cannot_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Catalogs that load each table fail at one; the snapshots are gone by then."""
        made = self.keyless(tmp_path, 1, 2)
        merge(made)
        before = set(tmp_path.rglob("*.parquet"))

        def unreadable(_: object) -> None:
            raise FormatError("table 'm.other': its metadata is no JSON")

        with monkeypatch.context() as patched:
            patched.setattr(spare_others, "known_tables", unreadable)
            told = made.expire(options={**AT_ONCE, "clean-orphan-file.enabled": "false"})

        assert before == set(tmp_path.rglob("*.parquet"))
        assert any("not all tables can be read: table 'm.other'" in note for note in told.notes)
        made.expire(options=AT_ONCE)
        assert len(set(tmp_path.rglob("*.parquet"))) == 1

    def registered(self, here: arctic.Table, folder: Path, there: Path) -> Table:
        """Register the metadata of a table once more, as other.t."""
        [store] = [each for each in stores(folder) if each.name() == ("m", "t")]
        catalog = open_catalog(config_of(there), create=True)
        catalog.create_namespace("other")
        return catalog.register_table("other.t", store.metadata_location)

    @pytest.mark.parametrize("catalog", ["here", "there"])
    def test_a_table_that_is_registered_twice_keeps_what_either_needs(
        self, tmp_path: Path, catalog: str
    ) -> None:
        """In another namespace or another catalog; both went on since."""
        here, there = tmp_path / "here", tmp_path / catalog
        made = self.keyless(here, 1, 2)
        copy = self.registered(made, here, there)
        for number in (5, 6):
            copy.append(copy.scan().to_arrow().slice(0, 1))
            made.write(self.rows(number), mode="append")
        merge(made)  # what the copy reads is in no newest snapshot of ours

        report = made.expire(options=AT_ONCE)
        again = open_catalog(config_of(there)).load_table("other.t")

        assert again.scan().to_arrow().num_rows == 4
        assert len(rows_of(made)) == 4
        assert any("another table refers to them" in note for note in report.notes)
        assert report.counts[ExpiredKind.DATA_FILE] == 2
        arctic.expire("other.t", warehouse=str(there), options=AT_ONCE)
        assert len(rows_of(made)) == 4

    def added_outside(self, folder: Path) -> tuple[arctic.Table, Path, Path]:
        """Let an expired snapshot refer to a file of nobody, and to one of another table."""
        victim = self.keyless(folder, 1, name="m.victim")
        [foreign] = (folder / "m" / "victim" / "data").rglob("*.parquet")
        outside = folder / "outside.parquet"
        shutil.copy(foreign, outside)
        made = self.keyless(folder, 2)
        store = open_catalog(config_of(folder)).load_table("m.t")
        store.add_files([f"file://{foreign}", f"file://{outside}"])
        store.delete()
        assert len(rows_of(victim)) == 1
        return made, foreign, outside

    def test_a_file_outside_the_folders_stays_unless_told(self, tmp_path: Path) -> None:
        """The report names it; told to, it goes, but never out of another table's folder."""
        made, foreign, outside = self.added_outside(tmp_path)
        told = {**AT_ONCE, "delete-outside-files": "true"}

        said = made.expire(dry_run=True, options=told)
        report = made.expire(options=AT_ONCE)

        names = {f"file://{foreign}", f"file://{outside}"}
        assert {item.name for item in report.outside} == names
        assert not names & {item.name for item in report.items}
        assert "option delete-outside-files=true deletes them" in report.notes[0]
        assert [item.name for item in said.outside] == [f"file://{foreign}"]
        assert f"file://{outside}" in {item.name for item in said.items}
        assert foreign.exists()
        assert outside.exists()

    def test_told_to_it_deletes_what_no_table_has(self, tmp_path: Path) -> None:
        """As an option of the call; as a property of the table it would tell itself."""
        made, foreign, outside = self.added_outside(tmp_path)

        made.expire(options={**AT_ONCE, "delete-outside-files": "true"})

        assert foreign.exists()
        assert not outside.exists()


class TestInterruption:
    """A run may end anywhere, and others may commit anywhere."""

    def test_a_run_killed_at_any_call_loses_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The rows are the same after it, and the next run leaves what a whole run leaves."""
        made = worn(tmp_path / "lake")
        shutil.copytree(tmp_path / "lake", tmp_path / "saved")
        before = rows_of(made)
        calls = 0
        while True:
            calls += 3
            shutil.rmtree(tmp_path / "lake")
            shutil.copytree(tmp_path / "saved", tmp_path / "lake")
            with monkeypatch.context() as patch:
                kill_after(patch, calls)
                try:
                    made.expire(options=AT_ONCE)
                    break
                except (KeyboardInterrupt, StorageError):
                    pass  # Of threads that read, one that came after it may be heard first.
            assert rows_of(made) == before
            made.expire(options=AT_ONCE)
            assert rows_of(made) == before
            assert on_disk(tmp_path / "lake") == reachable(tmp_path / "lake")
        assert calls > 60

    @pytest.mark.parametrize("before_commit", [1, 2, 3])
    def test_an_upsert_in_between_survives(
        self,
        table: arctic.Table,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        before_commit: int,
    ) -> None:
        """Between any look at a store and the commit that follows from it."""
        commit = Table._do_commit
        count = 0

        def late(store: Table, *arguments: Any, **named: Any) -> None:
            nonlocal count
            count += 1
            if count == before_commit:
                upsert(table, 99, by="in between")
            commit(store, *arguments, **named)

        monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)
        monkeypatch.setattr(Table, "_do_commit", late)
        before = rows_of(table)

        table.expire(options=AT_ONCE)

        assert count > before_commit
        assert rows_of(table) == sorted(
            [*before, str({"id": 99, "region": "eu", "by": "in between"})]
        )
        assert on_disk(tmp_path) == reachable(tmp_path)


def kill_after(patch: pytest.MonkeyPatch, calls: int) -> None:
    """Stop this process, as it were, before some call to the catalog or a file."""
    left = calls

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            if left < 0:
                raise OSError("dead")
            return call(*arguments, **named)

        return counted

    for owner, name in (
        (PyArrowFileIO, "delete"),
        (PyArrowFileIO, "new_output"),
        (PyArrowFileIO, "new_input"),
        (Table, "_do_commit"),
    ):
        patch.setattr(owner, name, guarded(getattr(owner, name)))


class TestRefusals:
    """What is asked for wrongly, and what must not be touched."""

    def test_an_unknown_option_is_refused(self, table: arctic.Table) -> None:
        """With the name that was meant."""
        with pytest.raises(InvalidInputError, match=r"expire option .* 'snapshot.keep.duration'"):
            table.expire(options={"snapshot.keep.duratoin": "1d"})

    def test_a_table_that_must_keep_its_files_is_refused(self, tmp_path: Path) -> None:
        """Iceberg's property says that other tables may refer to them."""
        made = worn(tmp_path, properties={"gc.enabled": "false"})

        with pytest.raises(InvalidInputError, match=r"gc\.enabled = 'false'"):
            made.expire(options=AT_ONCE)

    def test_a_metadata_table_is_refused(self, table: arctic.Table, tmp_path: Path) -> None:
        """It has no files of its own."""
        with pytest.raises(InvalidInputError, match=r"m\.t\.files"):
            arctic.expire("m.t.files", warehouse=str(tmp_path))

    def test_a_plain_iceberg_table_is_refused(self, tmp_path: Path) -> None:
        """Its own tools know what its readers need."""
        worn(tmp_path)
        catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
        catalog.create_table(("m", "plain"), SCHEMA)

        with pytest.raises(UnsupportedError, match="plain Iceberg table"):
            arctic.expire("m.plain", warehouse=str(tmp_path))
