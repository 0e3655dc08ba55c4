"""What a verb must be allowed to do in the object store: as little as docs/security.md says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.staging import staged_on
from benchmarks.requests.object_store import ObjectStore, object_store

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
ROWS = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"]}, schema=SCHEMA)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
    "snapshot.keep.duration": "0min",
}
ROLES = {
    "reader": ["GetObject"],
    "writer": ["GetObject", "PutObject"],
    "maker": ["GetObject", "PutObject", "ListBucket"],
    "cleaner": ["GetObject", "PutObject", "ListBucket", "DeleteObject"],
}
"""Each may do what those before it may."""

Place = Mapping[str, str]
Call = Callable[[str, Place], Any]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, and what its table must be for it to have something to do."""

    role: str
    """The least of the roles that may."""
    call: Call
    prepare: Call = lambda name, at: None
    is_refused_late: bool = False
    """The table is not as it was once a lesser role has tried."""


@pytest.fixture(scope="module")
def keys() -> Iterator[tuple[ObjectStore, dict[str, tuple[str, str]]]]:
    """Return a server that knows these roles alone."""
    with object_store() as store:
        known = {name: store.user(name, *may) for name, may in ROLES.items()}
        known["anybody"] = store.demand_signatures()
        yield store, known


def opened(name: str, at: Place) -> arctic.Table:
    """Open a table."""
    return arctic.open_table(name, catalog=at)


def age(name: str, at: Place) -> None:
    """Leave files that nobody needs, and changes that are not merged."""
    for _ in range(2):
        arctic.optimize(name, type="full", catalog=at)
        arctic.write(name, ROWS, catalog=at)


def leave_orphan(name: str, at: Place) -> None:
    """Put a file beside those of the table that nobody refers to."""
    catalog = open_catalog(CatalogConfig.from_options({f"catalog.{k}": v for k, v in at.items()}))
    table = catalog.load_table(name)
    with table.io.new_output(f"{table.location()}/data/left.parquet").create() as out:
        out.write(b"of a failed write")


def delete_by_equality(name: str, at: Place) -> None:
    """Delete a row of a plain table by its key, as Flink does."""
    release(name, at)
    catalog = open_catalog(CatalogConfig.from_options({f"catalog.{k}": v for k, v in at.items()}))
    table = catalog.load_table(name)
    path = f"{table.location()}/data/by-key.parquet"
    field = pa.field("id", pa.int64(), metadata={b"PARQUET:field_id": b"1"})
    with table.io.new_output(path).create() as out:
        pq.write_table(pa.table([[1]], schema=pa.schema([field])), out)
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=len(table.io.new_input(path)),
        equality_ids=[1],
    )
    file.spec_id = 0
    plan = SnapshotPlan(operation=Operation.OVERWRITE, added=(file,))
    commit_snapshot(table, lambda head, number: staged_on(head, plan, number))


def release(name: str, at: Place) -> None:
    """Make a table a plain one."""
    arctic.optimize(name, type="full", catalog=at)
    arctic.release(name, catalog=at)


def repair(name: str, at: Place) -> None:
    """Repair a table that needs it."""
    assert arctic.repair(name, catalog=at).removed == 1


def unpublish(name: str, at: Place) -> None:
    """End it with all its files."""
    (shown,) = arctic.unpublish(name, catalog=at)
    refuse_left(shown, at)


def release_with_files(name: str, at: Place) -> None:
    """Give up the changes of a table with all their files."""
    arctic.release(name, discard_changes=True, catalog=at)
    refuse_left(f"{name}_change_", at)


def refuse_left(name: str, at: Place) -> None:
    """Fail where files of a table have stayed that is gone."""
    if files_of(name.replace(".", "/"), at):
        raise arctic.StorageError(f"files of {name!r} have stayed")


def files_of(folder: str, at: Place) -> list[str]:
    """Return the files in a folder of the warehouse."""
    store = fs.S3FileSystem(
        access_key=at["s3.access-key-id"],
        secret_key=at["s3.secret-access-key"],
        endpoint_override=at["s3.endpoint"],
        region=at["s3.region"],
    )
    place = f"{at['warehouse']}/{folder}".removeprefix("s3://")
    found = store.get_file_info(fs.FileSelector(place, True, True))
    return [each.path for each in found if each.is_file]


def fully(report: arctic.ExpireReport) -> None:
    """Fail where a report of cleaning says which files have stayed."""
    for note in report.notes:
        raise arctic.StorageError(note)


