"""A table takes the name of another, and never that of rows which nobody looked at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from sqlalchemy.engine import Engine
from sqlalchemy.event import listen, remove
from sqlalchemy.exc import DBAPIError

import arctic
from arctic.errors import ArcticError, ConflictError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.listing import list_tables
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.tables import missing_table
from arctic.iceberg.tables import rename_table as rename_module
from arctic.iceberg.tables.missing_table import is_aside, traces_of
from arctic.iceberg.tables.open_table import open_table
from arctic.job.write import replace_table as module
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.replace_table import (
    find_replaced,
    replace_table,
    staged_name,
)
from arctic.job.write.write_job import WriteJob, begin_write, work_here
from arctic.job.write.write_task import write_task
from arctic.retry import RetryPolicy
from arctic.spark.base.catalog_questions import TableQuestion
from arctic.spark.catalog.table_answers import table
from arctic.table.commit_plan import AppendFiles
from arctic.writing.target import TaskResult, files_of

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogConfig:
    """Of an embedded catalog."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    return CatalogConfig.from_options({"warehouse": str(tmp_path)})


@pytest.fixture(params=["at once", "by renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As a catalog in a database does it, and as any other has to."""
    if request.param == "by renames":
        _by_renames(monkeypatch)
    return str(request.param)


def _by_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "takes_place_at_once", lambda config: False)


def _made(name: str, *, keyed: bool) -> None:
    arctic.create_table(name, ROWS.schema, primary_key=["id"] if keyed else [])
    arctic.write(name, ROWS)


def _anew() -> None:
    arctic.drop_table("m.t")
    _made("m.t", keyed=False)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_table_that_changed_keeps_its_name(config: CatalogConfig, way: str, keyed: bool) -> None:
    """Whatever others did to its rows; files in the place of others are no change."""
    _made("m.t", keyed=keyed)
    arctic.optimize("m.t", type="full")
    staged = staged_name("m.t")
    _made(staged, keyed=False)
    changes: list[Callable[[], object]] = [
        lambda: arctic.write("m.t", pa.table({"id": [3]})),
        lambda: arctic.open_table("m.t").delete("id = 1"),
        lambda: arctic.write("m.t", ROWS, mode="overwrite"),
        _anew,
    ]
    for change in changes:
        found = find_replaced(config, "m.t")
        change()
        rows = arctic.read("m.t").read_all()
        with pytest.raises(ConflictError, match="run the statement again"):
            replace_table(config, staged, "m.t", found)
        assert arctic.read("m.t").read_all().equals(rows)
    with pytest.raises(ConflictError):
        replace_table(config, staged, "m.t", None)
    arctic.write("m.t", pa.table({"id": [5]}))
    found = find_replaced(config, "m.t")
    arctic.optimize("m.t", type="full")
    replace_table(config, staged, "m.t", found)
    assert arctic.read("m.t").read_all().equals(ROWS)
    assert list_tables(config, "m") == ("m.t",)
    assert find_replaced(config, "m.none") is None


def test_a_replacement_that_is_refused_hides_no_table(
    config: CatalogConfig, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it can be known before."""
    _made("m.t", keyed=True)
    found = find_replaced(config, "m.t")
    arctic.write("m.t", pa.table({"id": [3]}))
    monkeypatch.setattr(module, "rename_table", _never)
    monkeypatch.setattr(module, "take_place", _never)

    for known in (found, None):
        with pytest.raises(ConflictError, match="run the statement again"):
            replace_table(config, "m.staged", "m.t", known)


def _never(*_: object) -> None:
    raise AssertionError("the table was renamed")


def test_a_write_that_finds_it_half_moved_is_not_lost(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its base has the old name still, its change store not; it commits when all is done."""
    _by_renames(monkeypatch)
    _made("m.t", keyed=True)
    staged = staged_name("m.t")
    _made(staged, keyed=True)
    rename, drop = rename_module.__dict__["_rename"], module.__dict__["drop_table"]
    begun: list[tuple[WriteJob, TaskResult]] = []
    refused: list[ArcticError] = []
    rows = pa.table({"id": [7]})

    def moved(catalog: Catalog, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        if old == ("m", "t") and not begun:
            asked = AskedWrite.of({"path": "m.t", "write-mode": "upsert"})
            job = begin_write(asked, rows.schema)
            batches = rows.to_batches()
            result = write_task(work_here(job), batches, partition_id=0, task_id=0, threads=1)
            plan = AppendFiles(files=files_of([result]))
            begun.append((job, result))
            late.append(lambda: commit_append(job.found(), plan))
        rename(catalog, old, new)

    def dropped(*args: Any) -> None:
        try:
            late.pop()()
        except ArcticError as error:
            refused.append(error)
        drop(*args)

    late: list[Callable[[], object]] = []
    monkeypatch.setattr(rename_module, "_rename", moved)
    monkeypatch.setattr(module, "drop_table", dropped)
    replace_table(config, staged, "m.t", find_replaced(config, "m.t"))

    assert begun
    assert [type(each) for each in refused] == [NotFoundError]
    assert arctic.read("m.t").read_all().num_rows == 2
    assert list_tables(config, "m") == ("m.t",)


@pytest.mark.parametrize("keyed", [False, True])
def test_who_asks_for_a_name_while_it_is_free_waits_for_its_table(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch, keyed: bool
) -> None:
    """It gets the new one, also as Spark asks; where nobody goes on, it is told after a while."""
    _by_renames(monkeypatch)
    _made("m.t", keyed=keyed)
    staged = staged_name("m.t")
    _made(staged, keyed=not keyed)
    rename = rename_module.__dict__["_rename"]
    question = TableQuestion(catalog={}, name=("m", "t"), version=None, microseconds=None)
    asked: list[Callable[[], int]] = [
        lambda: arctic.read("m.t").read_all().num_rows,
        lambda: len(table(question).key) + 2 - (not keyed),
    ]
    found: list[int] = []
    askers: list[threading.Thread] = []

    def moved(catalog: Catalog, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        if new == ("m", "t"):
            with pytest.raises(NotFoundError):
                open_table(config, "m.t", suggests=False)
            for ask in asked:
                askers.append(threading.Thread(target=lambda ask=ask: found.append(ask())))
                askers[-1].start()
            time.sleep(0.3)
            assert found == []
        rename(catalog, old, new)

    monkeypatch.setattr(rename_module, "_rename", moved)
    replace_table(config, staged, "m.t", find_replaced(config, "m.t"))
    for asker in askers:
        asker.join()
    assert found == [2, 2]

    monkeypatch.setattr(missing_table, "_PATIENCE", RetryPolicy(retries=1))
    monkeypatch.setattr(rename_module, "_rename", rename)
    rename_module.rename_table(config, "m.t", "m.t__replaced_0123abcd")
    with pytest.raises(NotFoundError, match=r"m\.t"):
        arctic.read("m.t")


def test_a_table_that_came_while_its_name_was_looked_for_is_found(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks sees no name, and then no trace of a replacement either: it is over."""
    _made("m.t", keyed=True)
    rename_module.rename_table(config, "m.t", "m.t__replaced_0123abcd")
    listed = missing_table.__dict__["identifiers"]

    def listed_late(catalog: Catalog, namespace: tuple[str, ...]) -> Any:
        if load_table(catalog, ("m", "t")) is None:
            rename_module.rename_table(config, "m.t__replaced_0123abcd", "m.t")
        return listed(catalog, namespace)

    monkeypatch.setattr(missing_table, "identifiers", listed_late)
    assert arctic.read("m.t").read_all().num_rows == 2


@pytest.mark.parametrize(("old_keyed", "new_keyed"), [(False, True), (True, True)])
def test_a_name_in_a_database_is_never_free(
    config: CatalogConfig, old_keyed: bool, new_keyed: bool
) -> None:
    """Whoever reads without a pause finds the old rows, or the new ones."""
    _made("m.t", keyed=old_keyed)
    found: set[int] = set()
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            opened = open_table(config, "m.t", suggests=False)
            found.add(arctic.read("m.t").read_all().num_rows)
            assert opened.table.is_keyed in (old_keyed, new_keyed)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        try:
            for turn in range(4):
                staged = staged_name("m.t")
                _made(staged, keyed=new_keyed if turn % 2 == 0 else old_keyed)
                arctic.write(
                    staged,
                    pa.table({"id": pa.array(range(10, 10 + turn), pa.int64())}),
                    mode="append",
                )
                replace_table(config, staged, "m.t", find_replaced(config, "m.t"))
        finally:
            is_over.set()
        reading.result()

    assert found <= {2 + turn for turn in range(4)}
    assert arctic.read("m.t").read_all().num_rows == 5
    assert list_tables(config, "m") == ("m.t",)
    arctic.write("m.t", pa.table({"id": [3]}))
    assert arctic.read("m.t").read_all().num_rows == 6
    names = {".".join(name) for name in open_catalog(config).list_tables("m")}
    assert names == {"m.t"} | ({"m.t_change_"} if old_keyed else set())


@pytest.mark.parametrize("keyed", [False, True])
def test_a_commit_right_before_the_name_is_taken_is_not_lost(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch, keyed: bool
) -> None:
    """It keeps the old table; one that changes no row has it looked at once more."""
    _made("m.t", keyed=keyed)
    staged = staged_name("m.t")
    _made(staged, keyed=keyed)
    take = module.__dict__["take_place"]
    tries: list[int] = []
    beside: list[Callable[[], object]] = [lambda: arctic.write("m.t", pa.table({"id": [3]}))]

    def late(*given: Any) -> None:
        tries.append(len(tries))
        if beside:
            beside.pop()()
        take(*given)

    monkeypatch.setattr(module, "take_place", late)
    with pytest.raises(ConflictError, match="run the statement again"):
        replace_table(config, staged, "m.t", find_replaced(config, "m.t"))
    assert (arctic.read("m.t").read_all().num_rows, len(tries)) == (3, 1)

    beside.append(lambda: arctic.optimize("m.t", type="full"))
    replace_table(config, staged, "m.t", find_replaced(config, "m.t"))
    assert (arctic.read("m.t").read_all().num_rows, len(tries)) == (2, 3)


def test_a_deadlock_with_a_commit_beside_it_is_tried_again(config: CatalogConfig) -> None:
    """The database takes one of the two back, and nobody's work is lost."""
    _made("m.t", keyed=True)
    staged = staged_name("m.t")
    _made(staged, keyed=True)
    arctic.write(staged, pa.table({"id": [7]}))
    deadlock = [DBAPIError("DELETE", {}, Exception({"C": "40P01", "M": "deadlock detected"}))]

    def beside(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("DELETE FROM iceberg_tables") and deadlock:
            raise deadlock.pop()

    listen(Engine, "before_cursor_execute", beside)
    try:
        replace_table(config, staged, "m.t", find_replaced(config, "m.t"))
    finally:
        remove(Engine, "before_cursor_execute", beside)

    assert (arctic.read("m.t").read_all().num_rows, deadlock) == (3, [])


def test_what_is_left_behind_is_known_by_its_name() -> None:
    """Of this table only."""
    names = ["m.t__staged_0123abcd", "m.t__replaced_89abcdef", "m.u__staged_0123abcd", "m.t"]
    assert traces_of(names, "m.t") == names[:2]
    assert not is_aside("t__staged_0123")
