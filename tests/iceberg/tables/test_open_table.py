"""Opening: recognition, halves that do not fit, schemas one step apart, what is refused."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException, ForbiddenError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update import RemoveSchemasUpdate
from pyiceberg.transforms import IdentityTransform, YearTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestampType, UUIDType

from arctic.errors import (
    ArcticError,
    ConflictError,
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.pair import base_properties
from arctic.iceberg.tables import schema_sync
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.values.schema import arrow_schema
from arctic.retry import RetryPolicy
from arctic.table.property_names import NAMES_BASE
from tests.processes import forked

PROCESSES = 3
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("ts", pa.timestamp("us"))])
CHANGE = ("db", "users_change_")


@pytest.fixture
def config(tmp_path: Path) -> CatalogConfig:
    """A warehouse with one keyed table, ``db.users``."""
    made = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    create_table(
        made, "db.users", SCHEMA, primary_key=["id"], partition_by=["day(ts)"], properties={}
    )
    return made


def load(config: CatalogConfig, identifier: tuple[str, ...] = ("db", "users")) -> Table:
    """One of the two Iceberg tables, as PyIceberg sees it."""
    return open_catalog(config).load_table(identifier)


def set_properties(table: Table, **properties: str | None) -> None:
    """Change table properties; None removes one. Underscores stand for dots."""
    with table.transaction() as transaction:
        for name, text in properties.items():
            if text is None:
                transaction.remove_properties(name)
            else:
                transaction.set_properties({name: text})


def edit_metadata(table: Table, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the metadata file in place, for what PyIceberg would not write."""
    path = Path(urlparse(table.metadata_location).path)
    metadata = json.loads(path.read_text(encoding="utf-8"))
    change(metadata)
    path.write_text(json.dumps(metadata), encoding="utf-8")


def register_base(
    config: CatalogConfig, schema: Schema, properties: Mapping[str, str], **arguments: Any
) -> None:
    """Make a pair as a foreign writer would: ``db.foreign``."""
    catalog = open_catalog(config)
    for name, store in (("db.foreign", "base"), ("db.foreign_change_", "change")):
        catalog.create_table(
            name,
            schema,
            properties={**properties, "mixed-format.table-store": store},
            **arguments,
        )


def foreign_properties(*key: str) -> dict[str, str]:
    """What Amoro writes: no word of Arctic's own."""
    properties = base_properties({}, key, ("db", "foreign_change_"))
    properties.pop(NAMES_BASE, None)
    return properties


# Recognition


def test_a_missing_table_is_answered_with_near_names(config: CatalogConfig) -> None:
    """And a missing namespace with those that exist."""
    with pytest.raises(NotFoundError, match=r"'db\.user' not found; did you mean db\.users\?"):
        open_table(config, "db.user")
    with pytest.raises(NotFoundError, match=r"no namespace 'dc'; namespaces: db"):
        open_table(config, "dc.users")
    open_catalog(config).create_namespace("empty")
    with pytest.raises(NotFoundError, match="namespace 'empty' is empty"):
        open_table(config, "empty.users")


