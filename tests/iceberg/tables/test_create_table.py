"""Creating and dropping the pair: properties, refusals, crashes, races."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.catalogs import change_store, leftover
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.listing import list_tables
from arctic.iceberg.catalogs.pair import base_properties
from arctic.iceberg.tables import create_table as create_module
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.values.names import METADATA_TABLES
from arctic.iceberg.values.schema import arrow_schema, iceberg_schema
from arctic.retry import RetryPolicy
from arctic.table.property_names import BASE_UUID, CHANGE_IDENTIFIER, NAMES_BASE
from tests.processes import forked

PROCESSES = 4
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("region", pa.string()),
        pa.field("ts", pa.timestamp("us", tz="UTC")),
        pa.field("tags", pa.list_(pa.struct([("k", pa.string()), ("v", pa.decimal128(5, 2))]))),
    ]
)


@pytest.fixture
def config(tmp_path: Path) -> CatalogConfig:
    """An empty warehouse."""
    return CatalogConfig.from_options({"warehouse": str(tmp_path / "wh")})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a creator that is dead."""
    patience = RetryPolicy(retries=99, min_wait_ms=50, max_wait_ms=50, total_ms=100)
    monkeypatch.setattr(change_store, "_CREATOR_PATIENCE", patience)


def make(
    config: CatalogConfig,
    identifier: str = "db.users",
    *,
    schema: Any = SCHEMA,
    key: Sequence[str] = ("id",),
    by: Sequence[str] = (),
    properties: Mapping[str, Any] | None = None,
    exist_ok: bool = False,
) -> OpenTable:
    """A keyed table, unless said otherwise."""
    return create_table(
        config,
        identifier,
        schema,
        primary_key=key,
        partition_by=by,
        properties=properties or {},
        exist_ok=exist_ok,
    )


