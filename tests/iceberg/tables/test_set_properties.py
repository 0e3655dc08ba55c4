"""Properties of a table: which are taken, and how they are changed in both stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable

import arctic
from arctic.errors import FormatError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.tables.user_properties import check_removable, user_properties
from arctic.options import OPTIONS, Scope
from arctic.table import property_names

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])
OWN = [
    text
    for name, text in vars(property_names).items()
    if name.isupper() and not name.startswith("_") and isinstance(text, str)
]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Make ``db.t`` with one row, and return where it is."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = arctic.create_table("db.t", SCHEMA, primary_key=["id"], **place)
    table.write(pa.Table.from_pylist([{"id": 1, "city": "Rome"}], SCHEMA), mode="upsert")
    return place


def store(place: dict[str, Any], name: str) -> IcebergTable:
    """Load one of the two Iceberg tables."""
    return open_catalog(CatalogConfig.from_options(place)).load_table(("db", name))


def texts(place: dict[str, Any], name: str) -> tuple[str | None, str | None]:
    """Return a property as base and as change have it."""
    return tuple(store(place, each).properties.get(name) for each in ("t", "t_change_"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("self-optimising.enabled", "false", "did you mean 'self-optimizing.enabled'"),
        ("Self-Optimizing.Enable", "false", "did you mean 'self-optimizing.enabled'"),
        ("self-optimizing.made-up-thing", "1", "'self-optimizing.' are Arctic's"),
        ("write.target-file-size", "1", "did you mean 'write.target-file-size-bytes'"),
        ("Commit.Retry.Num-Retries", "1", "did you mean 'commit.retry.num-retries'"),
        ("write.format.default", "orc", "expected parquet"),
        ("write.delete.format.default", "avro", "expected parquet"),
        ("base.write.format", "orc", "expected parquet"),
        ("gc.enabled", "maybe", "expected true or false"),
        ("commit.retry.num-retries", "x", "expected a whole number"),
        ("write.metadata.metrics.default", "truncate(0)", "expected none, counts, full"),
        ("write.metadata.metrics.column.id", "most", "expected none, counts, full"),
        ("schema.name-mapping.default", "{", "expected a name mapping"),
        (
            "schema.name-mapping.default",
            '[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["a"]}]',
            "name 'a' is that of fields 1 and 2",
        ),
        ("change.file-index.hash-bucket", "3", "a power of two"),
        ("ordering-column", "id", "is an option of a call"),
        ("s3.secret-access-key", "x", "for everybody to read"),
        ("token", "x", "as a property of the catalog"),
        ("format-version", "3", "expected '2'"),
        (" ", "x", "has no name"),
    ],
)
def test_what_no_table_can_have_is_refused(name: str, text: str, message: str) -> None:
    """A typo that is kept would quietly do nothing."""
    with pytest.raises(InvalidInputError, match=message):
        user_properties({name: text})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("self-optimising.enabled", "false", "did you mean 'self-optimizing.enabled'"),
        ("self-optimizing.sort-columns", "id, nope", "no column 'nope'; expected one of id, city"),
        ("self-optimizing.sort-columns", "zorder(id)", "two to four of them as hilbert"),
        ("self-optimizing.sort-columns", "spiral(id, city)", "two to four of them as hilbert"),
        ("self-optimizing.sort-columns", "city, hilbert(id, city)", "each column once"),
        ("write.index-columns", "nope", "no column 'nope'"),
        ("table.event-time-field", "nope", "no column 'nope'"),
    ],
)
def test_a_property_is_refused_in_the_same_words_wherever_it_is_given(
    place: dict[str, Any], name: str, text: str, message: str
) -> None:
    """At creation and later, before anything is committed."""
    before = store(place, "t").metadata_location
    with pytest.raises(InvalidInputError, match=message):
        arctic.create_table("db.u", SCHEMA, primary_key=["id"], properties={name: text}, **place)
    with pytest.raises(InvalidInputError, match=message):
        arctic.set_properties("db.t", {name: text}, **place)

    assert arctic.list_tables(**place) == ["db.t"]
    assert store(place, "t").metadata_location == before


@pytest.mark.parametrize("name", [*OWN, "arctic.made-up", "Arctic.CDC.Source", "mixed-format.x"])
def test_what_arctic_sets_itself_is_neither_set_nor_removed(name: str) -> None:
    """Every name of the registry, and every name that begins as they do."""
    assert len(OWN) > 15
    with pytest.raises(InvalidInputError, match="set by Arctic itself"):
        user_properties({name: "x"})
    with pytest.raises(InvalidInputError, match="set by Arctic itself"):
        check_removable(name, [name])


@pytest.mark.parametrize(
    "name",
    [
        *("owner", "comment", "acme.write.target-file-size-bytes", "team/Größe", "write.acme.x"),
        *("flink.x", "write.spark.fanout.enabled", "self-optimizing.group", "data-expire.field"),
        *("write.parquet.bloom-filter-enabled.column.city", "history.expire.max-ref-age-ms"),
    ],
)
def test_a_name_of_the_users_own_or_of_another_engine_is_kept(name: str) -> None:
    """As it is spelt."""
    assert user_properties({name: "x"}) == {name: "x"}


def test_every_option_of_a_table_is_a_property_in_its_own_spelling() -> None:
    """Other engines compare names with case, Arctic without."""
    for option in OPTIONS:
        if Scope.TABLE in option.scopes and isinstance(option.default, (bool, int)):
            text = str(option.default).lower()
            for name in option.names:
                assert user_properties({name.upper(): text}) == {name: text}
    with pytest.raises(InvalidInputError, match=r"'weight-ratio' is given twice"):
        user_properties({"weight-ratio": "1", "Weight-Ratio": "2"})


def test_properties_are_set_and_removed_in_both_stores(place: dict[str, Any]) -> None:
    """Others stay, and the table says what it has; a table that was opened before can be asked."""
    table = arctic.open_table("db.t", **place)
    after = table.set_properties({"owner": "ann", "Weight-Ratio": "3", "format-version": "2"})

    assert (after.properties["owner"], after.properties["weight-ratio"]) == ("ann", "3")
    assert texts(place, "owner") == ("ann", "ann")
    assert texts(place, "format-version") == (None, None)
    assert texts(place, property_names.STORE) == ("base", "change")

    left = after.unset_properties(["owner", "WEIGHT-RATIO", "comment"])
    assert {"owner", "weight-ratio"}.isdisjoint(left.properties)
    assert texts(place, "weight-ratio") == (None, None)
    assert left.read().read_all().num_rows == 1


def test_nothing_to_change_commits_nothing(place: dict[str, Any]) -> None:
    """Setting what is there, and removing what is not."""
    arctic.set_properties("db.t", {"owner": "ann"}, **place)
    before = store(place, "t").metadata_location

    arctic.set_properties("db.t", {"owner": "ann"}, **place)
    arctic.unset_properties("db.t", "comment", **place)

    assert store(place, "t").metadata_location == before


def test_a_table_that_a_bad_property_locks_is_mended(place: dict[str, Any]) -> None:
    """Set from outside, in another spelling: one verb takes the place of every spelling."""
    base = store(place, "t")
    base.transaction().set_properties(
        {"Base.File-Index.Hash-Bucket": "3", "self-optimizing.enabled": "maybe"}
    ).commit_transaction()
    with pytest.raises(FormatError, match="hash-bucket"):
        arctic.open_table("db.t", **place)

    arctic.set_properties("db.t", {"base.file-index.hash-bucket": "8"}, **place)
    with pytest.raises(InvalidInputError, match=r"self-optimizing\.enabled"):
        arctic.status("db.t", **place)
    table = arctic.unset_properties("db.t", "self-optimizing.enabled", **place)

    assert table.properties["base.file-index.hash-bucket"] == "8"
    assert "Base.File-Index.Hash-Bucket" not in table.properties
    assert table.status().table == "db.t"


def test_a_bad_value_from_outside_is_refused_when_it_is_read(place: dict[str, Any]) -> None:
    """Whether files may be deleted is not guessed."""
    store(place, "t").transaction().set_properties({"gc.enabled": "maybe"}).commit_transaction()

    with pytest.raises(InvalidInputError, match=r"gc\.enabled = 'maybe': expected true or false"):
        arctic.expire("db.t", **place)


def test_a_call_that_stops_between_the_stores_is_finished_by_the_next(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base has it, which is what counts; change has it after the same call."""
    commit = SqlCatalog.commit_table

    def only_base(self: SqlCatalog, table: IcebergTable, *arguments: Any) -> Any:
        if table.name()[-1].endswith("_change_"):
            raise KeyboardInterrupt
        return commit(self, table, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(SqlCatalog, "commit_table", only_base)
        with pytest.raises(KeyboardInterrupt):
            arctic.set_properties("db.t", {"owner": "ann"}, **place)
    assert texts(place, "owner") == ("ann", None)
    assert arctic.open_table("db.t", **place).properties["owner"] == "ann"

    arctic.set_properties("db.t", {"owner": "ann"}, **place)
    assert texts(place, "owner") == ("ann", "ann")


def test_another_commit_in_between_costs_another_try(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loser loads the store anew."""
    commit = SqlCatalog.commit_table
    lost: list[tuple[str, ...]] = []

    def lose_once(self: SqlCatalog, table: IcebergTable, *arguments: Any) -> Any:
        if not lost:
            lost.append(table.name())
            raise CommitFailedException("lost")
        return commit(self, table, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", lose_once)
    arctic.set_properties("db.t", {"owner": "ann"}, **place)

    assert lost == [("db", "t")]
    assert texts(place, "owner") == ("ann", "ann")


def test_a_mistyped_name_is_not_quietly_kept(place: dict[str, Any]) -> None:
    """Removing what is not there is no failure, unless something like it is."""
    arctic.set_properties("db.t", {"owner": "ann"}, **place)

    with pytest.raises(InvalidInputError, match="did you mean 'owner'"):
        arctic.unset_properties("db.t", "ownr", **place)
    with pytest.raises(NotFoundError, match=r"db\.nope"):
        arctic.unset_properties("db.nope", "owner", **place)


def test_two_that_remove_the_same_property_are_both_done(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second finds nothing left to do."""
    arctic.set_properties("db.t", {"owner": "ann"}, **place)
    commit = SqlCatalog.commit_table

    def second(self: SqlCatalog, table: IcebergTable, *arguments: Any) -> Any:
        monkeypatch.setattr(SqlCatalog, "commit_table", commit)
        arctic.unset_properties("db.t", "owner", **place)
        return commit(self, table, *arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", second)
    arctic.unset_properties("db.t", "owner", **place)

    assert texts(place, "owner") == (None, None)
