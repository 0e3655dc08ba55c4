"""A MERGE from many rows: they say what is read of the table, and are the same ones throughout."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.job.sought import sought_rows
from arctic.job.sought.sought_rows import Sought, SoughtTable
from arctic.spark.catalog import row_level
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
MANY = 10_100
"""Rows of a source: more than are read into the driver."""
STORED = 3_000
ROW = pa.schema([("id", pa.int64()), ("k", pa.string()), ("day", pa.date32()), ("n", pa.int64())])
LAYOUTS = {
    "nodes": "PRIMARY KEY (id)) TBLPROPERTIES ('base.file-index.hash-bucket' = '8', "
    "'change.file-index.hash-bucket' = '8')",
    "days": "PRIMARY KEY (id, day)) PARTITIONED BY (days(day))",
    "buckets": "PRIMARY KEY (k)) PARTITIONED BY (bucket(4, k))",
    "no key": ") PARTITIONED BY (day)",
}
KEYS = {"nodes": ["id"], "days": ["id", "day"], "buckets": ["k"], "no key": ["id", "day"]}


@pytest.fixture(autouse=True)
def cheap(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have few rows cost little, and no table be too small to look at a source for it."""
    monkeypatch.setattr(sought_rows, "LEAST_BYTES", 0)
    monkeypatch.setattr(sought_rows, "_MOST_SHARE", 1e9)
    with small_plans(sql.spark):
        yield


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Sought]:
    """Return where it is noted what each look at a source found."""
    found: list[Sought] = []
    look = SoughtTable.sought

    def noted(self: SoughtTable, part: Any) -> Sought:
        found.append(look(self, part))
        return found[-1]

    monkeypatch.setattr(SoughtTable, "sought", noted)
    return found


def _row(number: int, n: int) -> dict[str, Any]:
    return {"id": number, "k": f"k{number:06}", "day": number // 1_000, "n": n}


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    columns = {name: [row[name] for row in rows] for name in ROW.names}
    columns["day"] = pa.array(columns["day"], pa.int32()).cast(pa.date32())
    return pa.table(columns, schema=ROW)


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(_table(rows).to_pylist(), key=lambda row: (row["id"], row["n"]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_read_changes_no_row(
    sql: Sql, tmp_path: Path, looks: list[Sought], layout: str
) -> None:
    """Whatever the clauses are and wherever the keys of the source lie, as a dictionary has it."""
    drawn = random.Random(layout)
    ending = LAYOUTS[layout]
    columns = "id BIGINT, k STRING, day DATE, n BIGINT" + (", " if ending[0] == "P" else "")
    sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} ({columns}{ending}")
    stored = {number: _row(number, number) for number in range(0, 4 * STORED, 4)}
    table = arctic.open_table("shop.t")
    for part in (0, 1):  # the second is not merged
        table.write(_table(list(stored.values())[part::2]), mode="append")
        if part == 0:
            table.optimize(type="full")
    on = " AND ".join(f"t.{name} = s.{name}" for name in KEYS[layout])

    for clause in range(3):
        first, step = drawn.randrange(8_000), drawn.choice([1, 8, 40])
        source = {first + step * place: _row(first + step * place, place) for place in range(MANY)}
        pq.write_table(_table(list(source.values())), tmp_path / f"{clause}.parquet")
        frame = sql.spark.read.parquet(str(tmp_path / f"{clause}.parquet"))
        frame.createOrReplaceTempView("held")
        delete = "WHEN MATCHED AND t.n % 3 = 0 THEN DELETE " if clause else ""
        insert = "" if clause == 1 else "WHEN NOT MATCHED AND s.n % 50 = 0 THEN INSERT *"
        sql(
            f"MERGE INTO {T} t USING held s ON {on} {delete}"
            f"WHEN MATCHED THEN UPDATE SET n = t.n + s.n {insert}"
        )
        for number, row in source.items():
            old = stored.get(number)
            if old is not None and clause and old["n"] % 3 == 0:
                del stored[number]
            elif old is not None:
                stored[number] = {**old, "n": old["n"] + row["n"]}
            elif clause != 1 and row["n"] % 50 == 0:
                stored[number] = row
        assert _shown(list(stored.values())) == sorted(
            arctic.read("shop.t").read_all().to_pylist(), key=lambda row: (row["id"], row["n"])
        )

    assert len(looks) == 3
    if layout != "buckets":  # whose files are of all texts
        assert any(found.reads_less or found.nodes is not None for found in looks)


def test_rows_that_come_out_otherwise_each_time_are_made_once(
    sql: Sql, looks: list[Sought]
) -> None:
    """What is inserted has met no stored row: neither among those that were read nor in others."""
    sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} (id BIGINT, n BIGINT, PRIMARY KEY (id))")
    for start in range(0, 200_000, 20_000):
        rows = pa.table({"id": range(start, start + 20_000, 2), "n": [0] * 10_000})
        arctic.open_table("shop.t").write(rows, mode="append")
    sql.spark.udf.register("shift", lambda _: random.randrange(190_000), "bigint")
    sql.spark.sql(
        f"SELECT id + shift AS id FROM range({MANY}) CROSS JOIN "
        "(SELECT shift(id) AS shift FROM range(1))"  # which Spark takes for the same each time
    ).createOrReplaceTempView("moving")

    sql(
        f"MERGE INTO {T} t USING moving s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + 1 "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, -1)"
    )

    found = arctic.read("shop.t").read_all().to_pydict()
    touched = [(number, n) for number, n in zip(found["id"], found["n"], strict=True) if n]
    assert all(n == (1 if number % 2 == 0 else -1) for number, n in touched)
    assert len(touched) == MANY
    assert [each.reads_less for each in looks] == [True]


def test_a_source_that_has_no_row_after_all_changes_none(sql: Sql, tmp_path: Path) -> None:
    """Spark takes its files for many rows, and no task has one."""
    sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} (id BIGINT, n BIGINT, PRIMARY KEY (id))")
    sql(f"INSERT INTO {T} VALUES (1, 1)")
    drawn = random.Random(0)
    rows = pa.table({"id": [drawn.getrandbits(62) for _ in range(200_000)]})
    pq.write_table(rows, tmp_path / "s.parquet")
    frame = sql.spark.read.parquet(str(tmp_path / "s.parquet"))
    frame.where("id % 2 = 2").createOrReplaceTempView("held")

    sql(
        f"MERGE INTO {T} t USING held s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + 1 "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, -1)"
    )

    assert sql.rows("shop.t") == [(1, 1)]