def only_base(config: CatalogConfig, monkeypatch: pytest.MonkeyPatch, **arguments: Any) -> None:
    """Leave what a creator leaves that dies after its first step."""

    def die(*_: Any, **__: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(create_module, "_complete_pair", die)
        with pytest.raises(KeyboardInterrupt):
            make(config, **arguments)


def only_change(config: CatalogConfig, **arguments: Any) -> OpenTable:
    """Leave what a drop leaves that dies after its first step."""
    made = make(config, **arguments)
    open_catalog(config).drop_table(made.table.identifier)
    return made


def append_row(store: Table) -> None:
    """Commit something, so that the store has a snapshot."""
    schema = arrow_schema(store.schema())
    values = [{"id": 1, "region": "eu", "ts": 0, "tags": []}]
    store.append(pa.Table.from_pylist(values, schema=schema))


def catalog_of(config: CatalogConfig) -> Catalog:
    """The catalog of the tables under test."""
    return open_catalog(config)


# What is created


def test_a_keyed_table_is_two_tables_side_by_side(config: CatalogConfig) -> None:
    """With the same columns, ids and partition fields, and the format's own properties."""
    made = make(config, by=["day(ts)", "bucket(4, id)"])

    base, change = made.base, made.change
    assert change is not None
    assert change.name() == ("db", "users_change_")
    assert base.location().rsplit("/", 1)[0] == change.location().rsplit("/", 1)[0]
    assert base.schema() == change.schema()
    assert base.spec() == change.spec()
    assert base.metadata.format_version == change.metadata.format_version == 2
    shared = {
        "table-format": "MIXED_ICEBERG",
        "mixed-format.primary-key-fields": "id",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "20",
        "commit.retry.num-retries": "50",
        "commit.manifest-merge.enabled": "true",
        "write.delete.isolation-level": "snapshot",
        "flink.max-continuous-empty-commits": "2147483647",
    }
    assert shared.items() <= base.properties.items()
    assert shared.items() <= change.properties.items()
    assert base.properties["mixed-format.table-store"] == "base"
    assert change.properties["mixed-format.table-store"] == "change"
    assert base.properties["mixed-format.change.identifier"] == "db.users_change_"
    assert "mixed-format.change.identifier" not in change.properties
    assert "format-version" not in base.properties
    assert base.properties["table.create-timestamp"].isdigit()
    assert change.properties[BASE_UUID] == str(base.metadata.table_uuid)


def test_the_open_table_says_what_was_created(config: CatalogConfig) -> None:
    """As values, without PyIceberg."""
    table = make(config, key=["region", "id"], by=["day(ts)", "bucket(4, id)"]).table

    assert table.identifier == ("db", "users")
    assert table.primary_key == ("region", "id")
    assert [(column.field_id, column.name, column.type) for column in table.columns[:3]] == [
        (1, "id", "long"),
        (2, "region", "string"),
        (3, "ts", "timestamptz"),
    ]
    assert [column.required for column in table.columns] == [True, True, False, False]
    assert [(field.source_id, field.name, field.transform) for field in table.partition_fields] == [
        (3, "ts_day", "day"),
        (1, "id_bucket", "bucket[4]"),
    ]
    assert table.base_location.endswith("/db/users")
    assert str(table.change_location).endswith("/db/users_change_")


def test_a_table_without_a_key_is_one_table(config: CatalogConfig) -> None:
    """It has no change store, and may use transforms that keyed tables may not."""
    made = make(config, key=(), by=["year(ts)"])

    assert made.change is None
    assert not made.table.is_keyed
    assert "mixed-format.primary-key-fields" not in made.base.properties
    assert "mixed-format.change.identifier" not in made.base.properties
    assert catalog_of(config).list_tables("db") == [("db", "users")]


def test_a_deep_namespace_is_created(config: CatalogConfig) -> None:
    """With all of its parents."""
    made = make(config, "a.b.c.users")

    assert made.table.identifier == ("a", "b", "c", "users")
    assert made.change is not None
    assert made.change.name() == ("a", "b", "c", "users_change_")
    assert open_table(config, "a.b.c.users").table == made.table


def test_user_properties_reach_both_stores(config: CatalogConfig) -> None:
    """And may change what Arctic only recommends."""
    given = {
        "owner": "me",
        "commit.retry.num-retries": "7",
        "change.file-index.hash-bucket": "16",
        "format-version": "2",
    }

    made = make(config, properties=given)

    assert made.change is not None
    for store in (made.base, made.change):
        assert store.properties["owner"] == "me"
        assert store.properties["commit.retry.num-retries"] == "7"
        assert store.properties["change.file-index.hash-bucket"] == "16"


# What is refused


@pytest.mark.parametrize(
    "identifier",
    [
        "users", "", ".users", "db.", "db..users", "db.a,b", "db.a b", "db.a/b", "db.a%b", "db.a#b",
        "db.users_change_", "db.X_CHANGE_", *(f"db.{name}" for name in sorted(METADATA_TABLES)),
    ],
)  # fmt: skip
def test_names_that_would_be_misread_are_refused(identifier: str, config: CatalogConfig) -> None:
    """By paths, properties, or as a metadata table; nothing is created, not even the folder."""
    with pytest.raises(InvalidInputError, match="table"):
        make(config, identifier)
    assert not os.path.exists(str(config.warehouse))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"key": ["nope"]}, InvalidInputError, "'nope' is no column"),
        ({"key": ["ID"]}, InvalidInputError, "'ID' is no column"),
        ({"key": ["tags"]}, InvalidInputError, "'tags'.*cannot be part of a primary key"),
        ({"key": ["tags.k"]}, InvalidInputError, "is no column"),
        ({"key": ["id", "id"]}, InvalidInputError, "named twice"),
        ({"key": "id"}, InvalidInputError, "expected a list"),
        ({"key": ["a,b"]}, InvalidInputError, "joins key names"),
        ({"key": [" "]}, InvalidInputError, "joins key names"),
        ({"by": "region"}, InvalidInputError, "expected a list"),
        ({"by": ["nope"]}, InvalidInputError, "no top-level column"),
        ({"by": ["year(ts)"]}, UnsupportedError, "year"),
        ({"schema": pa.schema([("id", pa.uint64())])}, InvalidInputError, "'id'"),
        ({"schema": {"id": "long"}}, InvalidInputError, "'dict'"),
        ({"properties": {"format-version": "3"}}, InvalidInputError, "expected '2'"),
        ({"properties": {"table-format": "ICEBERG"}}, InvalidInputError, "set by Arctic"),
        ({"properties": {"mixed-format.x": "y"}}, InvalidInputError, "set by Arctic"),
        ({"properties": {"table.partition-properties": "{}"}}, InvalidInputError, "set by Arctic"),
        ({"properties": {BASE_UUID: "y"}}, InvalidInputError, "set by Arctic"),
        ({"properties": {"owner": 1}}, InvalidInputError, "expected two texts"),
        (
            {"properties": {"base.file-index.hash-bucket": "3"}},
            InvalidInputError,
            "base.file-index.hash-bucket = 3: expected a power of two",
        ),
        ({"properties": {"weight-ratio": "no"}}, InvalidInputError, "weight-ratio"),
        ({"properties": {"read.split.target-size": "-1"}}, InvalidInputError, "target-size"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else None,
)
def test_definitions_that_cannot_be_are_refused_before_anything_is_made(
    arguments: dict[str, Any], error: type[ArcticError], message: str, config: CatalogConfig
) -> None:
    """Each names what is wrong."""
    with pytest.raises(error, match=message):
        make(config, **arguments)
    assert not os.path.exists(str(config.warehouse))


