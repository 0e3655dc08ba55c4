"""Which catalog the options mean, how it is opened, and what is listed."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import types
from contextlib import closing
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    NotInstalledError,
)
from sqlalchemy.event import listen
from sqlalchemy.pool import NullPool

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.catalogs.catalog import (
    CatalogConfig,
    create_namespace,
    load_table,
    open_catalog,
)
from arctic.iceberg.catalogs.listing import list_tables
from arctic.iceberg.catalogs.sqlite import database_of, first_use, sqlite_uri
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.translate import catalog_errors
from tests.iceberg.stores import config_of
from tests.processes import forked

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())])
PROCESSES = 4


def make(config: CatalogConfig, identifier: str, key: tuple[str, ...] = ("id",)) -> OpenTable:
    """A table of two columns."""
    return create_table(config, identifier, SCHEMA, primary_key=key, partition_by=(), properties={})


def test_option_names_are_read_without_case(tmp_path: Path) -> None:
    """Spark lowers option names, Python callers do not: both mean the same."""
    config = CatalogConfig.from_options(
        {"WareHouse": str(tmp_path), "CATALOG.S3.Endpoint": "http://Host", "mode": "x"}
    )

    assert config.name is None
    assert config.warehouse == str(tmp_path)
    assert config.properties == {"s3.endpoint": "http://Host"}


def test_the_warehouse_is_the_option_then_the_variable_then_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default is resolved once, so another process means the same folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ARCTIC_WAREHOUSE", raising=False)
    assert CatalogConfig.from_options({}).warehouse == str(tmp_path / "warehouse")

    monkeypatch.setenv("ARCTIC_WAREHOUSE", "from_variable")
    assert CatalogConfig.from_options({}).warehouse == str(tmp_path / "from_variable")
    assert config_of("given").warehouse == str(tmp_path / "given")


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "file://localhost"])
def test_a_local_warehouse_may_be_a_path_or_a_file_uri(prefix: str, tmp_path: Path) -> None:
    """All spellings of one folder are one warehouse."""
    assert config_of(f"{prefix}{tmp_path}").warehouse == str(tmp_path)


@pytest.mark.parametrize(
    ("warehouse", "message"),
    [
        ("s3://bucket/place", "needs a local folder"),
        ("file:///tmp/my%20place", "percent-encoding is not decoded"),
        ("/tmp/a#b", "cannot stand in a location URI"),
        ("/tmp/a?b", "cannot stand in a location URI"),
    ],
)
def test_a_warehouse_that_would_become_another_place_is_refused(
    warehouse: str, message: str
) -> None:
    """A location URI that some reader decodes differently would split a table in two."""
    with pytest.raises(InvalidInputError, match=message):
        config_of(warehouse)


def test_a_warehouse_among_the_catalog_properties_counts_too(tmp_path: Path) -> None:
    """Callers that give the catalog as a mapping put it there."""
    config = CatalogConfig.from_options({"catalog.warehouse": str(tmp_path)})

    assert (config.name, config.warehouse, config.properties) == (None, str(tmp_path), {})


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_sql_catalog_keeps_its_tables_under_file_uris(prefix: str, tmp_path: Path) -> None:
    """However the warehouse was spelled."""
    config = CatalogConfig.from_options(
        {"catalog.uri": sqlite_uri(tmp_path / "x.db"), "warehouse": f"{prefix}{tmp_path}/files"}
    )

    assert make(config, "db.users").base.location() == f"file://{tmp_path}/files/db/users"


def test_a_config_pickles_and_does_not_print_passwords() -> None:
    """It goes to other processes and into error messages."""
    config = CatalogConfig.from_options({"catalog.uri": "http://x", "catalog.token": "secret"})

    assert pickle.loads(pickle.dumps(config)) == config
    assert "secret" not in repr(config)


def test_reading_a_missing_warehouse_creates_nothing(tmp_path: Path) -> None:
    """A typo in the warehouse must not leave an empty catalog behind."""
    missing = tmp_path / "typo"

    with pytest.raises(NotFoundError, match="typo"):
        open_catalog(config_of(missing))
    with pytest.raises(NotFoundError, match=r"catalog\.db"):
        open_catalog(config_of(tmp_path))

    assert list(tmp_path.iterdir()) == []


def test_a_new_warehouse_is_made_for_writing(tmp_path: Path) -> None:
    """The embedded catalog needs no setting up."""
    config = config_of(tmp_path / "deep" / "place")

    assert open_catalog(config, create=True).list_namespaces() == []
    assert open_catalog(config).list_namespaces() == []


@pytest.mark.parametrize("how", ["embedded", "sqlite uri"])
def test_every_sqlite_catalog_gets_wal_and_no_pool(how: str, tmp_path: Path) -> None:
    """A pooled connection would show this process a snapshot that was never committed."""
    options = {
        "embedded": {"warehouse": str(tmp_path)},
        "sqlite uri": {
            "catalog.uri": sqlite_uri(tmp_path / "sub" / "catalog.db"),
            "warehouse": str(tmp_path / "files"),
        },
    }[how]

    catalog = open_catalog(CatalogConfig.from_options(options), create=True)

    assert isinstance(catalog, SqlCatalog)
    assert isinstance(catalog.engine.pool, NullPool)
    assert catalog.properties["warehouse"].startswith("file:///")
    with closing(sqlite3.connect(database_of(catalog.engine.url))) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_sqlite_uri_that_is_missing_is_not_created_by_a_reader(tmp_path: Path) -> None:
    """SQLite itself would create the file."""
    config = CatalogConfig.from_options({"catalog.uri": f"sqlite:///{tmp_path}/no.db"})

    with pytest.raises(NotFoundError, match=r"no\.db"):
        open_catalog(config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["plain", "mit Leerstelle", "Größe", "a%20b", "Ж 日本 (1)+&"])
def test_warehouse_names_survive_into_locations(folder: str, tmp_path: Path) -> None:
    """Locations hold the folder's own characters, which PyIceberg opens again as they are."""
    config = config_of(tmp_path / folder)

    made = make(config, "db.users")

    assert made.base.location() == f"file://{tmp_path}/{folder}/db/users"
    opened = open_table(config, "db.users")
    assert opened.base.metadata == made.base.metadata
    assert (tmp_path / folder / "db" / "users" / "metadata").is_dir()
    assert urlparse(made.base.metadata_location).path.startswith(f"{tmp_path}/{folder}/")
    foreign = SqlCatalog("arctic", uri=sqlite_uri(tmp_path / folder / "catalog.db"))
    assert foreign.load_table("db.users").location() == made.base.location()
    foreign.engine.dispose()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"catalog": "nowhere"}, InvalidInputError, "catalog.uri"),
        ({"catalog.type": "wat"}, InvalidInputError, "wat"),
        ({"catalog.type": "in-memory"}, InvalidInputError, "forgotten"),
        ({"catalog.uri": "sqlite:///:memory:"}, InvalidInputError, "forgotten"),
        ({"catalog.uri": "sqlite://"}, InvalidInputError, "forgotten"),
        ({"catalog.uri": "gopher://x"}, InvalidInputError, "gopher"),
        ({"catalog.py-catalog-impl": "json.Nothing"}, InvalidInputError, "Nothing"),
        ({"catalog.uri": "http://127.0.0.1:1"}, StorageError, "open catalog"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_a_catalog_that_cannot_be_opened_says_why(
    options: dict[str, str], error: type[ArcticError], message: str
) -> None:
    """The class tells whether to fix the options or to try later."""
    with pytest.raises(error, match=message):
        open_catalog(CatalogConfig.from_options(options))


@pytest.mark.parametrize("kind", ["hive", "glue"])
def test_a_missing_client_library_is_named_with_the_command(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not the library is installed here."""
    monkeypatch.setitem(sys.modules, f"pyiceberg.catalog.{kind}", None)
    for ours in ("over_thrift.safe_hive", "over_http.safe_glue"):
        monkeypatch.delitem(sys.modules, f"arctic.iceberg.catalogs.{ours}", raising=False)
    options = {"catalog.type": kind, "catalog.uri": "thrift://127.0.0.1:1"}

    with pytest.raises(UnsupportedError, match="pip install"):
        open_catalog(CatalogConfig.from_options(options))


def test_a_named_catalog_takes_pyiceberg_configuration(tmp_path: Path) -> None:
    """PyIceberg reads it once, when it is imported: hence another process."""
    script = (
        "from arctic.iceberg.catalogs.catalog import CatalogConfig\n"
        "from arctic.iceberg.catalogs.listing import list_tables\n"
        "print(list_tables(CatalogConfig.from_options({'catalog': 'lake'})))"
    )
    config = CatalogConfig.from_options(
        {
            "catalog": "lake",
            "catalog.uri": sqlite_uri(tmp_path / "lake.db"),
            "warehouse": str(tmp_path / "lake"),
        }
    )
    make(config, "db.users")

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYICEBERG_CATALOG__LAKE__URI": sqlite_uri(tmp_path / "lake.db"),
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "('db.users',)"


def test_listing_shows_bases_and_unkeyed_tables_only(tmp_path: Path) -> None:
    """Change stores are parts, and plain Iceberg tables are somebody else's."""
    config = config_of(tmp_path)
    make(config, "b.users")
    make(config, "a.events", key=())
    make(config, "a.deep.nested")
    catalog = open_catalog(config)
    catalog.create_table("a.plain", SCHEMA)
    make(config, "a.half")
    catalog.drop_table("a.half_change_")

    assert list_tables(config) == ("a.deep.nested", "a.events", "a.half", "b.users")
    assert list_tables(config, "a") == ("a.events", "a.half")
    assert list_tables(config, "a.deep") == ("a.deep.nested",)
    with pytest.raises(NotFoundError, match=r"namespace 'c'"):
        list_tables(config, "c")


def test_a_database_is_asked_as_often_for_many_tables_as_for_one(tmp_path: Path) -> None:
    """It says where the metadata of all of them lies."""
    config = config_of(tmp_path)
    catalog = open_catalog(config, create=True)
    assert isinstance(catalog, SqlCatalog)
    statements: list[str] = []
    listen(catalog.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    counts = []
    for name in ("a.one", "a.two", "a.three"):
        make(config, name)
        statements.clear()
        assert name in list_tables(config)
        counts.append(len(statements))

    assert counts == counts[:1] * 3


def test_an_empty_catalog_lists_nothing(tmp_path: Path) -> None:
    """No table is not an error."""
    open_catalog(config_of(tmp_path), create=True)

    assert list_tables(config_of(tmp_path)) == ()


def test_broken_metadata_is_told_from_missing_metadata(tmp_path: Path) -> None:
    """One is for repair, the other may come back."""
    config = config_of(tmp_path)
    location = urlparse(make(config, "db.users").base.metadata_location).path

    Path(location).write_text('{"format-version": 2}', encoding="utf-8")
    with pytest.raises(FormatError, match=rf"table metadata 'file://{location}'"):
        load_table(open_catalog(config), ("db", "users"))
    with pytest.raises(FormatError, match=rf"table metadata 'file://{location}'"):
        list_tables(config)
    Path(location).write_text("not json", encoding="utf-8")
    with pytest.raises(FormatError, match=rf"table metadata 'file://{location}'"):
        load_table(open_catalog(config), ("db", "users"))
    Path(location).unlink()
    with pytest.raises(StorageError, match="FileNotFoundError"):
        load_table(open_catalog(config), ("db", "users"))


def test_a_file_that_is_no_database_is_a_storage_error(tmp_path: Path) -> None:
    """And it is not tried again: that would not help."""
    (tmp_path / "catalog.db").write_text("hello " * 1000, encoding="utf-8")

    with pytest.raises(StorageError, match="open warehouse"):
        open_catalog(config_of(tmp_path))


def test_only_races_are_tried_again() -> None:
    """Another error comes out at once, and a race in the end too."""
    tries = []

    def locked() -> None:
        tries.append(1)
        raise sqlite3.OperationalError("database is locked" if len(tries) < 3 else "disk full")

    with pytest.raises(sqlite3.OperationalError, match="disk full"):
        first_use(locked)
    assert len(tries) == 3


def test_errors_of_clients_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what there is to do; those of clients that are not installed cannot occur."""
    thrift = types.ModuleType("thrift.Thrift")
    thrift.TException = type("TException", (Exception,), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "thrift.Thrift", thrift)
    expected: list[tuple[Exception, type[ArcticError]]] = [
        (thrift.TException("no answer"), StorageError),
        (ForbiddenError("not you"), StorageError),
        (TimeoutError("too slow"), StorageError),
        (CommitStateUnknownException("perhaps"), CommitStateUnknownError),
        (NotInstalledError("pip install x"), UnsupportedError),
        (NotFoundError("ours already"), NotFoundError),
    ]

    for foreign, ours in expected:
        with pytest.raises(ours, match=str(foreign)), catalog_errors("do something"):
            raise foreign
    with pytest.raises(CommitFailedException), catalog_errors("do something"):
        raise CommitFailedException("a lost race is for the caller")


def open_at_once(folder: str, barrier: object) -> str:
    """What each process does in the race below."""
    getattr(barrier, "wait")(30)  # noqa: B009 - a barrier has no public type
    try:
        catalog = open_catalog(config_of(folder), create=True)
        create_namespace(catalog, ("a", "b"))
    except ArcticError as error:
        return repr(error)
    return "ok"


def test_processes_may_use_a_new_catalog_for_the_first_time_at_once(tmp_path: Path) -> None:
    """Each of them finds its tables and namespace created, by itself or another."""
    context = forked()
    with context.Manager() as manager, context.Pool(PROCESSES) as pool:
        for attempt in range(3):
            barrier = manager.Barrier(PROCESSES)
            folder = str(tmp_path / str(attempt))
            results = pool.starmap(open_at_once, [(folder, barrier)] * PROCESSES, chunksize=1)
            assert results == ["ok"] * PROCESSES
