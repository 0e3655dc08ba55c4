"""DELETE, UPDATE and MERGE as other formats test them: rows, a statement, the rows after it.

A case costs one statement: rows are put there and read back without Spark.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic
from arctic.job.edit import small_edit
from tests.spark.catalog.row_level import (
    deletes,
    iceberg,
    merge_evolution,
    merge_more,
    merge_refusals,
    merges,
    updates,
)
from tests.spark.catalog.row_level.case import KEYLESS, TABLES, VIEWS, Case, Row
from tests.spark.catalog.small_plans import small_plans
from tests.spark.lake import with_settings

pytestmark = pytest.mark.spark
MERGES = [*merges.MERGES, *merge_more.MERGES, *merge_refusals.MERGES]
# What Spark refuses before it looks at a table is the same for any.
WITHOUT_KEY = [
    pytest.param(case.without_key(), id=f"{command}, {case.id}")
    for command in ("DELETE", "UPDATE", "MERGE")
    for case in iceberg.CASES[command]
    if (case.rows, case.keyless) != (None, None) or case.error.endswith("VIOLATION")
]
EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 8

BY_TASKS = [
    pytest.param(case, id=f"{name}, {case.id}")
    for name, cases in (
        ("DELETE", deletes.DELETES),
        ("UPDATE", updates.UPDATES),
        ("MERGE", merges.MERGES),
    )
    for case in cases
][::EVERY]


class Lake:
    """The tables of the cases, made once."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def put(self, case: Case, name: str) -> None:
        """Let a table hold the rows that a case begins with."""
        schema = TABLES[case.table]["schema"]
        per_file = -(-len(case.start) // case.commits) or 1
        for at in range(0, len(case.start) or 1, per_file):
            part = case.start[at : at + per_file]
            columns = list(zip(*part, strict=True)) or [()] * len(schema)
            arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
            later = "append" if name.endswith(KEYLESS) else "upsert"
            mode = later if at else "overwrite"
            arctic.write(f"cases.{name}", pa.table(arrays, schema=schema), mode=mode)

    def rows(self, table: str) -> list[Row]:
        """Return the rows as a reader without Spark sees them."""
        found = arctic.read(f"cases.{table}").read_all().to_pylist()
        return [tuple(row.values()) for row in found]

    def check(self, case: Case, name: str | None = None) -> None:
        """Put rows there, run the statement, and look."""
        name = name or case.table
        self.put(case, name)
        commits = arctic.open_table(f"cases.{name}").history().num_rows
        statement = case.sql.format(t=f"arctic.cases.{name}")
        with with_settings(self.spark, case.settings):
            if case.rows is None:
                with pytest.raises(PySparkException) as caught:
                    self.spark.sql(statement).collect()
                assert case.error in str(caught.value)
                assert "Traceback" not in str(caught.value)
            else:
                self.spark.sql(statement).collect()
        expected = case.start if case.rows is None else case.rows
        found = self.rows(name)
        assert sorted(found, key=repr) == sorted(expected, key=repr), textwrap.fill(statement)
        # What changes nothing need not be a commit; what is refused is none.
        more = arctic.open_table(f"cases.{name}").history().num_rows - commits
        assert more <= (0 if case.rows is None else 1)


@pytest.fixture(scope="module")
def cases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """With views for the statements."""
    with pytest.MonkeyPatch.context() as patch, small_plans(spark):
        patch.setenv("ARCTIC_WAREHOUSE", str(tmp_path_factory.mktemp("cases")))
        for name, made in TABLES.items():
            arctic.create_table(f"cases.{name}", **made)
        for name, query in VIEWS.items():
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        yield Lake(spark)
        for name in VIEWS:
            spark.catalog.dropTempView(name)


@pytest.mark.parametrize("case", deletes.DELETES, ids=lambda case: case.id)
def test_delete(cases: Lake, case: Case) -> None:
    """Of rows for which a condition is true."""
    cases.check(case)


@pytest.mark.parametrize("case", updates.UPDATES, ids=lambda case: case.id)
def test_update(cases: Lake, case: Case) -> None:
    """Of rows for which a condition is true, with values of before."""
    cases.check(case)


@pytest.mark.parametrize("case", BY_TASKS)
def test_a_statement_does_the_same_by_tasks(
    cases: Lake, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one process would have to read too much for it."""
    monkeypatch.setattr(small_edit, "MOST_ROWS", -1)
    cases.check(case)


@pytest.mark.parametrize("case", MERGES, ids=lambda case: case.id)
def test_merge(cases: Lake, case: Case) -> None:
    """Of a source, by every clause."""
    cases.check(case)


@pytest.mark.parametrize("case", WITHOUT_KEY[::EVERY])
def test_a_statement_does_the_same_without_a_key(cases: Lake, case: Case) -> None:
    """Rows are a bag then: two may be alike, in a key that was one too."""
    cases.check(case)


@pytest.mark.parametrize("case", merge_evolution.EVOLUTIONS, ids=lambda case: case.id)
def test_merge_with_schema_evolution(cases: Lake, case: Case) -> None:
    """In a table of its own, whose columns change."""
    name = f"grown{merge_evolution.EVOLUTIONS.index(case)}"
    arctic.create_table(f"cases.{name}", **TABLES[case.table])
    cases.check(case, name)


@pytest.mark.parametrize("name", iceberg.ALL)
def test_every_case_of_others_is_one_of_these(name: str) -> None:
    """By its id, or as a test of its own."""
    numbered = {case.id for case in iceberg.CASES[name]}
    ours = numbered | {id_.rstrip("0123456789 ") for id_ in numbered}
    files = (path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py"))
    tests = "".join(files)
    shown = [each for value in iceberg.ALL[name].values() for each in iceberg.named(value)]

    assert [each for each in shown if each not in ours and f"def {each}(" not in tests] == []
