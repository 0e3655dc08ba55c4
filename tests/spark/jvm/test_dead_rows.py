"""The dead rows of files as tasks have them: fetched in pieces, whatever Spark compiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from arctic.spark.base.private_names import gateway, jvm
from arctic.spark.base.protocol import (
    DeadRowsAnswer,
    DeadRowsQuestion,
    answer_text,
    read_question,
    texts_of,
)
from tests.spark.jvm.java_half import Java
from tests.spark.lake import with_settings

pytestmark = pytest.mark.spark

PIECE = 2**25
"""Rows of a piece."""
HOWS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


class Planner:
    """Answers with bits, a share for each question."""

    def __init__(self, *shares: bytes) -> None:
        self.shares = shares
        self.asked: list[str] = []

    def apply(self, question: Any) -> str:
        """Return the bits of the share that is asked for."""
        asked = read_question(question)
        assert isinstance(asked, DeadRowsQuestion)
        self.asked += asked.work
        return answer_text(DeadRowsAnswer(bits=texts_of(self.shares[int(asked.work[0])])))

    class Java:
        """The interface that Py4J gives it."""

        implements = ("java.util.function.Function",)


def dead_rows(spark: SparkSession, java: Java, counts: Sequence[int], planner: Planner) -> Any:
    """Return the dead rows of files of so many rows."""
    ensure_callback_server_started(gateway(spark))  # type: ignore[no-untyped-call]
    work = [[str(share)] for share in range(len(planner.shares))]
    context = spark._jsc.sc()
    return java.new("DeadRows", java.value(list(counts)), java.value(work), planner, context)


def alive(spark: SparkSession, java: Java, dead: Any, first_row: int, rows: range) -> DataFrame:
    """Return the numbers of rows of a file that are left of some."""
    frame = spark.range(rows.start, rows.stop, 1, 2).selectExpr("id", f"{first_row}L AS first")
    plan = frame._jdf.queryExecution().analyzed()
    condition = java.new("IsAlive", dead, plan.output().apply(1), plan.output().apply(0))
    filtered = jvm(spark).org.apache.spark.sql.catalyst.plans.logical.Filter(condition, plan)
    classic = jvm(spark).org.apache.spark.sql.classic
    return DataFrame(classic.Dataset.ofRows(spark._jsparkSession, filtered), spark)


def bits_of(rows: int, *gone: int) -> bytes:
    """Return a bit for each row of a file."""
    bits = bytearray((rows + 7) // 8)
    for row in gone:
        bits[row // 8] |= 1 << row % 8
    return bytes(bits)


@pytest.mark.parametrize("how", [{}, *({key: HOWS[key]} for key in HOWS), HOWS], ids=str)
def test_rows_at_the_ends_of_files_pieces_and_shares(
    spark: SparkSession, java: Java, how: dict[str, str]
) -> None:
    """A file begins in one piece and ends in the next; a share ends with a file."""
    rows = (3, PIECE + 70, 9)
    gone = ({1}, {0, 1, PIECE - 9, PIECE - 8, PIECE - 7, PIECE + 69}, {0, 8})
    bits = [bits_of(count, *dead) for count, dead in zip(rows, gone, strict=True)]
    planner = Planner(b"".join(bits[:2]), bits[2])
    dead = dead_rows(spark, java, rows, planner)
    dead.find()
    dead.find()
    firsts = (0, 8, 8 + PIECE + 72)

    assert planner.asked == ["0", "1"]
    assert [dead.numbers(file) for file in range(3)] == [8, PIECE + 72, 16]
    with with_settings(spark, how):
        for first, count, expected in zip(firsts, rows, gone, strict=True):
            for ends in (range(min(count, 40)), range(max(0, count - 90), count)):
                left = alive(spark, java, dead, first, ends).collect()
                assert {row.id for row in left} == {*ends} - expected
        clean = alive(spark, java, dead, -1, range(20)).collect()
        assert len(clean) == 20


@pytest.mark.parametrize("bits", [b"\x00", b"\x00\x00\x00", b""], ids=len)
def test_another_number_of_bits_is_refused(spark: SparkSession, java: Java, bits: bytes) -> None:
    """Later rows would be taken for others."""
    dead = dead_rows(spark, java, [9], Planner(bits))

    with pytest.raises(Exception, match=f"{len(bits)} bytes of dead rows; expected 2"):
        dead.find()


def test_equal_work_is_an_equal_filter(spark: SparkSession, java: Java) -> None:
    """Other work is another one, whatever its files."""
    same = [dead_rows(spark, java, [9], Planner(b"\x00\x00")) for _ in range(2)]
    other = dead_rows(spark, java, [9], Planner(b"\x00", b"\x00"))
    frame = spark.range(9)
    index = frame._jdf.queryExecution().analyzed().output().apply(0)
    filters = [java.new("IsAlive", dead, index, index) for dead in (*same, other)]

    assert filters[0].equals(filters[1])
    assert filters[0].hashCode() == filters[1].hashCode()
    assert not filters[0].equals(filters[2])
    assert filters[0].semanticEquals(filters[1])


def test_dead_rows_that_stay_for_later_queries_keep_no_context_alive(
    spark: SparkSession, java: Java
) -> None:
    """One that has stopped may be large, and nobody reads what it has broadcast."""
    dead = dead_rows(spark, java, [8], Planner(b"\0"))
    kinds = {each.getType().getName() for each in dead.getClass().getDeclaredFields()}

    assert "org.apache.spark.SparkContext" not in kinds
    assert "java.util.List" in kinds


@pytest.mark.parametrize(
    ("files", "evenly"),
    [
        pytest.param([2**20], True, id="a small one"),
        pytest.param([2**20 + 1], False, id="a large one"),
        pytest.param([2**21, 2**21], True, id="two"),
        pytest.param([2**21] * 3, True, id="two of three for one of two cores"),
        pytest.param([2**22, 2**21], True, id="one of twice the rows"),
        pytest.param([2**22, 10, 10], False, id="nearly all in one"),
        pytest.param([10, 2**21, 2**21, 2**22], True, id="in any order"),
    ],
)
def test_files_are_whole_where_they_divide_evenly(
    spark: SparkSession, java: Java, files: list[int], evenly: bool
) -> None:
    """Or small; a large one is divided among cores, by the places of its rows."""
    assert spark.sparkContext.defaultParallelism == 2
    dead = dead_rows(spark, java, files, Planner())

    assert dead.divideEvenly() == evenly
