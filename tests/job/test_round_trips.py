"""How often one write or read asks a catalog, as one far away would feel it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from sqlalchemy.exc import OperationalError

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.change_store import note_key
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string())])
ROWS = pa.table({"id": [1, 2], "region": ["eu", "us"]}, schema=SCHEMA)
BASE, CHANGE = "db.t", "db.t_change_"


class Asked:
    """Counts what a catalog is asked for, by store; what it asks itself is not counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loads: Counter[str] = Counter()
        self.commits: Counter[str] = Counter()
        self._inside = 0
        self._load, self._commit = SqlCatalog.load_table, SqlCatalog.commit_table
        monkeypatch.setattr(SqlCatalog, "load_table", self._load_table())
        monkeypatch.setattr(SqlCatalog, "commit_table", self._commit_table())

    def forget(self) -> None:
        """Begin to count."""
        self.loads.clear()
        self.commits.clear()

    def _load_table(self) -> Any:
        def load_table(catalog: SqlCatalog, identifier: Any) -> Table:
            if not self._inside:
                self.loads[".".join(identifier)] += 1
            return self._load(catalog, identifier)

        return load_table

    def _commit_table(self) -> Any:
        def commit_table(
            catalog: SqlCatalog, table: Table, requirements: Any, updates: Any
        ) -> CommitTableResponse:
            self.commits[".".join(table.name())] += 1
            self._inside += 1  # A server loads what it changes without being asked to.
            try:
                return self._commit(catalog, table, requirements, updates)
            finally:
                self._inside -= 1

        return commit_table


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return what counts from now on."""
    return Asked(monkeypatch)


def create(warehouse: Path, **named: Any) -> arctic.Table:
    """Create the table db.t, and write to both of its stores."""
    table = arctic.create_table(BASE, SCHEMA, warehouse=str(warehouse), **named)
    mode = "upsert" if named.get("primary_key") else "append"
    table.write(ROWS, mode=mode)
    if mode == "upsert":
        arctic.optimize(BASE, type="full", warehouse=str(warehouse))
        table.write(ROWS, mode=mode)
    return table


@pytest.mark.parametrize("mode", ["upsert", "delete", "append"])
def test_a_change_loads_each_store_twice_and_commits_once(
    tmp_path: Path, asked: Asked, mode: str
) -> None:
    """Once where it begins, and once more right before the commit."""
    create(tmp_path, primary_key=["id"])
    asked.forget()
    arctic.write(BASE, ROWS, mode=mode, warehouse=str(tmp_path))

    assert asked.loads == {BASE: 2, CHANGE: 2}
    assert asked.commits == {CHANGE: 1}


def test_an_overwrite_asks_for_no_more(tmp_path: Path, asked: Asked) -> None:
    """It commits to the base store alone."""
    create(tmp_path, primary_key=["id"])
    asked.forget()
    arctic.write(BASE, ROWS, mode="overwrite", warehouse=str(tmp_path))

    assert asked.loads == {BASE: 2, CHANGE: 2}
    assert asked.commits == {BASE: 1}


@pytest.mark.parametrize("mode", ["upsert", "delete", "overwrite"])
def test_rows_that_may_move_cost_no_more(tmp_path: Path, asked: Asked, mode: str) -> None:
    """What was looked up is right only if neither store has moved on: the commit compares both."""
    create(tmp_path, primary_key=["id"], partition_by=["region"])
    asked.forget()
    arctic.write(BASE, ROWS, mode=mode, warehouse=str(tmp_path))

    assert asked.loads == {BASE: 2, CHANGE: 2}
    assert asked.commits == {BASE if mode == "overwrite" else CHANGE: 1}


def test_a_read_loads_each_store_once(tmp_path: Path, asked: Asked) -> None:
    """And so does a plan that is only explained."""
    create(tmp_path, primary_key=["id"])
    for read in (
        lambda: arctic.read(BASE, warehouse=str(tmp_path)).read_all(),
        lambda: arctic.explain(BASE, warehouse=str(tmp_path)),
    ):
        asked.forget()
        read()

        assert asked.loads == {BASE: 1, CHANGE: 1}


def test_a_table_without_a_key_is_asked_for_a_change_store_once(
    tmp_path: Path, asked: Asked
) -> None:
    """Which must be loaded before the base store that names it, as long as nobody knows better."""
    create(tmp_path, primary_key=[])
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    note_key(config, ("db", "t"), is_keyed=True)
    for loads in ({BASE: 1, CHANGE: 1}, {BASE: 1}):
        asked.forget()
        arctic.read(BASE, warehouse=str(tmp_path)).read_all()

        assert asked.loads == loads

    asked.forget()
    arctic.write(BASE, ROWS, mode="append", warehouse=str(tmp_path))
    assert asked.loads == {BASE: 2}
    assert asked.commits == {BASE: 1}


def test_a_table_that_has_a_key_by_now_is_read_whole(tmp_path: Path, asked: Asked) -> None:
    """Somebody dropped the one without, and made another of its name."""
    create(tmp_path, primary_key=["id"])
    config = CatalogConfig.from_options({"warehouse": str(tmp_path)})
    note_key(config, ("db", "t"), is_keyed=False)
    asked.forget()
    arctic.write(BASE, ROWS.slice(0, 1), mode="delete", warehouse=str(tmp_path))
    assert asked.loads == {BASE: 3, CHANGE: 2}

    note_key(config, ("db", "t"), is_keyed=False)
    asked.forget()
    rows = arctic.read(BASE, warehouse=str(tmp_path)).read_all()
    assert (rows["id"].to_pylist(), asked.loads) == ([2], {BASE: 2, CHANGE: 1})


def test_another_catalog_is_opened_anew_for_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection may have died, or its token be over, while the tasks of a write ran."""
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path)}
    for key in ("id", ""):
        name = f"db.t{key}"
        arctic.create_table(name, SCHEMA, primary_key=[key] if key else [], catalog=catalog)
        named = {f"catalog.{each}": text for each, text in catalog.items()}
        job = begin_write(AskedWrite.of({"path": name, **named}), SCHEMA)
        results = [write_task(job.work, ROWS.to_batches(), partition_id=0, task_id=0)]
        assert job.opened is not None

        def dead(*_: Any) -> None:
            raise OperationalError("server closed the connection", None, Exception())

        monkeypatch.setattr(job.opened.base.catalog, "load_table", dead)
        commit_write(job, results)

        assert arctic.read(name, catalog=catalog).read_all().num_rows == 2


def test_a_renamed_table_is_no_exception(tmp_path: Path, asked: Asked) -> None:
    """Its change store goes with it, to where it is looked for."""
    create(tmp_path, primary_key=["id"]).rename("db.new")
    asked.forget()

    assert arctic.read("db.new", warehouse=str(tmp_path)).read_all().num_rows == 2
    assert asked.loads == {"db.new": 1, "db.new_change_": 1}
