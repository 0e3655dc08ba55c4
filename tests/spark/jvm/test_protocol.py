"""What the JVM and Python say to each other, each held to one golden file."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import LongType, StructField, StructType

from arctic.spark.base.partial_protocol import (
    BeginAnswer,
    BeginQuestion,
    PartialAnswer,
    PartialQuestion,
)
from arctic.spark.base.private_names import ROW_INDEX_COLUMN
from arctic.spark.base.protocol import (
    QUESTION_KEY,
    AggregatesAnswer,
    AggregatesQuestion,
    Answer,
    DeadRowsAnswer,
    DeadRowsQuestion,
    Failure,
    PlaceAnswer,
    PlaceQuestion,
    PlanAnswer,
    PlanQuestion,
    Question,
    ScanAnswer,
    ScanQuestion,
    answer_text,
    answered_by_worker,
    asked_of_worker,
    bytes_of,
    read_question,
    texts_of,
)
from arctic.spark.read.hints import hinted_filter
from arctic.spark.read.reader import FIRST_ROW_COLUMN, ROWS_COLUMN
from tests.factories.tables import columns_of, table_of
from tests.spark.jvm.java_half import Java, camel, question_text

TYPES = {
    "id": "long",
    "name": "string",
    "flag": "boolean",
    "price": "decimal(10, 2)",
    "raw": "binary",
}
OF_PARTS = "PartialProtocol"
GOLDEN = json.loads((Path(__file__).parent / "protocol.json").read_text(encoding="utf-8"))
COLUMNS = StructType([StructField("id", LongType())])
SCAN = ScanQuestion(
    hints=[[">", {"column": "id"}, {"value": 5}]],
    parallelism=8,
    query="3f2a",
    pin="cGlu",
    spark_reads=True,
    takes_vectors=False,
    takes_groups=True,
    limit=3,
    groups=["node(long, string)", ["id", "name"], 4],
    required=["id"],
)
FIRST_SCAN = ScanQuestion(
    hints=[],
    parallelism=1,
    query=None,
    pin=None,
    spark_reads=False,
    takes_vectors=True,
    takes_groups=False,
    limit=None,
    groups=None,
    required=[],
)
QUESTIONS: dict[str, Question] = {
    "place": PlaceQuestion(options={"path": "db.t", "snapshot-id": "5"}),
    "plan": PlanQuestion(options={"path": "db.t"}, schema=COLUMNS.jsonValue(), scan=SCAN),
    "plan of the first scan": PlanQuestion(options={}, schema=COLUMNS.jsonValue(), scan=FIRST_SCAN),
    "aggregates": AggregatesQuestion(
        options={"path": "db.t"},
        schema=COLUMNS.jsonValue(),
        aggregates=[["count(*)"], ["max", "id"]],
        query="3f2a",
        pin=None,
    ),
    "partial": PartialQuestion(
        options={"path": "db.t"},
        schema=COLUMNS.jsonValue(),
        yields=COLUMNS.jsonValue(),
        keys=["id"],
        aggregates=[["count(*)"], ["sum", "id"]],
        averaged=["id"],
        hints=SCAN.hints,
        floats=True,
        parallelism=8,
        query="3f2a",
        pin=None,
    ),
    "begin": BeginQuestion(plan=["cGxhbg=="]),
    "dead_rows": DeadRowsQuestion(work=["d29y", "aw=="]),
}
TOLD = ScanAnswer(
    pin="cGlu",
    size_bytes=12345678901,
    rows=7,
    merged=1,
    paths=["file:/w/a%20b.parquet", "file:/w/</answer>é.parquet"],
    field_ids=[1, 12],
    row_counts=[4],
    work=[["d29y", "aw=="], ["aw=="]],
    verifies_pages=True,
    settings={"fs.s3a.bucket.b.endpoint": "http://127.0.0.1:9"},
    hindrance="property s3.signer has no counterpart in Hadoop",
    groupings=[["node(long)", ["id"], [12345678901, 0]], ["bucket(long)", ["id"], [7, 8, 9]]],
    file_groups=[3, 0],
)
NOTHING = ScanAnswer(
    pin="",
    size_bytes=0,
    rows=None,
    merged=0,
    paths=[],
    field_ids=[],
    row_counts=[],
    work=None,
    verifies_pages=False,
    settings={},
    hindrance=None,
    groupings=[],
    file_groups=[],
)
ANSWERS: dict[str, Answer] = {
    "place": PlaceAnswer(options={"path": "db.t", "warehouse": "/w"}),
    "plan": PlanAnswer(function="ZnVuY3Rpb24=", partitions=["b25l", "dHdv"], scan=TOLD),
    "plan without files": PlanAnswer(function="", partitions=[], scan=NOTHING),
    "aggregates": AggregatesAnswer(values=[3, None, "1.50"], pin="cGlu"),
    "partial": PartialAnswer(pin="cGlu", size_bytes=12345678901, rows=42, plan=["cGxhbg=="]),
    "begin": BeginAnswer(function="ZnVuY3Rpb24=", partitions=["b25l", "dHdv"]),
    "dead_rows": DeadRowsAnswer(bits=["BQ=="]),
    "failure": Failure(error="StorageError: gone"),
}


@pytest.mark.parametrize("name", GOLDEN["questions"])
def test_python_reads_the_questions_of_the_golden_file(name: str) -> None:
    """And writes them, as tests do that have no JVM."""
    assert QUESTIONS[name] == read_question(json.dumps(GOLDEN["questions"][name]))
    assert GOLDEN["questions"][name] == json.loads(question_text(QUESTIONS[name]))


@pytest.mark.parametrize("name", GOLDEN["answers"])
def test_python_writes_the_answers_of_the_golden_file(name: str) -> None:
    """Every field of every record is in it."""
    assert GOLDEN["answers"][name] == json.loads(answer_text(ANSWERS[name]))


def test_python_understands_the_hints_of_the_golden_file() -> None:
    """Each alone, as a filter is printed."""
    table = table_of(columns_of(TYPES))

    assert [str(hinted_filter([hint], table)) for hint in GOLDEN["hints"]] == [
        "id = 5",
        "name starts with 'é' or name is not null or flag = True",
        "price in (Decimal('1.50'), Decimal('-0.01'))",
        r"raw > b'\x00\xff'",
    ]


@pytest.mark.parametrize(
    "question",
    [
        {"ask": "plan", "options": {}, "schema": {}, "scan": {}},
        {"ask": "dead_rows", "work": [], "more": 1},
        {"ask": "weather"},
        {"work": []},
    ],
)
def test_a_question_of_another_release_is_not_guessed(question: dict[str, Any]) -> None:
    """A session keeps the Java that it was registered with; a package may be installed anew."""
    with pytest.raises((KeyError, TypeError)):
        read_question(json.dumps(question))


def test_a_worker_is_asked_by_the_columns_that_it_must_return() -> None:
    """A scan that Spark plans by itself asks nothing."""
    asking = StructType.fromJson(COLUMNS.jsonValue())
    asking.fields[0].metadata = {QUESTION_KEY: json.dumps(asdict(SCAN))}

    assert asked_of_worker(asking) == SCAN
    assert asked_of_worker(COLUMNS) is None
    assert asked_of_worker(StructType()) is None


def test_long_bytes_travel_in_texts_that_any_json_takes() -> None:
    """Spark's refuses one of 20 M characters, which are the bits of 120 M rows."""
    data = bytes(range(256)) * 100_000

    texts = texts_of(data)

    assert max(map(len, texts)) < 20_000_000
    assert bytes_of(texts) == data
    assert texts_of(b"") == []