VERBS = {
    "read": Verb("reader", lambda name, at: opened(name, at).read().read_all()),
    "changes": Verb("reader", lambda name, at: opened(name, at).read_changes().read_all()),
    "status": Verb("reader", lambda name, at: arctic.status(name, catalog=at)),
    "explain": Verb("reader", lambda name, at: arctic.explain(name, catalog=at)),
    "dataset": Verb("reader", lambda name, at: arctic.dataset(name, catalog=at).to_table()),
    "upsert": Verb("writer", lambda name, at: arctic.write(name, ROWS, catalog=at)),
    "append": Verb("writer", lambda name, at: arctic.write(name, ROWS, mode="append", catalog=at)),
    "delete": Verb("writer", lambda name, at: opened(name, at).delete("city = 'Rome'")),
    "update": Verb("writer", lambda name, at: opened(name, at).update(set={"city": "'Bern'"})),
    "merge": Verb(
        "writer",
        lambda name, at: opened(name, at).merge(ROWS, on="id").when_matched_delete().execute(),
    ),
    "optimize": Verb("writer", lambda name, at: opened(name, at).optimize(type="full")),
    "evolve": Verb(
        "writer", lambda name, at: opened(name, at).evolve_schema(add={"n": pa.int32()})
    ),
    "tags": Verb("writer", lambda name, at: opened(name, at).tag("first")),
    "restore": Verb("writer", lambda name, at: opened(name, at).restore(1), age),
    "repair": Verb("writer", repair, delete_by_equality),
    "rename": Verb("writer", lambda name, at: arctic.rename(name, f"{name}_2", catalog=at)),
    "create": Verb(
        "maker", lambda name, at: arctic.create_table(f"{name}_new", SCHEMA, catalog=at)
    ),
    "publish": Verb("maker", lambda name, at: arctic.publish(name, catalog=at)),
    "clone": Verb("maker", lambda name, at: arctic.clone(name, f"{name}_2", catalog=at)),
    "adopt": Verb(
        "maker",
        lambda name, at: arctic.adopt(name, primary_key="id", check_key=False, catalog=at),
        release,
    ),
    "unpublish": Verb(
        "cleaner",
        unpublish,
        lambda name, at: arctic.publish(name, catalog=at),
        is_refused_late=True,
    ),
    "release": Verb("cleaner", release_with_files, is_refused_late=True),
    "expire": Verb(
        "cleaner", lambda name, at: fully(opened(name, at).expire(options=AT_ONCE)), age
    ),
    "clean orphans": Verb(
        "cleaner",
        lambda name, at: fully(opened(name, at).clean_orphans(options=AT_ONCE)),
        leave_orphan,
    ),
    "drop with purge": Verb(
        "cleaner",
        lambda name, at: arctic.drop_table(name, purge=True, catalog=at),
        is_refused_late=True,
    ),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_needs_what_the_page_says_and_no_more(
    keys: tuple[ObjectStore, Mapping[str, tuple[str, str]]], tmp_path: Path, name: str
) -> None:
    """The role before is refused, as a failure of the store; the role itself is not."""
    store, known = keys

    def catalog(role: str) -> dict[str, str]:
        pair = dict(zip(("s3.access-key-id", "s3.secret-access-key"), known[role], strict=True))
        return {**store.catalog(tmp_path / "catalog.db", folder=name.replace(" ", "-")), **pair}

    def made(table: str) -> str:
        at = catalog("anybody")
        arctic.create_table(table, SCHEMA, primary_key=["id"], catalog=at)
        arctic.write(table, ROWS, catalog=at)
        verb.prepare(table, at)
        return table

    verb, table = VERBS[name], ""
    for role in list(ROLES)[: list(ROLES).index(verb.role)][-1:]:
        table = made("shop.before")
        with pytest.raises(arctic.StorageError):
            verb.call(table, catalog(role))
    if verb.is_refused_late or not table:
        table = made("shop.t")
    verb.call(table, catalog(verb.role))


def test_the_page_says_what_was_tried() -> None:
    """Each verb with its role, and the rights of this role; no verb more."""
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    rows = {row[0]: row for row in cells if row and row[0] in ROLES}
    assert list(rows) == list(ROLES)
    for role, (_, verbs, rights, _) in rows.items():
        assert verbs.split(", ") == [name for name, verb in VERBS.items() if verb.role == role]
        assert rights == ", ".join(f"`s3:{each}`" for each in ROLES[role])


def make_view(name: str, at: Place) -> None:
    """Make a table of the rows of another one, which it holds from then on."""
    arctic.materialize(f"SELECT id, city FROM {name}", "shop.v", catalog=at)


LEAVING: Mapping[str, tuple[Call, Call, str, Sequence[str]]] = {
    "unpublish": (
        lambda name, at: arctic.publish(name, catalog=at),
        lambda name, at: arctic.unpublish(name, catalog=at),
        "shop.t_fresh",
        ["t_fresh"],
    ),
    "release": (
        lambda name, at: None,
        lambda name, at: arctic.release(name, discard_changes=True, catalog=at),
        "shop.t_change_",
        ["t_change_"],
    ),
    "drop with purge": (
        make_view,
        lambda name, at: arctic.drop_table("shop.v", purge=True, catalog=at),
        "shop.v",
        ["v", "v_change_"],
    ),
}
"""Verb -> what comes before, the verb, the table that is gone then, its folders."""


@pytest.mark.parametrize("verb", LEAVING)
def test_who_may_not_delete_is_told_what_stays(
    keys: tuple[ObjectStore, Mapping[str, tuple[str, str]]],
    tmp_path: Path,
    verb: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The table is gone, every file of it is in the log, and a view holds its source no longer."""
    store, known = keys
    place = store.catalog(tmp_path / "catalog.db", folder=f"left-{verb.replace(' ', '-')}")
    prepare, call, gone, folders = LEAVING[verb]

    def given(role: str) -> dict[str, str]:
        pair = zip(("s3.access-key-id", "s3.secret-access-key"), known[role], strict=True)
        return {**place, **dict(pair)}

    at = given("anybody")
    arctic.create_table("shop.t", SCHEMA, primary_key=["id"], catalog=at)
    arctic.write("shop.t", ROWS, catalog=at)
    prepare("shop.t", at)

    with pytest.raises(arctic.StorageError, match="could not be deleted and stay: ") as refused:
        call("shop.t", given("maker"))

    config = CatalogConfig.from_options({f"catalog.{k}": v for k, v in at.items()})
    catalog = open_catalog(config)
    assert not catalog.table_exists(gone)
    assert not [name for name in catalog.load_table("shop.t").properties if "consumer" in name]
    left = {f"s3://{each}" for name in folders for each in files_of(f"shop/{name}", at)}
    assert left
    (record,) = [each for each in caplog.records if "these files stay" in each.message]
    assert set(record.message.splitlines()[1:]) == left
    assert any(repr(path) in refused.value.message for path in left)
