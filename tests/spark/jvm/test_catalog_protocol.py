"""What a catalog asks and is answered, each half held to one golden file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

import arctic
from arctic.spark.base.catalog_protocol import (
    DoneAnswer,
    FailureKind,
    NamesAnswer,
    ProcedureAnswer,
    PropertiesAnswer,
    RowsAnswer,
    SoughtAnswer,
    TableAnswer,
)
from arctic.spark.base.catalog_questions import CATALOG_QUESTIONS, AlterTableQuestion
from arctic.spark.base.protocol import QUESTIONS, Failure, answer_text, read_question
from arctic.spark.catalog import row_level
from arctic.spark.catalog.alter_table import altered
from tests.spark.jvm.java_half import Java, camel, camel_name, question_text

GOLDEN: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "catalog_protocol.json").read_text(encoding="utf-8")
)
ASKED: Mapping[str, Any] = GOLDEN["questions"]
ANSWERS: dict[str, type[Any]] = {
    "names": NamesAnswer,
    "table": TableAnswer,
    "past table": TableAnswer,
    "properties": PropertiesAnswer,
    "procedure": ProcedureAnswer,
    "rows": RowsAnswer,
    "done": DoneAnswer,
    "sought": SoughtAnswer,
    "failure": Failure,
}
HALVES = {"Protocol", "PartialProtocol", "catalog/CatalogQuestions", "catalog/CatalogProtocol"}


@pytest.mark.parametrize("name", ASKED)
def test_python_reads_what_the_golden_file_asks(name: str) -> None:
    """With every field of its record, and with no other."""
    question = read_question(json.dumps(ASKED[name]))

    assert type(question) is QUESTIONS[ASKED[name]["ask"]]
    assert json.loads(question_text(question)) == ASKED[name]
    with pytest.raises(TypeError):
        read_question(json.dumps({**ASKED[name], "more": 1}))


def test_the_golden_file_has_every_question_and_every_failure() -> None:
    """By one word each."""
    assert {asked["ask"] for asked in ASKED.values()} == set(CATALOG_QUESTIONS)
    assert CATALOG_QUESTIONS.items() <= QUESTIONS.items()
    assert set(GOLDEN["failures"]) == {kind.value for kind in FailureKind}


@pytest.mark.parametrize("name", ANSWERS)
def test_python_writes_the_answers_that_the_golden_file_has(name: str) -> None:
    """Every field of every record is in it."""
    told = GOLDEN["answers"][name]

    assert json.loads(answer_text(ANSWERS[name](**told))) == told
    assert set(ANSWERS) == set(GOLDEN["answers"])


def test_python_makes_the_changes_of_the_golden_file(tmp_path: Path) -> None:
    """All kinds that there are, of a real table."""
    columns = {"id": pa.int64(), "v": pa.string(), "count": pa.int32(), "gone": pa.string()}
    required = pa.field("price", pa.float64(), nullable=False)
    arctic.create_table(
        "shop.orders",
        pa.schema([*columns.items(), required]),
        primary_key=["id"],
        properties={"other": "y"},
        warehouse=str(tmp_path),
    )
    catalog, name = {"warehouse": str(tmp_path)}, ["shop", "orders"]
    answer = altered(
        AlterTableQuestion(catalog=catalog, name=name, changes=GOLDEN["changes"], of_pipeline=False)
    )

    assert [(each["name"], each["type"], each["nullable"]) for each in answer.schema["fields"]] == [
        ("price", "double", True),
        ("id", "long", False),
        ("note", "string", True),
        ("value", "string", True),
        ("count", "long", True),
    ]
    assert answer.properties["mine"] == "x"
    assert "other" not in answer.properties
    comments = {each["name"]: each["metadata"].get("comment") for each in answer.schema["fields"]}
    assert (comments["id"], comments["note"]) == ("of the order", "of the buyer")


def test_java_knows_these_words_in_its_halves_alone() -> None:
    """Elsewhere a field that got another name would be found by nobody."""
    words = {field.name for kind in QUESTIONS.values() for field in fields(kind)}
    words |= {field.name for kind in ANSWERS.values() for field in fields(kind)}
    words |= {word for change in GOLDEN["changes"] for word in change}
    words.remove("options")  # of anything, not of a question alone
    spoken = re.compile(rf'\b(?:put|get|needed)\((?:told, )?"(?:ask|{"|".join(words)})"')
    sources = Path(str(files("arctic.spark.jvm") / "sources"))
    found = {
        path.relative_to(sources).with_suffix("").as_posix()
        for path in sources.rglob("*.java")
        if spoken.search(path.read_text(encoding="utf-8"))
    }

    assert found == HALVES


def test_a_source_is_of_few_rows_for_both_halves_alike() -> None:
    """Spark puts the rows of one into the plan of a MERGE, Arctic merges one by itself."""
    source = Path(str(files("arctic.spark.jvm") / "sources/catalog/SmallSource.java"))
    found = re.findall(r"int MOST_ROWS = (\d+);", source.read_text(encoding="utf-8"))

    assert [int(text) for text in found] == [row_level.MOST_WIDE_ROWS]


@pytest.mark.spark
def test_java_writes_the_questions_that_the_golden_file_has(java: Java) -> None:
    """Whatever Python must know to answer them."""
    made = {name: java.plain(_asked(java, name)) for name in ASKED}

    assert made == ASKED


def _asked(java: Java, name: str) -> Any:
    """Have Java ask with the values of a question, in the order that the golden file has."""
    asked = dict(ASKED[name])
    ask = asked.pop("ask")
    if ask == "create_table":
        asked["constraints"] = [
            java.plain(_say(java, "constraint", *each.values())) for each in asked["constraints"]
        ]
    elif ask == "row_level":
        options = asked.pop("options")
        asked = {"options": options, "command": java.plain(_say(java, "command", *asked.values()))}
    return _say(java, camel_name(ask), *asked.values())


def _say(java: Java, word: str, *values: Any) -> Any:
    given = [java.value(value) for value in values]
    return java.call(word, *given, owner="catalog.CatalogQuestions")


@pytest.mark.spark
def test_java_writes_the_changes_that_the_golden_file_has(java: Java) -> None:
    """Made of what Spark asks for."""
    change, types = java.changes, java.types.DataTypes
    place = change.ColumnPosition
    changes = [
        change.setProperty("mine", "x"),
        change.removeProperty("other"),
        change.addColumn(
            java.names("note"), types.StringType, True, "of the buyer", place.after("id"), None
        ),
        change.renameColumn(java.names("v"), "value"),
        change.updateColumnType(java.names("count"), types.LongType),
        change.updateColumnNullability(java.names("price"), True),
        change.updateColumnComment(java.names("id"), "of the order"),
        change.updateColumnPosition(java.names("price"), place.first()),
        change.deleteColumn(java.names("gone"), True),
        change.clusterBy(java.references("id", "price")),
    ]
    told = java.call("told", java.array(change, changes), owner="catalog.Changes")

    assert java.plain(told) == GOLDEN["changes"]


@pytest.mark.spark
def test_java_reads_the_answers_that_the_golden_file_has(java: Java) -> None:
    """Its records have the fields of the golden file, no other, and their values."""
    answers, owner = GOLDEN["answers"], "catalog.CatalogProtocol"
    records = {
        "table": "TableAnswer",
        "past table": "TableAnswer",
        "procedure": "ProcedureAnswer",
        "rows": "RowsAnswer",
        "sought": "SoughtAnswer",
    }
    read = {
        name: java.plain(java.made(record, answers[name], owner=owner))
        for name, record in records.items()
    }
    words = {
        word: java.plain(java.call(word, java.value(answers[name]), owner=owner))
        for name, word in (
            ("names", "names"),
            ("properties", "properties"),
            ("done", "found"),
            ("failure", "error"),
            ("failure", "kind"),
        )
    }

    assert read == {name: camel(answers[name]) for name in records}
    assert words == {
        **answers["names"],
        **answers["properties"],
        **answers["done"],
        **answers["failure"],
    }


@pytest.mark.spark
def test_java_refuses_a_table_without_one_of_its_fields(java: Java) -> None:
    """But two, which may be nothing."""
    told = GOLDEN["answers"]["table"]
    for field in fields(TableAnswer):
        left = {name: value for name, value in told.items() if name != field.name}
        if field.name in ("refused_commands", "staged"):
            java.made("TableAnswer", left, owner="catalog.CatalogProtocol")
            continue
        with pytest.raises(Py4JJavaError, match=f"an answer of Python's without '{field.name}'"):
            java.made("TableAnswer", left, owner="catalog.CatalogProtocol")


@pytest.mark.spark
def test_java_throws_a_failure_as_what_spark_calls_it(java: Java) -> None:
    """Spark acts on some of them, as CREATE TABLE IF NOT EXISTS does."""
    name = java.names("shop", "orders")
    thrown = {
        kind: java.call("thrown", kind, "gone", name, owner="catalog.Answers")
        for kind in GOLDEN["failures"]
    }

    assert {kind: error.getClass().getSimpleName() for kind, error in thrown.items()} == GOLDEN[
        "failures"
    ]
