"""A published table: what other engines read of it, what a publish writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.manifest import DATA_FILE_TYPE, DataFile, DataFileContent, FileFormat

import arctic
from arctic.iceberg.adoption.part_pair import part_pair
from arctic.iceberg.commits import manifest_writer
from arctic.iceberg.metadata.entries import entries_of, live_manifests
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.publishing import drop_published
from arctic.iceberg.publishing.commit_published import commit_published
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.adopt import adopt_job
from arctic.job.publish import publish_job, work_out
from arctic.job.publish.dead_rows import changes
from arctic.job.publish.kept_masks import KEPT_MASKS
from arctic.job.publish.merged_view import merged_view
from arctic.mor.files.parquet_input import ParquetInput
from tests.iceberg.plain_readers import assert_filters_find, by_duckdb, by_pyiceberg, plain_catalog

SCHEMA = pa.schema(
    [pa.field("id", pa.int64()), pa.field("region", pa.string()), pa.field("n", pa.int32())]
)
NAME = "db.t_fresh"
FIELDS = [field.name for field in DATA_FILE_TYPE[3].fields]
FIRST_ROW_ID, TARGET = FIELDS.index("first_row_id"), FIELDS.index("referenced_data_file")
Readers = (by_pyiceberg, by_duckdb)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


class Pair:
    """A table with a key, in a warehouse of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        output: str | None = None,
        key: Sequence[str] = ("id",),
        **arguments: Any,
    ) -> None:
        self.folder = str(folder)
        self.output = output
        self.table = arctic.create_table(
            "db.t", SCHEMA, primary_key=list(key), warehouse=self.folder, **arguments
        )

    def upsert(self, ids: range, n: int, region: str = "eu") -> None:
        """Write rows of some keys."""
        columns = {"id": list(ids), "region": [region] * len(ids), "n": [n] * len(ids)}
        self.table.write(pa.table(columns, schema=SCHEMA), mode="upsert")

    def delete(self, ids: range) -> None:
        """Delete some keys."""
        self.table.write(pa.table({"id": pa.array(ids, pa.int64())}), mode="delete")

    def publish(self, **arguments: Any) -> arctic.PublishReport:
        """Publish, and compare what other engines read with what Arctic does."""
        given = {"output": self.output, **arguments}
        report = arctic.publish("db.t", warehouse=self.folder, **given)
        self.compare(report.into)
        return report

    def compare(self, name: str = NAME) -> None:
        """Every reader finds exactly the rows of the merged view."""
        expected = rows_of(arctic.read("db.t", warehouse=self.folder).read_all())
        for read in Readers:
            assert rows_of(read(self.folder, name)) == expected, read.__name__

    def compare_filtered(self) -> None:
        """Every reader finds the rows of the values that bounds are made of."""
        rows = rows_of(arctic.read("db.t", warehouse=self.folder).read_all())
        for read in Readers:
            assert_filters_find(self.folder, NAME, rows, by_duckdb=read is by_duckdb)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows in the order of their keys."""
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def snapshots_of(folder: str, name: str) -> list[Any]:
    """Return the snapshots of a table, oldest first."""
    with plain_catalog(folder) as catalog:
        return list(catalog.load_table(name).metadata.snapshots)


def data_paths(folder: str, name: str) -> set[str]:
    """Return the data files of a table."""
    with plain_catalog(folder) as catalog:
        files = catalog.load_table(name).inspect.data_files()
        return set(files.column("file_path").to_pylist())


def delete_paths(folder: str) -> set[str]:
    """Return the delete files of the published table."""
    with plain_catalog(folder) as catalog:
        if not catalog.table_exists(NAME):
            return set()
        files = catalog.load_table(NAME).inspect.delete_files()
        return set(files.column("file_path").to_pylist())


def begun(folder: Path, output: str | None = None) -> Pair:
    """Return a table with two writes, one of which lies on the other."""
    found = Pair(folder, output=output, properties={"change.file-index.hash-bucket": "2"})
    found.upsert(range(20), 1)
    found.upsert(range(5, 8), 2)
    return found


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A table that is published with position deletes."""
    return begun(tmp_path)