def test_a_catalog_that_lists_nothing_still_says_what_is_missing(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some let us load a table but not list any."""

    def forbidden(*_: Any) -> None:
        raise ForbiddenError("no listing")

    monkeypatch.setattr("pyiceberg.catalog.sql.SqlCatalog.list_namespaces", forbidden)

    with pytest.raises(NotFoundError, match=r"'db\.user' not found; looked in '.*catalog\.db'$"):
        open_table(config, "db.user")


def test_an_empty_catalog_says_so(tmp_path: Path) -> None:
    """There is nothing near."""
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    open_catalog(config, create=True)

    with pytest.raises(NotFoundError, match="the catalog is empty"):
        open_table(config, "db.users")


@pytest.mark.parametrize("identifier", ["users", "", "db.", ".users", "db..users"])
def test_a_name_without_namespace_is_refused(identifier: str, config: CatalogConfig) -> None:
    """Every Iceberg table has one."""
    with pytest.raises(InvalidInputError, match=r"expected 'namespace\.table'"):
        open_table(config, identifier)


def test_a_change_store_is_not_opened_by_its_own_name(config: CatalogConfig) -> None:
    """The message names the table and the option."""
    with pytest.raises(InvalidInputError, match=r"of 'db\.users'.*store=change"):
        open_table(config, "db.users_change_")


def test_a_plain_iceberg_table_is_unsupported(config: CatalogConfig) -> None:
    """Reading it as ours would be a guess."""
    open_catalog(config).create_table("db.plain", SCHEMA)

    with pytest.raises(UnsupportedError, match="plain Iceberg table"):
        open_table(config, "db.plain")


@pytest.mark.parametrize(
    "properties",
    [
        {"table-format": "ICEBERG"},
        {"table-format": None},
        {"mixed-format.table-store": "other"},
        {"mixed-format.table-store": None},
    ],
    ids=str,
)
def test_both_recognition_properties_are_needed(
    properties: dict[str, str | None], config: CatalogConfig
) -> None:
    """The name never counts."""
    set_properties(load(config), **properties)

    with pytest.raises(UnsupportedError, match="plain Iceberg table"):
        open_table(config, "db.users")


def test_recognition_ignores_case(config: CatalogConfig) -> None:
    """As Amoro does."""
    set_properties(
        load(config), **{"table-format": "mixed_iceberg", "mixed-format.table-store": "BASE"}
    )

    assert open_table(config, "db.users").table.is_keyed


def test_a_pair_made_by_a_foreign_writer_opens(config: CatalogConfig) -> None:
    """It has none of Arctic's own properties, and optional key columns."""
    schema = Schema(
        NestedField(1, "a", StringType(), required=False),
        NestedField(2, "b", LongType(), required=False),
    )
    register_base(config, schema, foreign_properties("b", "a"))

    opened = open_table(config, "db.foreign", for_writing=True)

    assert opened.table.primary_key == ("b", "a")
    assert opened.change is not None
    assert opened.change.name() == ("db", "foreign_change_")
    assert opened.arrow_schema.names == ["a", "b"]
    assert not opened.table.column("b").required


@pytest.mark.parametrize("key", ["", " ", ","])
def test_a_blank_key_means_no_key(key: str, config: CatalogConfig) -> None:
    """As Amoro reads it."""
    set_properties(load(config), **{"mixed-format.primary-key-fields": key})

    opened = open_table(config, "db.users")

    assert not opened.table.is_keyed
    assert opened.change is None


# Halves that do not fit


@pytest.mark.parametrize(
    ("properties", "error", "message"),
    [
        ({"mixed-format.primary-key-fields": "id,nope"}, FormatError, "column 'nope' is none of"),
        ({"mixed-format.primary-key-fields": "id, name"}, FormatError, "column ' name' is none of"),
        ({"mixed-format.change.identifier": None}, FormatError, "cannot be found"),
        ({"mixed-format.change.identifier": "db.users"}, FormatError, "of an earlier table"),
        ({"base.file-index.hash-bucket": "6"}, FormatError, "expected a power of two"),
        ({"change.file-index.hash-bucket": "0"}, FormatError, "hash-bucket"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("impatient")
def test_properties_that_break_the_format_are_told(
    properties: dict[str, str | None],
    error: type[ArcticError],
    message: str,
    config: CatalogConfig,
) -> None:
    """Guessing would misplace or lose rows."""
    set_properties(load(config), **properties)

    with pytest.raises(error, match=message):
        open_table(config, "db.users")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a creator that is dead."""
    monkeypatch.setattr(
        "arctic.iceberg.catalogs.change_store._CREATOR_PATIENCE", RetryPolicy(retries=0)
    )


@pytest.mark.parametrize("store", [("db", "users"), CHANGE], ids=["base", "change"])
@pytest.mark.parametrize("version", [1, 3])
def test_another_iceberg_format_version_is_unsupported(
    version: int, store: tuple[str, ...], config: CatalogConfig
) -> None:
    """Version 1 has no sequence numbers, version 3 has deletes that we would miss."""

    def change(metadata: dict[str, Any]) -> None:
        metadata["format-version"] = version
        metadata["schema"] = metadata["schemas"][0]
        metadata["partition-spec"] = metadata["partition-specs"][0]["fields"]
        metadata["next-row-id"] = 0

    edit_metadata(load(config, store), change)

    with pytest.raises(UnsupportedError, match=f"format version {version}; expected 2"):
        open_table(config, "db.users")


@pytest.mark.parametrize("store", [("db", "users"), CHANGE], ids=["base", "change"])
def test_a_changed_partition_spec_is_unsupported(
    store: tuple[str, ...], config: CatalogConfig
) -> None:
    """Its files would not all have the same partition fields."""
    with load(config, store).update_spec() as update:
        update.add_identity("name")

    with pytest.raises(UnsupportedError, match="partition spec was changed"):
        open_table(config, "db.users")


def test_stores_with_different_partitions_do_not_fit(config: CatalogConfig) -> None:
    """Their deletes would not meet their rows."""
    schema = Schema(NestedField(1, "id", LongType(), required=True))
    spec = PartitionSpec(
        PartitionField(source_id=1, field_id=1000, transform=IdentityTransform(), name="id")
    )
    catalog, properties = open_catalog(config), foreign_properties("id")
    catalog.create_table("db.foreign", schema, properties=dict(properties))
    properties["mixed-format.table-store"] = "change"
    catalog.create_table("db.foreign_change_", schema, partition_spec=spec, properties=properties)

    with pytest.raises(FormatError, match="other partition fields"):
        open_table(config, "db.foreign")


@pytest.mark.parametrize(
    ("schema", "key", "arguments", "message"),
    [
        pytest.param(
            Schema(NestedField(1, "id", UUIDType(), required=True)),
            "id",
            {},
            "'id': type 'uuid' cannot be part of a primary key",
            id="uuid key",
        ),
        pytest.param(
            Schema(
                NestedField(1, "id", LongType(), required=True),
                NestedField(2, "ts", TimestampType(), required=False),
            ),
            "id",
            {
                "partition_spec": PartitionSpec(
                    PartitionField(
                        source_id=2, field_id=1000, transform=YearTransform(), name="ts_year"
                    )
                )
            },
            "'ts_year'.*year",
            id="year partitions",
        ),
    ],
)
def test_a_valid_table_that_we_would_get_wrong_is_unsupported(
    schema: Schema, key: str, arguments: dict[str, Any], message: str, config: CatalogConfig
) -> None:
    """Engines disagree about it, or its partition keys cannot be read back."""
    register_base(config, schema, foreign_properties(key), **arguments)

    with pytest.raises(UnsupportedError, match=message):
        open_table(config, "db.foreign")


# Schemas one step apart


def evolve(table: Table, *names: str) -> None:
    """Add one optional column for each name, each in a schema version of its own."""
    for name in names:
        with table.update_schema() as update:
            update.add_column(name, StringType())


def test_a_key_of_another_type_than_before_is_unsupported(tmp_path: Path) -> None:
    """A negative int and the same long hash differently, so its older rows would be doubled."""
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    schema = pa.schema([("id", pa.int32()), ("n", pa.int32())])
    create_table(config, "db.t", schema, primary_key=["id"], partition_by=[], properties={})
    for identifier in (("db", "t"), ("db", "t_change_")):
        with load(config, identifier).update_schema() as update:
            update.update_column("n", LongType())
    assert str(open_table(config, "db.t").table.column("n").type) == "long"
    for identifier in (("db", "t"), ("db", "t_change_")):
        with load(config, identifier).update_schema() as update:
            update.update_column("id", LongType())

    with pytest.raises(UnsupportedError, match="'id' was changed from int to long"):
        open_table(config, "db.t")


def test_a_base_one_version_ahead_is_readable_and_completed_by_a_writer(
    config: CatalogConfig,
) -> None:
    """With base's very schema, so that ids and version counts stay in step."""
    with load(config).update_schema() as update:
        update.add_column("x", LongType(), doc="new")
        update.add_column("s", Schema(NestedField(1, "deep", LongType())).as_struct())
        update.rename_column("name", "title")

    reading = open_table(config, "db.users")
    assert reading.arrow_schema.names == ["id", "title", "ts", "x", "s"]
    assert len(load(config, CHANGE).metadata.schemas) == 1

    writing = open_table(config, "db.users", for_writing=True)

    base, change = load(config), load(config, CHANGE)
    assert change.schema() == base.schema()
    assert change.metadata.last_column_id == base.metadata.last_column_id
    assert len(change.metadata.schemas) == len(base.metadata.schemas) == 2
    assert writing.change is not None
    assert writing.change.metadata == change.metadata
    assert writing.arrow_schema.equals(reading.arrow_schema, check_metadata=True)
    again = open_table(config, "db.users", for_writing=True)
    assert again.change is not None
    assert again.change.metadata == change.metadata


def test_going_back_to_an_earlier_schema_is_completed_too(config: CatalogConfig) -> None:
    """It adds no version, so the counts agree although change is behind."""
    evolve(load(config), "x")
    open_table(config, "db.users", for_writing=True)
    with load(config).update_schema() as update:
        update.delete_column("x")
    assert len(load(config).metadata.schemas) == 2

    assert "x" not in open_table(config, "db.users").arrow_schema.names
    open_table(config, "db.users", for_writing=True)

    assert load(config, CHANGE).schema().fields == load(config).schema().fields
    assert len(load(config, CHANGE).metadata.schemas) == 2


def test_two_versions_apart_is_broken(config: CatalogConfig) -> None:
    """Amoro cannot read it either."""
    evolve(load(config), "x", "y")

    with pytest.raises(FormatError, match="base has 3 schema versions, change has 1"):
        open_table(config, "db.users")


def test_two_versions_apart_is_mended_by_the_same_changes_in_order(config: CatalogConfig) -> None:
    """Iceberg numbers columns alike then; the last one may be left to a writer."""
    evolve(load(config), "x", "y")
    evolve(load(config, CHANGE), "x")

    open_table(config, "db.users", for_writing=True)

    assert load(config, CHANGE).schema() == load(config).schema()


# Stores whose versions an Iceberg engine removed


def forget(config: CatalogConfig, identifier: tuple[str, ...], *versions: int) -> None:
    """Remove schema versions as Iceberg's cleaning of metadata does where nothing needs them."""
    removal = RemoveSchemasUpdate.model_validate({"schema-ids": versions})
    open_catalog(config).commit_table(load(config, identifier), (), (removal,))


@pytest.mark.parametrize("store", [("db", "users"), CHANGE], ids=["base", "change"])
def test_equal_columns_need_no_equal_number_of_versions(
    config: CatalogConfig, store: tuple[str, ...]
) -> None:
    """Nor do further changes of them, there and back."""
    evolve(load(config), "x")
    open_table(config, "db.users", for_writing=True)
    forget(config, store, 0)

    for step in ("nothing", "add", "drop", "add"):
        with load(config).update_schema() as update:
            if step == "add":
                update.add_column("y", StringType())
            elif step == "drop":
                update.delete_column("y")
        assert open_table(config, "db.users").arrow_schema.names[:4] == [*SCHEMA.names, "x"]
        open_table(config, "db.users", for_writing=True)
        assert load(config, CHANGE).schema() == load(config).schema()


def test_a_base_that_went_back_and_forgot_is_followed(config: CatalogConfig) -> None:
    """The version that change has is gone, but base gave each of its columns a number."""
    evolve(load(config), "x")
    open_table(config, "db.users", for_writing=True)
    with load(config).update_schema() as update:
        update.delete_column("x")
    forget(config, ("db", "users"), 1)

    open_table(config, "db.users", for_writing=True)

    assert load(config, CHANGE).schema() == load(config).schema()


def test_comments_are_followed_once(config: CatalogConfig) -> None:
    """They are a version too, which keeps the numbers equal."""
    with load(config).update_schema() as update:
        update.update_column("name", doc="of whom")

    open_table(config, "db.users", for_writing=True)
    open_table(config, "db.users", for_writing=True)

    assert load(config, CHANGE).schema() == load(config).schema()
    assert len(load(config, CHANGE).metadata.schemas) == 2


def test_two_versions_apart_is_broken_whatever_was_removed(config: CatalogConfig) -> None:
    """One more version than in change may be two more than change knows."""
    evolve(load(config), "x")
    open_table(config, "db.users", for_writing=True)
    evolve(load(config), "y", "z")
    forget(config, ("db", "users"), 0)

    with pytest.raises(FormatError, match="base has 3 schema versions, change has 2"):
        open_table(config, "db.users")


def test_a_change_store_ahead_is_broken(config: CatalogConfig) -> None:
    """Base goes first, always."""
    evolve(load(config, CHANGE), "x")

    with pytest.raises(FormatError, match="base has 1 schema versions, change has 2"):
        open_table(config, "db.users")


def test_the_same_number_of_versions_with_other_columns_is_broken(config: CatalogConfig) -> None:
    """Columns are matched by id, so rows would be read into the wrong column."""
    evolve(load(config), "x")
    evolve(load(config, CHANGE), "y")

    with pytest.raises(FormatError, match=r"column 4 is \('x', 'string'\) in base but \('y'"):
        open_table(config, "db.users")


def test_a_schema_change_between_the_two_loads_is_no_difference(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base was loaded before, change after it: base is looked at again."""
    stale = load(config)
    evolve(load(config), "x")
    open_table(config, "db.users", for_writing=True)
    monkeypatch.setattr(
        "arctic.iceberg.tables.missing_table.load_table",
        lambda catalog, parts: stale if parts == ("db", "users") else catalog.load_table(parts),
    )

    assert "x" in open_table(config, "db.users").arrow_schema.names


def complete_at_once(folder: str, barrier: Any) -> str:
    """What each process does in the race below."""
    config = CatalogConfig.from_options({"warehouse": folder})
    barrier.wait(30)
    try:
        opened = open_table(config, "db.users", for_writing=True)
    except ArcticError as error:
        return repr(error)
    assert opened.change is not None
    return str(opened.change.schema().schema_id)


def append_at_once(folder: str, barrier: Any) -> str:
    """Commits to the change store while others complete its schema."""
    store = load(CatalogConfig.from_options({"warehouse": folder}), CHANGE)
    rows = pa.Table.from_pylist([{"id": 1}], schema=arrow_schema(store.schema()))
    barrier.wait(30)
    for _ in range(3):
        store.append(rows)
    return "appended"


def test_processes_completing_a_schema_at_once_add_one_version(
    config: CatalogConfig,
) -> None:
    """Also while somebody appends: nothing of either is lost."""
    evolve(load(config), "x")
    folder = str(config.warehouse)
    context = forked()
    with context.Manager() as manager, context.Pool(PROCESSES + 1) as pool:
        barrier = manager.Barrier(PROCESSES + 1)
        appending = pool.apply_async(append_at_once, (folder, barrier))
        completing = [
            pool.apply_async(complete_at_once, (folder, barrier)) for _ in range(PROCESSES)
        ]
        assert [result.get(60) for result in completing] == ["1"] * PROCESSES
        assert appending.get(60) == "appended"

    base, change = load(config), load(config, CHANGE)
    assert len(change.metadata.schemas) == 2
    assert change.schema() == base.schema()
    assert len(change.metadata.snapshots) == 3


def test_a_schema_that_never_gets_through_is_a_conflict(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remedy is to try again, not to repair."""
    evolve(load(config), "x")

    def lose(*_: Any) -> None:
        raise CommitFailedException("somebody else won")

    monkeypatch.setattr("pyiceberg.catalog.sql.SqlCatalog.commit_table", lose)
    monkeypatch.setattr(schema_sync, "SMALL_RACES", RetryPolicy(retries=1))

    with pytest.raises(ConflictError, match="change store's schema behind"):
        open_table(config, "db.users", for_writing=True)


# What travels


def test_the_open_table_stays_and_its_parts_travel(config: CatalogConfig) -> None:
    """A catalog connection cannot be sent, and the error says what to send instead."""
    opened: OpenTable = open_table(config, "db.users")

    with pytest.raises(InternalError, match="send its table, io or partitioner"):
        pickle.dumps(opened)
    assert len(pickle.dumps(opened.io)) < 1000
    for part in (opened.table, opened.partitioner, opened.io, opened.config):
        assert pickle.loads(pickle.dumps(part)) == part
    assert opened.partitioner.texts == ("day(ts)",)
    assert opened.io.open_input(opened.base.metadata_location).read(1) == b"{"
    assert opened.io is opened.io
    assert replace(opened, change=None).io is not opened.io
