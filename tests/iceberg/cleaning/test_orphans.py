"""The search for files that nothing refers to, and when it refuses to touch any."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from pyiceberg.table import Table

from arctic.errors import FormatError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.cleaning import orphans
from arctic.iceberg.cleaning.orphans import Orphans, find_orphans
from arctic.iceberg.ownership.folders import own_files
from arctic.iceberg.ownership.reachable import normalised, referenced_paths
from arctic.iceberg.storage.checksum import CHECKSUM
from arctic.iceberg.storage.table_io import FoundFile, TableIO
from arctic.iceberg.tables.open_table import OpenTable
from tests.iceberg.stores import append, commit_files, config_of, make, overwrite, reopened, row

FAR = 2**50


@pytest.fixture
def opened(tmp_path: Path) -> OpenTable:
    """A table with files in both stores."""
    made = make(tmp_path)
    append(made, [row(1)])
    overwrite(made, [row(1)], up_to=1)
    append(made, [row(2, "us")])
    return made


def search(opened: OpenTable) -> Orphans:
    """Search with every file old enough."""
    return find_orphans(opened, min_age_ms=0, now_ms=FAR)


def plant(folder: Path, place: str) -> Path:
    """Make a file of nobody."""
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left")
    return path


def test_a_table_in_order_has_none(opened: OpenTable) -> None:
    """Every file on disk is referred to, the Puffin file and old metadata too."""
    assert search(opened) == Orphans()


def test_a_file_is_said_with_its_size_and_why(opened: OpenTable, tmp_path: Path) -> None:
    """As a listing of its store shows it."""
    path = plant(tmp_path, "db/t/data/region=eu/x.parquet")

    [item] = search(opened).items

    assert item.name == f"file://{path}"
    assert (item.store, item.size_bytes) == ("base", 4)
    assert item.reason == "nothing refers to it, and it is older than 0 minutes"


def test_a_file_committed_after_the_listing_stays(
    opened: OpenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is on the list already, and in no metadata that was loaded before."""

    def late(self: TableIO, folder: str) -> tuple[FoundFile, ...]:
        files = listing(self, folder)
        if folder.endswith("t/data"):
            overwrite(opened, [row(7)], up_to=2)
            append(opened, [row(8)])
            files += listing(self, folder)
        return files

    listing = TableIO.list_files
    monkeypatch.setattr(TableIO, "list_files", late)

    assert search(opened).items == ()


def test_what_flink_may_still_commit_stays(opened: OpenTable, tmp_path: Path) -> None:
    """Its checkpoint names a manifest that no snapshot has yet; and the hint for Hadoop tables."""
    assert opened.change is not None
    commit_files(opened.change, summary={"flink.job-id": "a1b2"})
    plant(tmp_path, "db/t_change_/metadata/a1b2-00000-0-9-00003.avro")
    plant(tmp_path, "db/t/metadata/version-hint.text")
    other = plant(tmp_path, "db/t_change_/metadata/c3d4-00000-0-9-00003.avro")

    assert [item.name for item in search(opened).items] == [f"file://{other}"]