@pytest.fixture(params=["v2", "v3", "clean"])
def each_pair(request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    """A table for each way to leave dead rows out."""
    return begun(tmp_path, request.param)


@pytest.mark.parametrize("output", ["v2", "v3", "clean"])
@pytest.mark.parametrize(
    "partition_by", [[], ["region"], ["bucket(2, region)"], ["truncate(1, region)"]]
)
def test_every_state_is_read_right(tmp_path: Path, partition_by: list[str], output: str) -> None:
    """Through upserts, deletes, keys that move, and each kind of optimizing."""
    pair = Pair(tmp_path, output=output, partition_by=partition_by)
    steps: list[Callable[[], Any]] = [
        lambda: pair.upsert(range(30), 1),
        lambda: pair.upsert(range(10, 20), 2, "us"),
        lambda: pair.delete(range(5)),
        lambda: pair.table.optimize(type="minor"),
        lambda: pair.upsert(range(8, 12), 3, "asia"),
        lambda: pair.table.optimize(type="full"),
        lambda: pair.delete(range(25, 28)),
    ]
    for number, step in enumerate(steps):
        step()
        pair.publish()
        if number % 3 == 0:
            pair.compare_filtered()


@pytest.mark.parametrize("output", ["v2", "v3"])
def test_who_wrote_a_delete_file_does_not_read_it(tmp_path: Path, output: str) -> None:
    """The rows are the same for another process, which does."""
    pair = begun(tmp_path, output)
    pair.table.optimize(type="full")
    for n, ids in enumerate([range(4), range(2, 12), range(1, 19, 2), range(3, 9)]):
        if n == 1:  # every one of them is to be replaced
            for path in delete_paths(pair.folder):
                Path(urlparse(path).path).write_bytes(b"")
        if n == 2:
            KEPT_MASKS.forget()
        pair.upsert(ids, 10 + n)
        report = pair.publish()
        assert report.delete_files_added >= 1


def test_who_publishes_again_keeps_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that the publish before has looked at is not read again, unless that was the first."""
    KEPT_MASKS.forget()
    pair = Pair(tmp_path)
    pair.upsert(range(40), 1)
    pair.table.optimize(type="full")
    read: list[str] = []
    batches = ParquetInput.batches

    def spied(self: ParquetInput, *rest: Any, **more: Any) -> Any:
        read.append(self.path)
        return batches(self, *rest, **more)

    for n in range(5):
        pair.upsert(range(n, 40, 7), 2 + n)
        read.clear()
        with monkeypatch.context() as patched:
            patched.setattr(ParquetInput, "batches", spied)
            report = arctic.publish("db.t", warehouse=pair.folder)
        pair.compare()
        assert report.delete_files_added > 0
        old = [path for path in read if "-B-" in path]
        assert bool(old) == (n < 2)


def test_a_later_row_dies_by_the_first_one_of_its_key(tmp_path: Path) -> None:
    """Where the first row wins, older deletes kill newer rows."""
    pair = Pair(tmp_path, properties={"write.merge-engine": "first-row"})
    for n, ids in enumerate([range(20), range(0, 30, 3), range(10, 40, 7), range(0, 60, 5)]):
        pair.upsert(ids, n)
        pair.publish()


@pytest.mark.parametrize("key", ["id", "region,id"])
def test_a_late_row_dies_by_whatever_outdoes_it(tmp_path: Path, key: str) -> None:
    """Where columns order the rows of a key: merged or waiting, looked up now or before."""
    pair = Pair(tmp_path, key=key.split(","), ordering_columns="n")
    pair.upsert(range(40), 5)
    pair.table.optimize(type="full")
    for at, n in enumerate([6, 4, 7, 3, 9, 5, 8]):
        pair.upsert(range(at, 46, 3), n)
        pair.publish()
        if n == 3:
            pair.table.optimize(type="minor")


def test_no_data_file_is_written(pair: Pair) -> None:
    """All that a publish adds are delete files, each of one data file."""
    report = pair.publish()

    stored = {
        path
        for name in ("db.t", "db.t_change_")
        for path in (Path(pair.folder) / name.replace(".", "/")).rglob("*.parquet")
    }
    assert {Path(urlparse(path).path) for path in data_paths(pair.folder, NAME)} <= stored
    assert report.data_files_added > 0
    assert report.delete_files_added > 0


def test_copies_take_the_place_of_files_with_dead_rows(tmp_path: Path) -> None:
    """There are no delete files; a copy stays for as long as its file has the same dead rows."""
    pair = begun(tmp_path, "clean")
    pair.table.optimize(type="full")
    pair.upsert(range(3), 4)
    pair.publish()
    copies = data_paths(pair.folder, NAME) - data_paths(pair.folder, "db.t")
    pair.upsert(range(50, 51), 4)
    report = pair.publish()

    with plain_catalog(pair.folder) as catalog:
        assert catalog.load_table(NAME).inspect.delete_files().num_rows == 0
    assert (report.delete_files_added, report.data_files_removed) == (0, 0)
    assert copies <= data_paths(pair.folder, NAME)


def test_a_publish_of_nothing_new_commits_nothing(each_pair: Pair) -> None:
    """However often it is called."""
    pair = each_pair
    pair.publish()
    report = pair.publish()

    assert report.snapshot_id is None
    assert len(snapshots_of(pair.folder, NAME)) == 1
    assert "as it is" in str(report)


def test_a_snapshot_says_which_state_it_shows(pair: Pair) -> None:
    """By the ids of both stores."""
    report = pair.publish()

    (snapshot,) = snapshots_of(pair.folder, NAME)
    said = snapshot.summary.additional_properties
    assert said["arctic.published-base-snapshot"] == "none"
    assert said["arctic.published-change-snapshot"] == str(report.change_snapshot_id)
    assert report.snapshot_id == snapshot.snapshot_id


def test_only_what_changed_is_looked_up(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delete file takes the place of the one before; other files keep theirs."""
    pair.table.optimize(type="full")
    for key in range(0, 20, 4):
        pair.upsert(range(key, key + 1), 3)
    pair.publish()
    looked_up: list[str] = []

    def spied(view: Any, *rest: Any) -> Any:
        for each in changes(view, *rest):
            if each.dead is not None and len(each.dead) and not each.is_gone:
                looked_up.append(each.viewed.file.path)
            yield each

    monkeypatch.setattr(work_out, "changes", spied)
    pair.upsert(range(5, 6), 4)
    report = pair.publish()

    assert len(looked_up) == report.delete_files_added == 1
    assert report.delete_files_removed <= 1


def test_files_of_which_no_row_is_left_are_left_out(each_pair: Pair) -> None:
    """They come back with their rows."""
    pair = each_pair
    pair.table.optimize(type="full")
    before = arctic.open_table("db.t", warehouse=pair.folder).versions()["version"].to_pylist()[-1]
    pair.publish()
    pair.upsert(range(20), 9)
    report = pair.publish()

    assert report.delete_files_added == 0
    base = data_paths(pair.folder, "db.t")
    assert not base & data_paths(pair.folder, NAME)

    pair.table.restore(before)
    pair.publish()
    assert base & data_paths(pair.folder, NAME)


def test_a_restore_brings_rows_back(each_pair: Pair) -> None:
    """Masks that shrink are compared by their rows, not by how many there are."""
    pair = each_pair
    pair.table.optimize(type="full")
    pair.table.tag("before")
    pair.upsert(range(3), 5)
    pair.publish()
    pair.table.restore("before")
    pair.upsert(range(7, 10), 6)
    pair.publish()


def test_columns_follow(each_pair: Pair) -> None:
    """Renamed, widened, dropped, added and added again, old files unrewritten."""
    pair = each_pair
    pair.publish()
    table = arctic.evolve_schema(
        "db.t",
        add={"x": pa.string()},
        rename={"region": "place"},
        widen={"n": pa.int64()},
        warehouse=pair.folder,
    )
    pair.publish()
    pair.compare_filtered()
    columns = {"id": [1, 90], "place": ["a", "b"], "n": [2**40, 2], "x": ["x", None]}
    table.write(pa.table(columns, schema=table.schema), mode="upsert")
    pair.publish()
    pair.compare_filtered()
    table = arctic.evolve_schema("db.t", drop=["x", "place"], warehouse=pair.folder)
    table = arctic.evolve_schema("db.t", add={"place": pa.int64()}, warehouse=pair.folder)
    pair.publish()
    table.write(pa.table({"id": [2], "n": [3], "place": [7]}, schema=table.schema), mode="upsert")
    pair.publish()
    pair.compare_filtered()


def test_a_file_says_of_its_order_only_what_the_published_table_knows(tmp_path: Path) -> None:
    """An order that the pair declares later is none of it: others would look for it in vain."""
    folder = str(tmp_path)
    schema = pa.schema([("id", pa.int64()), ("a", pa.int64())])
    table = arctic.create_table("db.s", schema, primary_key="id", sort_by="a", warehouse=folder)
    found = []
    for n, columns in enumerate(("a", "id")):
        options = {"self-optimizing.sort-columns": columns}
        arctic.set_properties("db.s", options, warehouse=folder)
        table = table.refresh()
        table.write(pa.table({"id": [1, 2], "a": [n, 3]}, schema=schema), mode="upsert")
        table.optimize(type="full")
        arctic.publish("db.s", warehouse=folder)
        with plain_catalog(folder) as catalog:
            shown, base = (catalog.load_table(name) for name in ("db.s_fresh", "db.s"))
            for each in (shown, base):
                (number,) = {task.file.sort_order_id for task in each.scan().plan_files()}
                known = [order.order_id for order in each.metadata.sort_orders]
                found.append((number, number in known))
    assert found == [(1, True), (1, True), (None, False), (2, True)]


def test_a_published_table_outlives_the_cleaning_of_the_pair(each_pair: Pair) -> None:
    """Also of files that no snapshot of the pair refers to any more."""
    pair = each_pair
    pair.publish()
    shown = rows_of(by_pyiceberg(pair.folder, NAME))
    pair.table.optimize(type="full")
    pair.upsert(range(2), 7)
    pair.table.optimize(type="full")
    for _ in range(2):
        report = pair.table.expire(options=AT_ONCE)

    assert any("another table refers" in note for note in report.notes) or not report.notes
    for read in Readers:
        assert rows_of(read(pair.folder, NAME)) == shown

    pair.publish()
    pair.table.expire(options=AT_ONCE)
    pair.compare()


def test_files_are_deleted_once_nobody_shows_them(pair: Pair) -> None:
    """The pair finds them as orphans, after the published snapshot that had them has expired."""
    pair.table.set_properties({"snapshot.keep.duration": "0"})
    pair.publish()
    pair.table.optimize(type="full")
    pair.table.expire(options=AT_ONCE)
    change = Path(pair.folder) / "db" / "t_change_" / "data"
    assert list(change.rglob("*.parquet"))

    pair.publish()
    pair.table.expire(options=AT_ONCE)
    assert not list(change.rglob("*.parquet"))
    pair.compare()


def test_old_snapshots_of_a_published_table_go_without_files_of_the_pair(each_pair: Pair) -> None:
    """Its own delete files and metadata go with them."""
    pair = each_pair
    pair.table.set_properties({"snapshot.keep.duration": "0"})
    first = pair.publish()
    stored = ("*.parquet", "*-vector.puffin")
    folder = Path(pair.folder) / "db"
    kept = {path for name in stored for path in folder.rglob(f"t*/data/**/{name}")}
    pair.upsert(range(3), 8)
    pair.publish()

    assert [each.snapshot_id for each in snapshots_of(pair.folder, NAME)] != [first.snapshot_id]
    assert len(snapshots_of(pair.folder, NAME)) == 1
    gone = {path for path in kept if not path.exists()}
    assert all("t_fresh" in path.parts for path in gone)
    assert gone or pair.output == "clean"


def test_a_table_that_is_published_is_not_dropped(pair: Pair) -> None:
    """Until its published table is; a table of that name which shows nothing is no reason."""
    pair.publish()

    for purge in (False, True):
        with pytest.raises(arctic.InvalidInputError, match="is published as"):
            arctic.drop_table("db.t", purge=purge, warehouse=pair.folder)

    assert arctic.unpublish("db.t", warehouse=pair.folder) == (NAME,)
    assert not list((Path(pair.folder) / "db" / "t_fresh").rglob("*.*"))
    pair.table.refresh()
    assert len(arctic.read("db.t", warehouse=pair.folder).read_all()) == 20
    arctic.drop_table("db.t", purge=True, warehouse=pair.folder)


def test_a_published_table_that_others_renamed_is_known(pair: Pair) -> None:
    """By the UUID that it names: nothing it shows is taken away, and publishing ends with it."""
    pair.publish()
    with plain_catalog(pair.folder) as catalog:
        catalog.rename_table(NAME, "db.moved")

    steps: list[Callable[[], None]] = [
        lambda: arctic.drop_table("db.t", purge=True, warehouse=pair.folder),
        lambda: arctic.release("db.t", discard_changes=True, warehouse=pair.folder),
    ]
    for take_away in steps:
        with pytest.raises(arctic.InvalidInputError, match=r"is published as 'db\.moved'"):
            take_away()
    pair.upsert(range(3), 9)
    pair.publish(into="db.moved")
    assert arctic.unpublish("db.t", warehouse=pair.folder) == ("db.moved", NAME)
    arctic.drop_table("db.t", purge=True, warehouse=pair.folder)


@pytest.mark.parametrize("take_away", ["drop", "release"])
def test_nothing_is_left_that_shows_a_table_which_is_gone(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, take_away: str
) -> None:
    """Whoever takes it away finds no published table before the publisher's commit."""

    def late(*arguments: Any, **named: Any) -> Any:
        if take_away == "drop":
            arctic.drop_table("db.t", purge=True, warehouse=pair.folder)
        else:
            arctic.release("db.t", discard_changes=True, warehouse=pair.folder)
        return commit_published(*arguments, **named)

    monkeypatch.setattr(publish_job, "commit_published", late)
    expected = arctic.NotFoundError if take_away == "drop" else arctic.UnsupportedError
    with pytest.raises(expected):
        arctic.publish("db.t", warehouse=pair.folder)

    with plain_catalog(pair.folder) as catalog:
        assert not catalog.table_exists(NAME)
    assert not list((Path(pair.folder) / "db" / "t_fresh").rglob("*.parquet"))


def test_a_table_that_is_published_while_it_is_released_stays_a_pair(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its properties are not those that were looked at."""

    def late(opened: OpenTable) -> None:
        pair.publish()
        part_pair(opened)

    monkeypatch.setattr(adopt_job, "part_pair", late)
    with pytest.raises(arctic.ConflictError, match="release it again"):
        arctic.release("db.t", discard_changes=True, warehouse=pair.folder)
    pair.compare()


def test_a_table_that_is_published_again_while_that_ends_is_named(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it could be dropped under it."""
    pair.publish()

    def late(published: Any) -> tuple[str, ...]:
        pair.publish()
        return delete_own_files(published)

    monkeypatch.setattr(drop_published, "delete_own_files", late)
    arctic.unpublish("db.t", warehouse=pair.folder)

    pair.compare()
    with pytest.raises(arctic.InvalidInputError, match="is published as"):
        arctic.drop_table("db.t", purge=True, warehouse=pair.folder)


def test_a_table_whose_publishing_ends_before_its_first_commit_is_named(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there afterwards, so base says so."""

    def late(*arguments: Any, **named: Any) -> Any:
        arctic.unpublish("db.t", warehouse=pair.folder)
        return commit_published(*arguments, **named)

    monkeypatch.setattr(publish_job, "commit_published", late)
    pair.publish()

    with pytest.raises(arctic.InvalidInputError, match="is published as"):
        arctic.drop_table("db.t", warehouse=pair.folder)


def test_a_rename_is_followed(pair: Pair) -> None:
    """The published table shows the pair, whatever either is called."""
    pair.publish()
    pair.table.rename("db.other")
    report = arctic.publish("db.other", warehouse=pair.folder)
    assert (report.into, report.snapshot_id) == (NAME, None)

    arctic.write(
        "db.other",
        pa.table({"id": [1], "region": ["x"], "n": [0]}, schema=SCHEMA),
        mode="upsert",
        warehouse=pair.folder,
    )
    arctic.publish("db.other", warehouse=pair.folder)
    expected = rows_of(arctic.read("db.other", warehouse=pair.folder).read_all())
    assert rows_of(by_duckdb(pair.folder, NAME)) == expected


@pytest.mark.parametrize("output", ["v2", "clean"])  # PyIceberg writes no version 3
def test_what_others_did_to_a_published_table_is_undone(tmp_path: Path, output: str) -> None:
    """Nothing is built upon what was not published."""
    pair = begun(tmp_path, output)
    pair.publish()
    with plain_catalog(pair.folder) as catalog:
        catalog.load_table(NAME).delete("id < 10")
    pair.upsert(range(1), 5)
    pair.publish()


def test_an_older_state_never_follows_a_newer_one(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that is outrun while it works begins again."""
    pair.publish()
    pair.upsert(range(2), 5)
    left = [True]

    def slow(opened: OpenTable, *rest: Any) -> Any:
        view = merged_view(opened, *rest)
        if left.pop() if left else False:
            pair.upsert(range(4), 6)
            arctic.publish("db.t", warehouse=pair.folder)
        return view

    monkeypatch.setattr(work_out, "merged_view", slow)
    report = pair.publish()

    assert report.snapshot_id is None
    assert len(snapshots_of(pair.folder, NAME)) == 2


def test_a_state_that_expires_while_it_is_published_is_published_anew(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cleaning asks published tables only for what they show by then."""
    left = [True]

    def late(*arguments: Any, **named: Any) -> Any:
        if left:
            left.pop()
            pair.table.optimize(type="full")
            pair.upsert(range(3), 5)
            pair.table.optimize(type="full")
            pair.table.expire(options=AT_ONCE)
        return commit_published(*arguments, **named)

    monkeypatch.setattr(publish_job, "commit_published", late)
    pair.publish()


def test_a_published_table_is_found_whole_or_not_at_all(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first snapshot comes with it; one that others were faster with leaves nothing behind."""
    found: list[bool] = []

    def late(*arguments: Any, **named: Any) -> Any:
        with plain_catalog(pair.folder) as catalog:
            found.append(catalog.table_exists(NAME))
            if len(found) == 1:
                catalog.create_table(NAME, SCHEMA)
        return commit_published(*arguments, **named)

    monkeypatch.setattr(publish_job, "commit_published", late)
    with pytest.raises(arctic.AlreadyExistsError, match="does not show"):
        arctic.publish("db.t", warehouse=pair.folder)
    with plain_catalog(pair.folder) as catalog:
        catalog.drop_table(NAME)
    assert not list((Path(pair.folder) / "db").glob("t_fresh*/data/**/*.parquet"))

    pair.publish()
    assert found == [False, False]
    assert len(snapshots_of(pair.folder, NAME)) == 1


def test_an_empty_table_is_published_empty(tmp_path: Path) -> None:
    """Its first rows come with the next publish."""
    pair = Pair(tmp_path)
    report = arctic.publish("db.t", warehouse=pair.folder)
    assert report.snapshot_id is None
    assert by_pyiceberg(pair.folder, NAME).num_rows == 0

    pair.upsert(range(3), 1)
    pair.publish()
    pair.delete(range(3))
    report = pair.publish()
    assert report.data_files_removed > 0


def test_a_table_may_be_shown_under_several_names(pair: Pair) -> None:
    """Then a publish says which."""
    pair.publish(into=" db.one ")
    pair.publish(into="other.two")

    with pytest.raises(arctic.InvalidInputError, match="say by into="):
        arctic.publish("db.t", warehouse=pair.folder)
    assert arctic.unpublish("db.t", "db.one", warehouse=pair.folder) == ("db.one",)
    assert pair.publish().into == "other.two"


def test_what_cannot_be_published_is_refused(pair: Pair) -> None:
    """Each with its name and what to do."""
    folder = pair.folder
    arctic.create_table("db.plain", SCHEMA, warehouse=folder)
    for table, into, error, text in (
        ("db.plain", None, arctic.InvalidInputError, "has no primary key"),
        ("db.t", "db.plain", arctic.AlreadyExistsError, "does not show table 'db.t'"),
        ("db.t", "db.t_change_", arctic.InvalidInputError, "db.t_change_"),
        ("db.t", "nothing", arctic.InvalidInputError, "nothing"),
        ("db.none", None, arctic.NotFoundError, "db.none"),
    ):
        with pytest.raises(error, match=text):
            arctic.publish(table, into=into, warehouse=folder)
    pair.publish()
    for output in ("clean", "v3"):
        with pytest.raises(arctic.InvalidInputError, match=output):
            arctic.publish("db.t", output=output, warehouse=folder)
    arctic.unpublish("db.t", warehouse=folder)
    with pytest.raises(arctic.NotFoundError, match="is published as nothing"):
        arctic.unpublish("db.t", "db.nothing", warehouse=folder)


def entries(folder: str) -> tuple[Any, list[DataFile]]:
    """Return the published table, and what its newest snapshot lists."""
    with plain_catalog(folder) as catalog:
        published = catalog.load_table(NAME)
    manifests = live_manifests(published, published.current_snapshot())
    listed = entries_of(published.io, manifests)
    return published, [entry.data_file for _, found in listed for entry in found]


def row_ids(folder: str) -> dict[str, int]:
    """Return the first row id of each data file that is shown; no two rows have the same."""
    published, files = entries(folder)
    data = [file for file in files if file.content == DataFileContent.DATA]
    spans = sorted((file[FIRST_ROW_ID], file[FIRST_ROW_ID] + file.record_count) for file in data)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert spans[-1][1] <= published.metadata.next_row_id
    return {file.file_path: file[FIRST_ROW_ID] for file in data}


def test_rows_of_version_3_have_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No two the same, and those of a file stay while its manifest is written anew, and merged."""
    monkeypatch.setattr(manifest_writer, "_least_count", lambda _: 3)
    pair = Pair(tmp_path, output="v3")
    pair.upsert(range(40), 1)
    pair.table.optimize(type="full")
    pair.upsert(range(5), 2)
    pair.publish()
    seen: dict[str, int] = {}
    for number in range(6):
        pair.upsert(range(number, number + 3), number + 3)
        pair.publish()
        now = row_ids(pair.folder)
        assert {path: now[path] for path in now.keys() & seen.keys()} == {
            path: seen[path] for path in now.keys() & seen.keys()
        }
        seen |= now
    pair.table.optimize(type="minor")
    pair.publish()
    assert row_ids(pair.folder).keys() - seen.keys()


def test_one_vector_replaces_another(tmp_path: Path) -> None:
    """A data file has one at most, each in a file of its own."""
    pair = begun(tmp_path, "v3")
    pair.table.optimize(type="full")
    for key in range(4):
        pair.upsert(range(key, key + 1), 3 + key)
        pair.publish()
        vectors = [file for file in entries(pair.folder)[1] if file.content != DataFileContent.DATA]
        assert vectors
        assert {file.file_format for file in vectors} == {FileFormat.PUFFIN}
        for of_each in ([file.file_path for file in vectors], [file[TARGET] for file in vectors]):
            assert len(set(of_each)) == len(vectors)