@pytest.mark.spark
def test_java_writes_the_questions_of_the_golden_file(java: Java) -> None:
    """Whatever Python must know to answer them."""
    columns = java.columns(COLUMNS)
    table = java.value({"path": "db.t"})
    told = java.value([["count(*)"], ["sum", "id"]])
    names, hints = java.value(["id"]), java.value(SCAN.hints)
    columns_of_it = (table, columns, columns, names, told, names, hints)
    partial = java.call("partial", *columns_of_it, True, 8, "3f2a", None, owner=OF_PARTS)
    asked = {
        "place": java.call("place", java.value({"path": "db.t", "snapshot-id": "5"})),
        "plan": java.call("plan", table, columns, java.scan(SCAN)),
        "plan of the first scan": java.call("plan", java.value({}), columns, java.scan(FIRST_SCAN)),
        "aggregates": java.call(
            "aggregates", table, columns, java.value([["count(*)"], ["max", "id"]]), "3f2a", None
        ),
        "partial": partial,
        "begin": java.call("begin", java.value(["cGxhbg=="]), owner=OF_PARTS),
        "dead_rows": java.call("deadRows", java.value(["d29y", "aw=="])),
    }

    assert {name: java.plain(question) for name, question in asked.items()} == GOLDEN["questions"]


@pytest.mark.spark
def test_java_writes_the_hints_of_the_golden_file(java: Java) -> None:
    """Chains are one list; what is not text has the form that its type asks for."""
    id_, name, flag, price, raw = (java.spark_column(each) for each in TYPES)
    true, five = java.literal(True), java.literal(5)
    prices = (java.literal(Decimal(text)) for text in ("1.50", "-0.01"))
    nothing = java.predicate("NOT", java.predicate("IS_NULL", name))
    chain = java.predicate("OR", nothing, java.predicate("<=>", flag, true))
    predicates = [
        java.predicate("=", id_, five),
        java.predicate("OR", java.predicate("STARTS_WITH", name, java.literal("é")), chain),
        java.predicate("IN", price, *prices),
        java.predicate(">", raw, java.literal(b"\x00\xff")),
    ]
    found = [java.plain(java.call("of", each, owner="Hints")) for each in predicates]

    assert found == GOLDEN["hints"]
    assert java.call("of", java.predicate("=", id_, java.literal(0.5)), owner="Hints") is None


