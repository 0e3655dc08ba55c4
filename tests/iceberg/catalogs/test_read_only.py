"""A reader without permission to write, in a process of its own that root's powers cannot help."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import arctic
from arctic.errors import StorageError
from arctic.iceberg.catalogs import read_only
from arctic.iceberg.catalogs.in_database.quick_loads import KEPT_CONNECTIONS

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("by", pa.string())])

_PRELUDE = """
import os, sys
import pyarrow as pa
import arctic

warm, lake, named = sys.argv[1:]
rows = pa.table({"id": [7], "by": ["reader"]})

def tried(call):
    try:
        return call()
    except arctic.ArcticError as error:
        return f"{type(error).__name__}: {error}"

# What is imported late is imported while it may be read.
arctic.create_table("w.t", rows.schema, primary_key=["id"], warehouse=warm)
arctic.write("w.t", rows, mode="upsert", warehouse=warm)
arctic.read("w.t", warehouse=warm).read_all()
arctic.optimize("w.t", warehouse=warm)
arctic.expire("w.t", warehouse=warm)
tried(lambda: arctic.drop_table("w.none", warehouse=warm))
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)  # nobody
    os.setuid(65534)
assert not os.access(f"{lake}/catalog.db", os.W_OK)
"""


@pytest.fixture
def lake() -> Iterator[Path]:
    """A warehouse with one row, at a place that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="arctic-read-only-"))
    folder.chmod(0o755)
    warehouse = folder / "lake"
    made = arctic.create_table("m.t", SCHEMA, primary_key=["id"], warehouse=str(warehouse))
    made.write(pa.table({"id": [1], "by": ["owner"]}), mode="upsert")
    KEPT_CONNECTIONS.close()
    yield warehouse
    unlock(warehouse)
    shutil.rmtree(folder)