def test_what_the_plan_says_of_a_column_goes_for_rows_that_are_held(
    sql: Sql, looks: list[Sought]
) -> None:
    """One column lies in a range, whose ends no task has to tell; the other is computed."""
    sql(
        f"DROP TABLE IF EXISTS {T}",
        f"CREATE TABLE {T} (id BIGINT, g BIGINT, n BIGINT, PRIMARY KEY (id))",
        f"INSERT INTO {T} VALUES (7, 0, 1), (8, 0, 1), (30000, 0, 1)",
    )
    sql.spark.sql("SELECT id, id % 7 AS g FROM range(20000)").createOrReplaceTempView("held")

    sql(
        f"MERGE INTO {T} t USING held s ON t.g = s.g AND t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET n = t.n + 1"
    )

    assert sql.rows("shop.t") == [(30000, 0, 1), (7, 0, 2), (8, 0, 1)]
    assert len(looks) == 1


def test_who_writes_other_rows_is_not_in_the_way_of_many(
    sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though some rows of the source do nothing; who brings a row that they could meet is."""
    sql(f"DROP TABLE IF EXISTS {T}", f"CREATE TABLE {T} (id BIGINT, n BIGINT, PRIMARY KEY (id))")
    sql(f"INSERT INTO {T} SELECT id, 1 FROM range(10)")
    pq.write_table(pa.table({"id": range(MANY)}), tmp_path / "s.parquet")
    sql.spark.read.parquet(str(tmp_path / "s.parquet")).createOrReplaceTempView("held")
    write, others = row_level.__dict__["write_frame"], [MANY + 5, 20]
    tries: list[int] = []

    def beside(*given: Any) -> Any:
        if len(tries) < len(others):
            other = pa.table({"id": [others[len(tries)]], "n": [1]})
            arctic.open_table("shop.t").write(other, mode="upsert")
        tries.append(len(tries))
        return write(*given)

    monkeypatch.setattr(row_level, "write_frame", beside)
    merge = (
        f"MERGE INTO {T} t USING held s ON t.id = s.id "
        "WHEN MATCHED AND t.n = 1 THEN UPDATE SET n = t.n + 1"
    )
    sql(merge)
    assert tries == [0]
    sql(f"UPDATE {T} SET n = 1 WHERE n = 2")
    tries = [0]

    sql(merge)
    assert len(tries) == 3
    assert sql.rows("shop.t") == sorted(
        [*((number, 2) for number in range(10)), (20, 2), (MANY + 5, 1)], key=repr
    )