@pytest.mark.spark
def test_java_reads_the_answers_of_the_golden_file(java: Java) -> None:
    """Its records have the fields of the golden file, no other, and their values."""
    answers = GOLDEN["answers"]

    for name in ("plan", "plan without files"):
        assert java.plain(java.made("PlanAnswer", answers[name])) == camel(answers[name])
    for name, record in (("partial", "PartialAnswer"), ("begin", "BeginAnswer")):
        parts = java.made(record, answers[name], owner=OF_PARTS)
        assert java.plain(parts) == camel(answers[name])
    told = answers["aggregates"]
    assert java.plain(java.made("AggregatesAnswer", told)) == camel(told)
    assert java.plain(java.call("placed", java.value(answers["place"]))) == {
        "path": "db.t",
        "warehouse": "/w",
    }
    assert java.plain(java.call("bits", java.value(answers["dead_rows"]))) == ["BQ=="]


@pytest.mark.spark
@pytest.mark.parametrize(
    "field",
    ["pin", "size_bytes", "merged", "paths", "field_ids", "row_counts", "verifies_pages"],
)
def test_java_refuses_an_answer_without_one_of_its_fields(java: Java, field: str) -> None:
    """It would read too little, or another state."""
    told = dict(GOLDEN["answers"]["plan"]["scan"])
    del told[field]

    with pytest.raises(Py4JJavaError, match=f"an answer of Python's without '{field}'"):
        java.made("ScanAnswer", told)


@pytest.mark.spark
def test_a_worker_and_java_understand_each_other(java: Java) -> None:
    """The question in the columns, and the answer in a pickle, whatever a path looks like."""
    asking = java.call("asking", java.columns(COLUMNS), java.scan(SCAN))
    pickled = pickle.dumps(InputPartition(answered_by_worker(TOLD)))

    assert asked_of_worker(StructType.fromJson(json.loads(asking.json()))) == SCAN
    assert java.plain(java.call("answered", bytearray(pickled))) == camel(
        GOLDEN["answers"]["plan"]["scan"]
    )


@pytest.mark.spark
def test_java_and_python_name_the_same_columns(java: Java) -> None:
    """Files with a column of such a name are not read by Spark, see ``plan_reader``."""
    names = ("FIRST_ROW", "ROWS", "ROW_INDEX")

    assert [java.constant("ParquetFiles", name) for name in names] == [
        FIRST_ROW_COLUMN,
        ROWS_COLUMN,
        ROW_INDEX_COLUMN,
    ]
    assert java.constant("Protocol", "QUESTION_KEY") == QUESTION_KEY


class Says:
    """What the JVM asks; it always says the same."""

    def __init__(self, answer: str | None) -> None:
        self._answer = answer

    def apply(self, question: str) -> str | None:
        """Answer."""
        return self._answer

    class Java:
        """The interface that Py4J gives it."""

        implements = ("java.util.function.Function",)


@pytest.mark.spark
def test_what_is_asked_may_have_no_answer_and_a_failure_is_the_querys(java: Java) -> None:
    """Asked or demanded."""
    question = java.call("place", java.value({}))

    assert java.call("asked", None, question) is None
    assert java.call("asked", Says(None), question) is None
    for how in ("asked", "demanded"):
        with pytest.raises(Py4JJavaError, match="IllegalArgumentException: StorageError: gone"):
            java.call(how, Says(json.dumps(GOLDEN["answers"]["failure"])), question)