def test_a_catalog_without_a_place_for_tables_is_told(tmp_path: Path) -> None:
    """The remedy is the warehouse option."""
    config = CatalogConfig.from_options({"catalog.uri": f"sqlite:///{tmp_path}/x.db"})

    with pytest.raises(InvalidInputError, match="option warehouse"):
        make(config)


# What exists already


def test_creating_twice_is_refused_unless_it_is_the_same_table(config: CatalogConfig) -> None:
    """Nothing of the first one changes."""
    first = make(config, by=["day(ts)"])

    with pytest.raises(AlreadyExistsError, match=r"'db\.users' already exists"):
        make(config, by=["day(ts)"])
    again = make(config, by=["days(ts)"], exist_ok=True, properties={"owner": "other"})

    assert again.table == first.table
    assert again.base.metadata == first.base.metadata


@dataclass(frozen=True, kw_only=True)
class Other:
    """A definition that differs from the table that is there."""

    id: str
    arguments: Mapping[str, Any]
    difference: str


OTHERS = (
    Other(
        id="other key",
        arguments={"key": ["region"]},
        difference=r"its primary key is \['id'\], not \['region'\]",
    ),
    Other(id="longer key", arguments={"key": ["id", "region"]}, difference="its primary key is"),
    Other(id="no key", arguments={"key": []}, difference=r"its primary key is \['id'\], not \[\]"),
    Other(
        id="other partitions",
        arguments={"by": ["bucket(4, id)"]},
        difference=r"partitioned by \['day\(ts\)'\], not \['bucket\(4, id\)'\]",
    ),
    Other(
        id="one column more",
        arguments={"schema": SCHEMA.append(pa.field("x", pa.int32()))},
        difference="it has no column 'x'",
    ),
    Other(
        id="other type",
        arguments={"schema": SCHEMA.set(1, pa.field("region", pa.binary()))},
        difference="its column 'region' is string, not binary",
    ),
    Other(
        id="required",
        arguments={"schema": SCHEMA.set(1, pa.field("region", pa.string(), nullable=False))},
        difference="its column 'region' is string, not string not null",
    ),
    Other(
        id="one column less", arguments={"schema": SCHEMA.remove(3)}, difference="its columns are"
    ),
    Other(
        id="other order",
        arguments={"schema": pa.schema([SCHEMA.field(index) for index in (1, 0, 2, 3)])},
        difference="its columns are",
    ),
)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.id)
@pytest.mark.parametrize("half_made", [False, True])
@pytest.mark.usefixtures("impatient")
def test_another_definition_is_told_by_its_difference(
    half_made: bool,
    other: Other,
    config: CatalogConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether the table is there or was left half made."""
    if half_made:
        only_base(config, monkeypatch, by=["day(ts)"])
    else:
        make(config, by=["day(ts)"])

    with pytest.raises(AlreadyExistsError, match=other.difference):
        make(config, **{"by": ["day(ts)"], "exist_ok": True, **other.arguments})


def test_a_plain_iceberg_table_in_either_place_is_left_alone(config: CatalogConfig) -> None:
    """Neither taken over nor dropped."""
    catalog = open_catalog(config, create=True)
    catalog.create_namespace("db")
    catalog.create_table("db.users", SCHEMA)
    catalog.create_table("db.other_change_", SCHEMA)

    with pytest.raises(AlreadyExistsError, match="is not Arctic's"):
        make(config, exist_ok=True)
    with pytest.raises(AlreadyExistsError, match="where the change store would be"):
        make(config, "db.other")

    assert len(catalog.list_tables("db")) == 2


def test_an_unkeyed_table_is_not_made_keyed(config: CatalogConfig) -> None:
    """The key cannot be added afterwards."""
    make(config, key=())

    with pytest.raises(AlreadyExistsError, match=r"primary key is \[\], not \['id'\]"):
        make(config, exist_ok=True)


# What a crash leaves


def test_a_base_without_change_is_completed_by_the_next_create(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the first one would have done, and with what the first one said."""
    only_base(config, monkeypatch, by=["day(ts)"], properties={"owner": "first"})

    made = make(config, by=["day(ts)"], properties={"owner": "second"})

    assert made.change is not None
    assert made.change.properties["owner"] == "first"
    assert made.change.schema() == made.base.schema()
    assert made.change.spec() == made.base.spec()
    with pytest.raises(AlreadyExistsError, match="already exists; open it"):
        make(config, by=["day(ts)"])


@pytest.mark.usefixtures("impatient")
def test_a_base_without_change_does_not_open_but_drops(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says how to go on."""
    only_base(config, monkeypatch)

    with pytest.raises(
        FormatError, match=r"'db\.users_change_' .*does not exist: .* create the table"
    ):
        open_table(config, "db.users")
    drop_table(config, "db.users")
    assert list_tables(config) == ()


def test_a_base_with_rows_but_without_change_is_never_completed(config: CatalogConfig) -> None:
    """An empty change store would bring rows back that were deleted."""
    made = make(config)
    append_row(made.base)
    open_catalog(config).drop_table("db.users_change_")

    with pytest.raises(FormatError, match="has rows but its change store is missing"):
        make(config, exist_ok=True)
    with pytest.raises(FormatError, match="register the change store"):
        open_table(config, "db.users")


def test_a_leftover_change_store_is_not_adopted(
    config: CatalogConfig, caplog: pytest.LogCaptureFixture
) -> None:
    """Its rows belong to a table that was dropped."""
    old = only_change(config)
    assert old.change is not None
    append_row(old.change)

    made = make(config)

    assert made.change is not None
    assert made.change.metadata.table_uuid != old.change.metadata.table_uuid
    assert made.change.metadata.snapshots == []
    assert "dropping change store 'db.users_change_'" in caplog.text


def test_a_leftover_of_a_foreign_writer_is_not_adopted_either(config: CatalogConfig) -> None:
    """It does not name its base store, so only its age tells."""
    old = only_change(config)
    assert old.change is not None
    old.change.transaction().remove_properties(BASE_UUID).commit_transaction()

    made = make(config)

    assert made.change is not None
    assert made.change.metadata.table_uuid != old.change.metadata.table_uuid


@pytest.mark.usefixtures("impatient")
def test_a_creator_that_died_before_removing_a_leftover_is_told(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only dropping is safe then; after it, all is well."""
    only_change(config)
    only_base(config, monkeypatch)

    with pytest.raises(FormatError, match="of an earlier table; drop the table"):
        make(config)
    with pytest.raises(FormatError, match="of an earlier table; drop the table"):
        open_table(config, "db.users")
    drop_table(config, "db.users")
    assert make(config).change is not None


def test_a_change_store_in_use_under_another_name_is_no_leftover(config: CatalogConfig) -> None:
    """A base store that somebody renamed still has its change store."""
    make(config)
    open_catalog(config).rename_table("db.users", "db.people")

    with pytest.raises(AlreadyExistsError, match=r"the change store of 'db\.people'"):
        make(config)
    with pytest.raises(NotFoundError, match=r"db\.people"):
        drop_table(config, "db.users")
    assert open_table(config, "db.people").change is not None


# Dropping


def files_in(config: CatalogConfig) -> list[str]:
    """Every file of the warehouse but the catalog itself."""
    root = Path(str(config.warehouse))
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if not path.name.startswith("catalog.db"))


def test_a_drop_forgets_both_stores_and_keeps_the_files(config: CatalogConfig) -> None:
    """They can be registered again."""
    made = make(config)
    before = files_in(config)

    drop_table(config, "db.users")

    assert open_catalog(config).list_tables("db") == []
    assert files_in(config) == before
    open_catalog(config).register_table("db.users", made.base.metadata_location)


def test_a_purge_deletes_the_two_stores_and_nothing_else(config: CatalogConfig) -> None:
    """Unreferenced files of the table go too; its neighbours stay."""
    made, neighbour = make(config), make(config, "db.users2")
    for store in (made.base, made.change, neighbour.base):
        assert store is not None
        append_row(store)
    kept = [name for name in files_in(config) if name.startswith("db/users2")]
    with made.io.create_output(f"{made.table.base_location}/data/aborted.parquet") as sink:
        sink.write(b"x")

    drop_table(config, "db.users", purge=True)

    assert files_in(config) == kept
    folders = sorted(path.name for path in (Path(str(config.warehouse)) / "db").iterdir())
    assert folders == ["users2", "users2_change_"]
    assert open_table(config, "db.users2").table.name == "db.users2"


def test_a_purge_is_refused_where_another_table_has_its_files(config: CatalogConfig) -> None:
    """Such as one that was registered from the same metadata."""
    made = make(config)
    open_catalog(config).register_table("db.copy", made.base.metadata_location)

    with pytest.raises(InvalidInputError, match=r"'db\.copy' keeps files"):
        drop_table(config, "db.users", purge=True)
    assert open_table(config, "db.users").table == made.table


def move_away(config: CatalogConfig) -> None:
    """Rename the table db.users into another namespace; its files stay where they are."""
    catalog = open_catalog(config)
    catalog.create_namespace("other")
    catalog.rename_table("db.users_change_", "other.users_change_")
    moved = catalog.rename_table("db.users", "other.users")
    with moved.transaction() as change:
        change.set_properties({CHANGE_IDENTIFIER: "other.users_change_"})


def test_a_new_table_gets_a_folder_that_no_table_has_or_had(config: CatalogConfig) -> None:
    """Its name was free again, its folder was not; in both stores."""
    first = make(config)
    move_away(config)
    second = make(config)
    drop_table(config, "db.users")
    third = make(config)

    for made in (second, third):
        assert made.table.base_location.startswith(f"{first.table.base_location}-")
        assert str(made.table.change_location).startswith(f"{first.table.change_location}-")
    assert second.table.base_location != third.table.base_location
    drop_table(config, "db.users", purge=True)
    assert open_table(config, "other.users").table.base_location == first.table.base_location


def test_a_table_that_was_purged_leaves_its_folder_free(config: CatalogConfig) -> None:
    """So a table that is made again and again stays where its name says."""
    first = make(config)
    drop_table(config, "db.users", purge=True)

    assert make(config).table.base_location == first.table.base_location


def test_a_creation_that_was_outrun_leaves_no_file(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyIceberg writes metadata before it asks for the name."""
    create = SqlCatalog.create_table
    open_catalog(config, create=True)

    def late(self: SqlCatalog, *arguments: Any, **named: Any) -> Table:
        with monkeypatch.context() as patch:
            patch.setattr(SqlCatalog, "create_table", create)
            time.sleep(0.002)
            make(config, exist_ok=True)
        return create(self, *arguments, **named)

    monkeypatch.setattr(SqlCatalog, "create_table", late)
    made = make(config, exist_ok=True)

    stores = [made.base, made.change]
    known = [store.metadata_location for store in stores if store is not None]
    assert files_in(config) == sorted(
        path.removeprefix(f"file://{config.warehouse}/") for path in known
    )


@pytest.mark.parametrize("store", ["users", "users_change_"])
def test_a_purge_is_refused_where_a_table_of_another_namespace_lives(
    config: CatalogConfig, store: str
) -> None:
    """It has the folder of one store, or is the same table by another name."""
    made = make(config)
    catalog = open_catalog(config)
    catalog.create_namespace("other")
    catalog.create_table("other.plain", SCHEMA, location=f"file://{config.warehouse}/db/{store}")

    with pytest.raises(InvalidInputError, match=r"table 'other\.plain' keeps files"):
        drop_table(config, "db.users", purge=True)
    catalog.drop_table("other.plain")
    with pytest.raises(InvalidInputError, match=r"metadata\.json' is of another table"):
        drop_table(config, "db.users", purge=True)
    assert open_table(config, "db.users").table == made.table


def test_a_purge_is_refused_where_the_table_goes_on_in_another_catalog(
    config: CatalogConfig, tmp_path: Path
) -> None:
    """Its own folder shows commits that it does not know."""
    made = make(config)
    elsewhere = CatalogConfig.from_options({"warehouse": str(tmp_path / "elsewhere")})
    catalog = open_catalog(elsewhere, create=True)
    catalog.create_namespace("db")
    append_row(catalog.register_table("db.users", made.base.metadata_location))

    with pytest.raises(InvalidInputError, match="another catalog may have the table"):
        drop_table(config, "db.users", purge=True)
    assert catalog.load_table("db.users").scan().to_arrow().num_rows == 1


def test_a_purge_leaves_files_that_no_table_makes(config: CatalogConfig) -> None:
    """Somebody pointed the table at a folder of theirs."""
    made = make(config)
    thesis = Path(made.table.base_location.removeprefix("file://")) / "data" / "thesis.doc"
    thesis.parent.mkdir()
    thesis.write_bytes(b"x")

    drop_table(config, "db.users", purge=True)

    assert files_in(config) == ["db/users/data/thesis.doc"]


def test_dropping_what_is_not_a_table_of_ours_is_refused(config: CatalogConfig) -> None:
    """Nothing goes."""
    make(config)
    catalog = open_catalog(config)
    catalog.create_table("db.plain", SCHEMA)

    with pytest.raises(UnsupportedError, match="plain Iceberg table"):
        drop_table(config, "db.plain")
    with pytest.raises(InvalidInputError, match=r"the change store of 'db\.users'"):
        drop_table(config, "db.users_change_")
    with pytest.raises(NotFoundError, match=r"did you mean db\.users\?"):
        drop_table(config, "db.user")
    with pytest.raises(InvalidInputError, match=r"expected 'namespace\.table'"):
        drop_table(config, "users")
    assert len(catalog.list_tables("db")) == 3


def test_an_interrupted_drop_is_finished_by_the_next(config: CatalogConfig) -> None:
    """The leftover is found by the name of the table."""
    only_change(config)

    drop_table(config, "db.users", purge=True)

    assert open_catalog(config).list_tables("db") == []
    assert [name for name in files_in(config) if "change" in name] == []
    with pytest.raises(NotFoundError):
        drop_table(config, "db.users")


def test_a_change_store_of_another_table_is_not_dropped_along(config: CatalogConfig) -> None:
    """A base store that was copied names a change store that is not its own."""
    made = make(config)
    catalog = open_catalog(config)
    foreign = base_properties({}, ("id",), ("db", "users_change_"))
    catalog.create_table("db.copy", iceberg_schema(SCHEMA), properties=foreign)
    assert foreign[NAMES_BASE] == "true"

    drop_table(config, "db.copy")

    assert open_table(config, "db.users").table == made.table


# Races


def create_at_once(folder: str, barrier: Any, exist_ok: bool) -> str:
    """What each process does in the races below: the outcome, and the table it got."""
    config = CatalogConfig.from_options({"warehouse": folder})
    barrier.wait(30)
    try:
        made = make(config, by=["day(ts)"], exist_ok=exist_ok)
    except AlreadyExistsError:
        return "exists"
    except ArcticError as error:
        return repr(error)
    assert made.change is not None
    return f"{made.base.metadata.table_uuid} {made.change.metadata.table_uuid}"


def open_at_once(folder: str, barrier: Any, _: bool) -> str:
    """A reader that comes while the table is being made."""
    config = CatalogConfig.from_options({"warehouse": folder})
    barrier.wait(30)
    for _attempt in range(1000):
        try:
            opened = open_table(config, "db.users")
        except NotFoundError:
            time.sleep(0.01)
            continue
        except ArcticError as error:
            return repr(error)
        assert opened.change is not None
        return f"{opened.base.metadata.table_uuid} {opened.change.metadata.table_uuid}"
    return "never found"


def test_processes_creating_one_table_at_once_make_exactly_one(tmp_path: Path) -> None:
    """One of them succeeds; with exist_ok all get the same pair; readers never see half of it."""
    context = forked()
    with context.Manager() as manager, context.Pool(PROCESSES) as pool:
        for attempt, exist_ok in enumerate([False, True] * 2):
            barrier = manager.Barrier(PROCESSES)
            folder = str(tmp_path / str(attempt))
            config = CatalogConfig.from_options({"warehouse": folder})
            if attempt >= 2:
                only_change(config)  # a leftover in the way
            arguments = (folder, barrier, exist_ok)
            creators = [pool.apply_async(create_at_once, arguments) for _ in range(PROCESSES - 1)]
            reader = pool.apply_async(open_at_once, arguments)
            results = [result.get(60) for result in creators]
            there = open_table(config, "db.users")
            assert there.change is not None
            pair = f"{there.base.metadata.table_uuid} {there.change.metadata.table_uuid}"
            expected = [pair] * 3 if exist_ok else ["exists", "exists", pair]
            assert sorted(results) == sorted(expected)
            assert reader.get(60) == pair
            assert list_tables(config) == ("db.users",)
            assert len(open_catalog(config).list_tables("db")) == 2


def test_a_leftover_that_finds_its_table_meanwhile_is_no_obstacle(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process makes the pair between our look for base and our look for leftovers."""
    look = leftover.check_is_leftover
    others: list[OpenTable] = []

    def make_then_look(*arguments: Any, **keywords: Any) -> Any:
        monkeypatch.setattr(create_module, "check_is_leftover", look)
        others.append(make(config))
        return look(*arguments, **keywords)

    monkeypatch.setattr(create_module, "check_is_leftover", make_then_look)
    made = make(config, exist_ok=True)

    assert made.base.metadata.table_uuid == others[0].base.metadata.table_uuid
