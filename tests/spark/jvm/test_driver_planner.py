"""Planning in the driver's process: the same rows as when a worker plans, and one call a scan."""

from __future__ import annotations

import base64
import json
import pickle

import pyarrow as pa
import pytest
from pyspark.errors.exceptions import captured

from arctic.spark.base.private_names import jvm, jvm_frame
from arctic.spark.base.protocol import PlanAnswer, PlanQuestion, ScanQuestion
from arctic.spark.jvm import driver_planner
from arctic.spark.jvm.driver_planner import DriverPlanner
from tests.spark.jvm.java_half import question_text
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

QUESTION = ScanQuestion(
    hints=[],
    parallelism=2,
    query=None,
    pin=None,
    spark_reads=False,
    takes_vectors=False,
    takes_groups=False,
    limit=None,
    groups=None,
    required=[],
)


def _asked(lake: Lake, **options: str) -> str:
    schema = lake.load().select("id").schema.jsonValue()
    given = {"path": NAME, "warehouse": lake.warehouse, **options}
    return question_text(PlanQuestion(options=given, schema=schema, scan=QUESTION))


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[PlanQuestion]:
    calls: list[PlanQuestion] = []
    plan = driver_planner._planned

    def counted(question: PlanQuestion) -> PlanAnswer | None:
        calls.append(question)
        return plan(question)

    monkeypatch.setattr(driver_planner, "_planned", counted)
    return calls


def test_the_answer_holds_all_that_executors_need(lake: Lake) -> None:
    """Run here as Spark's workers run it: a function, and pickled partitions."""
    lake.create()
    lake.put([(1, "a", 1.0), (2, "b", 2.0)])

    answer = json.loads(DriverPlanner(lake.spark).apply(_asked(lake)) or "null")

    function, schema = pickle.loads(base64.b64decode(answer["function"]))
    rows = []
    for pickled in answer["partitions"]:
        group = pa.RecordBatch.from_pydict({"value": [base64.b64decode(pickled)]})
        rows += [row for batch in function(iter([group])) for row in batch.to_pylist()]
    assert schema.names == ["id"]
    assert sorted(row["id"] for row in rows) == [1, 2]
    assert answer["scan"]["rows"] == 2


def test_a_question_with_a_frame_is_read_without_an_error(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who goes through a list of the JVM's meets one at its end, which takes PySpark long."""
    lake.create()
    lake.put([(1, "a", 1.0)])
    question = jvm(lake.spark).java.util.ArrayList()
    question.add(_asked(lake))
    question.add(jvm_frame(lake.load()))
    errors: list[object] = []
    monkeypatch.setattr(captured, "convert_exception", errors.append)

    assert DriverPlanner(lake.spark).apply(question) is not None
    assert errors == []


@pytest.mark.parametrize("options", [{"path": "db.gone"}, {"weight-ratio": "many"}])
def test_what_it_cannot_plan_is_left_to_a_worker(lake: Lake, options: dict[str, str]) -> None:
    """Which meets the same fault, and makes it an error of the query."""
    lake.create()

    assert DriverPlanner(lake.spark).apply(_asked(lake, **options)) is None


def test_a_warehouse_that_is_not_written_out_is_left_to_a_worker(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker told the columns then, and may have found another table by the same name."""
    lake.create()
    monkeypatch.setenv("ARCTIC_WAREHOUSE", lake.warehouse)
    question = json.loads(_asked(lake))
    del question["options"]["warehouse"]

    assert DriverPlanner(lake.spark).apply(_asked(lake)) is not None
    assert DriverPlanner(lake.spark).apply(json.dumps(question)) is None


def test_a_scan_is_planned_by_one_call(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A self-join has two scans."""
    lake.create()
    lake.put([(1, "a", 1.0), (2, "b", 2.0)])
    calls = _counted(monkeypatch)
    rows = lake.load()

    assert rows.where("id = 1").collect() != []
    assert len(calls) == 1
    assert rows.alias("a").join(rows.where("id > 1").alias("b"), "id").count() == 1
    assert len(calls) == 3


def test_rows_are_the_same_when_the_driver_cannot_plan(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong there, a worker plans."""
    lake.create()
    lake.put([(1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0)])
    lake.put([(2, "z", 9.0)])
    expected = sorted(lake.load().collect())

    def broken(question: PlanQuestion) -> PlanAnswer | None:
        raise RuntimeError("no")

    monkeypatch.setattr(driver_planner, "_planned", broken)

    assert sorted(lake.load().collect()) == expected
    assert lake.load().where("id = 2").count() == 1


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT id FROM t LIMIT 2", 2),
        ("SELECT id FROM t LIMIT 9", 5),
        ("SELECT id FROM t WHERE id > 3 LIMIT 1", 1),
        ("SELECT id FROM t WHERE amount > 3.5 LIMIT 2", 2),
        ("SELECT id FROM t LIMIT 2 OFFSET 4", 1),
        ("SELECT id FROM (SELECT id FROM t LIMIT 3) WHERE id > 0", 3),
        ("SELECT id FROM t ORDER BY id DESC LIMIT 2", 2),
        ("SELECT max(id) FROM (SELECT id FROM t LIMIT 4)", 1),
        ("(SELECT id FROM t LIMIT 1) UNION ALL SELECT id FROM t", 6),
    ],
)
def test_limits_count_the_rows_of_the_query(lake: Lake, query: str, rows: int) -> None:
    """With filters, offsets, orders and unions around them."""
    lake.create()
    lake.put([(number, "a", float(number)) for number in range(1, 5)], "overwrite")
    lake.put([(4, "b", 4.0), (5, "b", 5.0)])
    lake.load().createOrReplaceTempView("t")

    found = [row[0] for row in lake.spark.sql(query).collect()]

    assert len(found) == rows
    assert set(found) <= {1, 2, 3, 4, 5}
    assert "DESC" not in query or found == [5, 4]