def as_reader(lake: Path, program: str) -> list[str]:
    """Run a program without permission to write; return what it printed."""
    place = {"uri": f"sqlite:///{lake}/catalog.db", "type": "sql", "warehouse": f"file://{lake}"}
    with tempfile.TemporaryDirectory() as warm:
        done = subprocess.run(
            [sys.executable, "-c", f"{_PRELUDE}\n{program}", warm, str(lake), str(place)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def lock(lake: Path, *, folder: int = 0o555) -> set[str]:
    """Take permissions away; return what lies there."""
    (lake / "catalog.db").chmod(0o444)
    for path in lake.rglob("*"):
        if path.is_dir():
            path.chmod(0o555)
    lake.chmod(folder)
    return {path.name for path in lake.rglob("*")}


def unlock(lake: Path) -> None:
    """Give the permissions back."""
    for place in (lake, *lake.rglob("*")):
        place.chmod(0o755)


def test_a_reader_reads_and_a_writer_is_told(lake: Path) -> None:
    """By every way to a table; nothing is made beside the catalog."""
    before = lock(lake)

    said = as_reader(
        lake,
        """
print(arctic.read("m.t", warehouse=lake).read_all().to_pylist())
print(arctic.list_tables(warehouse=lake), arctic.list_tables(catalog=eval(named)))
print(arctic.read("m.t.snapshots", catalog=eval(named)).read_all().num_rows)
print(arctic.expire("m.t", warehouse=lake, dry_run=True).items)
print(tried(lambda: arctic.write("m.t", rows, mode="upsert", warehouse=lake)))
print(tried(lambda: arctic.write("m.t", rows, mode="upsert", catalog=eval(named))))
print(tried(lambda: arctic.create_table("m.u", rows.schema, warehouse=lake)))
print(tried(lambda: arctic.evolve_schema("m.t", add={"x": pa.int64()}, warehouse=lake)))
print(tried(lambda: arctic.drop_table("m.t", warehouse=lake)))
print(tried(lambda: arctic.optimize("m.t", type="full", warehouse=lake)))
print(tried(lambda: arctic.expire("m.t", warehouse=lake)))
""",
    )

    assert said[:4] == ["[{'id': 1, 'by': 'owner'}]", "['m.t'] ['m.t']", "1", "()"]
    refusal = f"StorageError: no permission to write '{lake}/catalog.db', so its tables can only"
    assert [text for text in said[4:] if not text.startswith(refusal)] == []
    assert len(said) == 11
    assert {path.name for path in lake.rglob("*")} == before
    unlock(lake)
    arctic.write("m.t", pa.table({"id": [3], "by": ["owner"]}), mode="upsert", warehouse=str(lake))
    assert arctic.read("m.t", warehouse=str(lake)).read_all().num_rows == 2


def test_a_reader_beside_a_writer_sees_its_commits(lake: Path) -> None:
    """They lie in the log of the database; and where the folder takes files, it gets none."""
    with closing(sqlite3.connect(lake / "catalog.db")) as writer:
        writer.execute("select * from iceberg_tables").fetchall()
        arctic.write(
            "m.t", pa.table({"id": [2], "by": ["owner"]}), mode="upsert", warehouse=str(lake)
        )
        assert (lake / "catalog.db-wal").stat().st_size > 0
        lock(lake)
        read = "print(arctic.read('m.t', warehouse=lake).read_all().num_rows)"
        assert as_reader(lake, read) == ["2"]
    for suffix in ("", "-wal", "-shm"):
        if (lake / f"catalog.db{suffix}").exists():
            (lake / f"catalog.db{suffix}").chmod(0o444)
    lake.chmod(0o777)
    before = {path.name for path in lake.iterdir()}

    assert as_reader(lake, read) == ["2"]
    assert {path.name for path in lake.iterdir()} == before


def test_a_link_to_the_database_shows_the_same(lake: Path) -> None:
    """The writer's files lie beside what the link leads to."""
    apart = lake.parent / "apart"
    apart.mkdir()
    (lake / "catalog.db").rename(apart / "real.db")
    (lake / "catalog.db").symlink_to(apart / "real.db")
    with closing(sqlite3.connect(lake / "catalog.db")) as writer:
        writer.execute("select * from iceberg_tables").fetchall()
        arctic.write(
            "m.t", pa.table({"id": [2], "by": ["owner"]}), mode="upsert", warehouse=str(lake)
        )
        assert (apart / "real.db-wal").stat().st_size > 0

        read = "print(arctic.read('m.t', warehouse=lake).read_all().num_rows)"
        assert as_reader(lake, read) == ["2"]


def test_a_state_within_a_tick_of_a_write_is_none(tmp_path: Path) -> None:
    """Another write could leave the same time behind."""
    database = tmp_path / "x.db"
    database.write_bytes(b"1")
    os.utime(database)
    assert read_only._state(database) is None
    time.sleep(0.03)
    assert read_only._state(database) is not None


def test_what_may_not_be_read_is_said(lake: Path) -> None:
    """With the remedy."""
    (lake / "catalog.db").chmod(0)
    lake.chmod(0o555)

    [said] = as_reader(lake, "print(tried(lambda: arctic.read('m.t', warehouse=lake)))")

    assert said.startswith("StorageError: no permission to read")
    assert said.endswith("ask its owner for read permission")


def test_a_copy_that_a_write_ran_into_is_taken_anew(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read is one state of the catalog, the newest."""
    opened = read_only._opened
    copies = 0

    def late(database: Path, how: str) -> sqlite3.Connection:
        nonlocal copies
        copies += 1
        connection = opened(database, how)
        if copies == 1:
            arctic.create_table("m.u", SCHEMA, warehouse=str(lake))
        return connection

    monkeypatch.setattr(read_only, "_opened", late)
    database = lake / "catalog.db"
    catalog = read_only.ReadOnlySqlCatalog(
        "arctic", database=database, uri=f"sqlite:///{database}", warehouse=f"file://{lake}"
    )

    assert ("m", "u") in catalog.list_tables("m")
    with pytest.raises(StorageError, match="can only be read"):
        catalog.drop_table("m.u")
    with pytest.raises(OperationalError, match="readonly"), catalog.engine.begin() as connection:
        connection.execute(text("delete from iceberg_tables"))
