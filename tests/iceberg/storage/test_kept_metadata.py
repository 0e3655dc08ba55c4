"""Metadata that is kept in memory is what its file says, for as long as the file is there."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.serializers import FromByteStream
from pyiceberg.table.metadata import TableMetadataUtil

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.storage.kept_metadata import KEPT, KeptMetadata
from arctic.iceberg.storage.local_files import local_path

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
ROWS = pa.table({"id": [1, 2], "region": ["eu", "us"]}, schema=SCHEMA)


@pytest.fixture(autouse=True)
def _alone() -> None:
    """Forget what other tests kept."""
    KEPT.forget()


def check_kept() -> int:
    """Compare all that is kept with the files as they are; return how many there are."""
    known = KEPT.known()
    for location, metadata in known.items():
        path = local_path(location)
        if path is not None and os.path.exists(path):
            stored = TableMetadataUtil.parse_raw(Path(path).read_text())
            assert metadata == stored, location
            assert metadata.model_dump_json() == stored.model_dump_json(), location
    return len(known)


def test_nobody_changes_what_is_kept(tmp_path: Path) -> None:
    """After every kind of commit, what is in memory is still what the files say."""
    place = str(tmp_path)
    table = arctic.create_table(
        "db.t", SCHEMA, primary_key=["id"], partition_by=["region"], warehouse=place
    )
    options = {"stream-query-id": "q", "stream-batch-id": "3"}
    steps: list[Any] = [
        lambda: table.write(ROWS, mode="upsert"),
        lambda: table.write(ROWS, mode="delete", options=options),
        lambda: arctic.optimize("db.t", type="full", warehouse=place),
        lambda: table.write(ROWS, mode="overwrite"),
        lambda: arctic.evolve_schema("db.t", add={"more": pa.int64()}, warehouse=place),
        lambda: arctic.set_properties("db.t", {"read.split.target-size": "1mb"}, warehouse=place),
        lambda: table.write(ROWS, mode="upsert", options={"missing-columns": "keep"}),
        lambda: arctic.optimize("db.t", type="minor", warehouse=place),
        lambda: arctic.expire("db.t", warehouse=place),
        lambda: arctic.read("db.t", warehouse=place).read_all(),
    ]
    for step in steps:
        step()
        assert check_kept()


def test_metadata_is_parsed_once_and_what_is_committed_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where PyIceberg's catalogs read metadata on another way than the one that is taken."""
    parsed = []
    native = FromByteStream.table_metadata

    def count(*arguments: Any, **named: Any) -> Any:
        parsed.append(arguments)
        return native(*arguments, **named)

    monkeypatch.setattr(FromByteStream, "table_metadata", staticmethod(count))
    table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    KEPT.forget()
    parsed.clear()
    table.write(ROWS, mode="upsert")
    assert len(parsed) == 2

    table.write(ROWS, mode="upsert")
    arctic.read("db.t", warehouse=str(tmp_path)).read_all()
    assert len(parsed) == 2


def test_a_commit_shares_what_it_does_not_change(tmp_path: Path) -> None:
    """Fails where PyIceberg copies metadata in another way than the one that is cut short."""
    table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    table.write(ROWS, mode="upsert")
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
    before = catalog.load_table("db.t_change_").metadata
    table.write(ROWS, mode="upsert")
    after = catalog.load_table("db.t_change_").metadata

    assert len(after.snapshots) == 2
    assert after.snapshots[0] is before.snapshots[0]
    assert after.schemas[0] is before.schemas[0]
    assert type(after) is type(before)
    assert len(before.snapshots) == 1


@pytest.mark.parametrize("damage", ["removed", "cut", "replaced"])
def test_a_file_that_is_not_as_it_was_is_read_again(tmp_path: Path, damage: str) -> None:
    """What is in memory hides no damage on this machine."""
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    location = open_catalog(config).load_table("db.t").metadata_location
    path = Path(str(local_path(location)))
    content = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(content[:-9] if damage == "cut" else content.replace(b"region", b"regiom"))

    with pytest.raises(arctic.ArcticError, match=path.name):
        arctic.read("db.t", warehouse=str(tmp_path))


def test_only_so_many_are_kept_and_only_under_names_of_their_own(tmp_path: Path) -> None:
    """The one that was used longest ago goes; a name without a UUID may be written again."""
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    metadata = open_catalog(config).load_table("db.t").metadata
    kept = KeptMetadata(2)
    names = [
        f"s3://lake/t/metadata/0000{n}-{'0' * 8}-0000-0000-0000-{n:012}.metadata.json"
        for n in range(3)
    ]
    for name in (*names[:2], names[0], names[2], "s3://lake/t/metadata/v1.metadata.json"):
        kept.get(names[0], ())
        kept.put(name, (), metadata, kept.stamp(name))

    assert sorted(kept.known()) == [names[0], names[2]]
    assert kept.get(names[0], ()) is metadata
    assert kept.get(names[0], (("s3.region", "other"),)) is None


def test_a_child_process_begins_with_nothing(tmp_path: Path) -> None:
    """A thread of the parent may have held the lock when it forked."""
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    arctic.read("db.t", warehouse=str(tmp_path)).read_all()
    gc.collect()
    with KEPT._kept._lock:
        child = os.fork()
        if child == 0:
            os._exit(len(KEPT.known()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