def test_a_file_of_unknown_age_stays(
    opened: OpenTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some stores do not tell when a file was made."""
    plant(tmp_path, "db/t/data/x.parquet")
    listing = TableIO.list_files
    monkeypatch.setattr(
        TableIO,
        "list_files",
        lambda self, folder: tuple(
            replace(file, modified_ms=None) for file in listing(self, folder)
        ),
    )

    found = search(opened)

    assert found.items == ()
    [note] = found.notes
    assert note.startswith("1 files such as 'file://")
    assert note.endswith("x.parquet' stay, because their age is not known")


def test_a_file_with_the_name_of_a_known_one_stays(opened: OpenTable, tmp_path: Path) -> None:
    """Another engine may have written the same place under another scheme or host."""
    known = sorted((tmp_path / "db" / "t" / "data").rglob("*.parquet"))[0]
    plant(tmp_path, f"db/t/data/elsewhere/{known.name}")

    found = search(opened)

    assert found.items == ()
    assert "a file of the same name is referred to by another path" in found.notes[0]


def test_a_table_inside_the_folder_stops_the_search(opened: OpenTable, tmp_path: Path) -> None:
    """Its files would look like orphans; it is found in the catalog."""
    catalog = open_catalog(config_of(tmp_path))
    catalog.create_table(
        ("db", "inner"), opened.arrow_schema, location=f"file://{tmp_path}/db/t/data/inner"
    )
    plant(tmp_path, "db/t/data/x.parquet")

    found = search(opened)

    assert found.items == ()
    assert "table 'db.inner' keeps files in" in found.notes[0]


@pytest.mark.parametrize("place", ["data/inner/metadata", "metadata/inner"])
def test_the_metadata_of_a_stranger_stops_the_search(
    opened: OpenTable, tmp_path: Path, place: str
) -> None:
    """A table of another catalog or namespace betrays itself by its metadata file."""
    plant(tmp_path, f"db/t/{place}/00000-x.metadata.json")
    plant(tmp_path, "db/t/data/x.parquet")

    found = search(opened)

    assert found.items == ()
    assert "looks like another table inside the base store" in found.notes[0]


def test_a_table_of_another_namespace_in_the_folder_stops_the_search(
    opened: OpenTable, tmp_path: Path
) -> None:
    """It was renamed away, and the old name was taken again."""
    catalog = open_catalog(config_of(tmp_path))
    catalog.create_namespace("other")
    catalog.create_table(
        ("other", "t"), opened.arrow_schema, location=f"file://{tmp_path}/db/t_change_"
    )
    plant(tmp_path, "db/t/data/x.parquet")

    found = search(opened)

    assert found.items == ()
    assert "table 'other.t' keeps files in" in found.notes[0]


def test_the_metadata_of_another_table_beside_its_own_stops_the_search(
    opened: OpenTable, tmp_path: Path
) -> None:
    """No catalog that is known here has it."""
    catalog = open_catalog(config_of(tmp_path))
    catalog.create_table(("db", "u"), opened.arrow_schema, location=f"file://{tmp_path}/db/t")
    catalog.drop_table(("db", "u"))
    plant(tmp_path, "db/t/data/x.parquet")

    found = search(opened)

    assert found.items == ()
    assert "metadata.json' is of another table" in found.notes[0]


def test_what_the_same_table_commits_in_another_catalog_stays(tmp_path: Path) -> None:
    """Its history parted from ours; what nobody refers to goes all the same."""
    made = make(tmp_path / "here", key=(), partition_by=())
    append(made, [row(1)])
    elsewhere = open_catalog(config_of(tmp_path / "there"), create=True)
    elsewhere.create_namespace("db")
    copy = elsewhere.register_table("db.t", refresh(made.base).metadata_location)
    for _ in range(2):
        copy.append(copy.scan().to_arrow())
    append(made, [row(2)])
    path = plant(tmp_path, "here/db/t/data/x.parquet")

    found = search(made)

    assert [item.name for item in found.items] == [f"file://{path}"]
    [note] = found.notes
    assert "another catalog may have the table too" in note
    assert elsewhere.load_table("db.t").scan().to_arrow().num_rows == 4


def test_a_commit_that_died_goes(tmp_path: Path) -> None:
    """Its metadata was written, and the catalog was not told; its name says through which one."""
    made = make(tmp_path, key=(), partition_by=())
    append(made, [row(1)])
    before = refresh(made.base).metadata_location
    append(made, [row(2)])
    lost = refresh(made.base).metadata_location
    made.base.catalog.drop_table("db.t")
    made.base.catalog.register_table("db.t", before)

    found = search(reopened(made))

    assert found.notes == ()
    assert lost in {item.name for item in found.items}
    assert len(found.items) == 4


def test_a_commit_of_another_catalog_that_lost_its_snapshot_hides_none(tmp_path: Path) -> None:
    """What its log names is still the table there, and keeps its files."""
    made = make(tmp_path / "here", key=(), partition_by=())
    append(made, [row(1)])
    elsewhere = open_catalog(config_of(tmp_path / "there"), create=True)
    elsewhere.create_namespace("db")
    copy = elsewhere.register_table("db.t", refresh(made.base).metadata_location)
    copy.append(copy.scan().to_arrow())
    newest = Path(copy.metadata_location.removeprefix("file://"))
    document = json.loads(newest.read_text())
    document["metadata-log"].append(
        {"metadata-file": copy.metadata_location, "timestamp-ms": document["last-updated-ms"]}
    )
    document["snapshots"][-1]["manifest-list"] += ".gone"
    (newest.parent / f"00009-{uuid4()}.metadata.json").write_text(json.dumps(document))

    found = search(made)

    assert "snap-" not in str(found.items)
    assert found.notes[0].startswith(repr(copy.metadata_location))
    assert elsewhere.load_table("db.t").scan().to_arrow().num_rows == 2


def test_snapshots_of_another_catalog_that_are_gone_hold_nobody_up(tmp_path: Path) -> None:
    """Nobody can read them."""
    made = make(tmp_path / "here", key=(), partition_by=())
    append(made, [row(1)])
    elsewhere = open_catalog(config_of(tmp_path / "there"), create=True)
    elsewhere.create_namespace("db")
    copy = elsewhere.register_table("db.t", refresh(made.base).metadata_location)
    copy.append(copy.scan().to_arrow())
    first = made.base.metadata.snapshots[0].manifest_list
    document = Path(copy.metadata_location.removeprefix("file://"))
    rewritten = document.read_text().replace(first, f"{first}.gone")
    document.write_text(rewritten.replace(CHECKSUM, "none", 1))
    path = plant(tmp_path, "here/db/t/data/x.parquet")

    found = search(made)

    assert [item.name for item in found.items] == [f"file://{path}"]
    assert found.notes[0].startswith(repr(copy.metadata_location))


def test_metadata_that_fell_out_of_the_log_is_no_stranger(tmp_path: Path) -> None:
    """Its followers name it, as far back as they are there."""
    properties = {
        "write__metadata__delete_after_commit__enabled": "false",
        "write__metadata__previous_versions_max": "2",
    }
    made = make(tmp_path, **properties)
    for number in range(7):
        append(made, [row(number)])
    assert made.change is not None
    known = len(refresh(made.change).metadata.metadata_log)
    assert known == 2

    found = search(made)

    assert found.notes == ()
    assert all(item.name.endswith(".metadata.json") for item in found.items)
    assert len(found.items) == 5


def test_a_link_is_not_followed(opened: OpenTable, tmp_path: Path) -> None:
    """Neither out of the folder nor in circles; a folder that is a link itself is left out."""
    outside = plant(tmp_path, "elsewhere/deep/x.parquet")
    (tmp_path / "db/t/data/out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "db/t/data/back").symlink_to(tmp_path / "db/t/data")
    (tmp_path / "db/t_change_/data").rename(tmp_path / "moved")
    (tmp_path / "db/t_change_/data").symlink_to(tmp_path / "moved")
    plant(tmp_path, "moved/x.parquet")
    own = plant(tmp_path, "db/t/data/x.parquet")

    assert [item.name for item in search(opened).items] == [f"file://{own}"]
    assert outside.exists()


def test_a_file_that_no_writer_of_tables_names_so_stays(opened: OpenTable, tmp_path: Path) -> None:
    """A table's location may be a folder of somebody's."""
    plant(tmp_path, "db/t/data/thesis.doc")

    found = search(opened)

    assert found.items == ()
    assert "thesis.doc' stay, because no writer of tables gives such names" in found.notes[0]


def test_paths_that_lead_nowhere_stop_the_search(
    opened: OpenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If not one listed file is known, both sides spell paths differently."""
    monkeypatch.setattr(orphans, "referenced_paths", lambda _: frozenset({"/elsewhere"}))

    found = search(opened)

    assert found.items == ()
    assert "none of the" in found.notes[0]


def test_a_warehouse_behind_a_link_is_one_place(tmp_path: Path) -> None:
    """Written by its link, cleaned by its real name: both mean the same files."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made = make(tmp_path / "link")
    append(made, [row(1)])
    path = made.base.location().removeprefix("file://")

    known = referenced_paths(refresh(made.base))

    assert known
    assert all(str(tmp_path / "real") in each for each in known)
    assert normalised(os.path.realpath(path)) == normalised(f"file:{path}")
    assert search(made).items == ()


def test_a_listing_that_is_not_possible_is_noted(
    opened: OpenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other steps are done all the same."""
    io = TableIO(properties={"py-io-impl": f"{__name__}.NoListing"}, location="x")
    monkeypatch.setattr(TableIO, "of", lambda _: io)

    found = search(opened)

    assert found.items == ()
    assert "cannot list files" in found.notes[0]


def test_a_broken_table_of_others_stops_the_search_alone(
    opened: OpenTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whose files it needs; what else is cleaned goes on."""
    (tmp_path / "db" / "t" / "data" / "stray.parquet").write_bytes(b"")

    def broken(_: object) -> None:
        raise FormatError("load table 'db.other': its metadata cannot be parsed")

    assert len(search(opened).items) == 1
    monkeypatch.setattr(orphans, "known_tables", broken)
    found = search(opened)

    assert found.items == ()
    assert "load table 'db.other'" in found.notes[0]


@pytest.mark.parametrize("end", ["/", "//"])
def test_a_slash_after_a_location_is_none_of_its_name(
    opened: OpenTable, tmp_path: Path, end: str
) -> None:
    """Files are listed as writers name them, and one that nobody needs is found."""
    stray = tmp_path / "db" / "t" / "data" / "stray.parquet"
    stray.write_bytes(b"")
    opened.base.metadata = opened.base.metadata.model_copy(
        update={"location": opened.base.location() + end}
    )

    listed = own_files(opened.base)

    assert {file.path for file in listed} == {file.path for file in own_files(refresh(opened.base))}
    assert len(listed) > 2


class NoListing:
    """A FileIO that opens files only."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = properties


def test_old_metadata_in_the_log_stays(opened: OpenTable, tmp_path: Path) -> None:
    """Readers that loaded a pointer a moment ago still open it."""
    store: Table = refresh(opened.base)
    log = {entry.metadata_file for entry in store.metadata.metadata_log}
    assert log

    assert {normalised(path) for path in (*log, store.metadata_location)} <= referenced_paths(store)
    assert search(opened).items == ()
