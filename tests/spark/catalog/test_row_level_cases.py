"""DELETE, UPDATE and MERGE as other formats test them: rows, a statement, the rows after it.

A case costs one statement: rows are put there and read back without Spark.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic

pytestmark = pytest.mark.spark

PLAIN = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.int32())]
)
NESTED = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("s", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("xs", pa.list_(pa.int32())),
    ]
)
TABLES: dict[str, dict[str, Any]] = {
    "keyed": {"schema": PLAIN, "primary_key": ["id"]},
    "parted": {"schema": PLAIN, "primary_key": ["id"], "partition_by": ["v"]},
    "pairs": {
        "schema": pa.schema([field.with_nullable(field.name == "n") for field in PLAIN]),
        "primary_key": ["id", "v"],
    },
    "nested": {"schema": NESTED, "primary_key": ["id"]},
}
ROWS = [(1, "a", 10), (2, "b", 20), (3, None, 30)]
VIEWS = {
    "news": "SELECT * FROM VALUES (2L, 'B', 200), (4L, 'd', 40) AS s(id, v, n)",
    "ops": "SELECT * FROM VALUES (1L, 'D', 0), (2L, 'U', 5), (4L, 'I', 6) AS s(id, op, n)",
    "ids": "SELECT * FROM VALUES (1L), (null) AS s(id)",
    "none": "SELECT * FROM VALUES (1L, 'x', 1) AS s(id, v, n) WHERE id > 5",
}
MERGE = "MERGE INTO {t} t USING "


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One statement."""

    id: str
    sql: str
    """``{t}`` is the table."""
    rows: list[tuple[Any, ...]] | None = None
    """After it, in order; None: it is refused."""
    error: str = ""
    """What the refusal says."""
    table: str = "keyed"
    before: list[tuple[Any, ...]] | None = None
    """None: ``ROWS``."""


DELETES = [
    Case(id="by key", sql="DELETE FROM {t} WHERE id = 2", rows=[ROWS[0], ROWS[2]]),
    Case(id="by several keys", sql="DELETE FROM {t} WHERE id IN (1, 3, 9)", rows=[ROWS[1]]),
    Case(id="null is not equal", sql="DELETE FROM {t} WHERE v <> 'a'", rows=[ROWS[0], ROWS[2]]),
    Case(id="null in a list", sql="DELETE FROM {t} WHERE v IN ('a', null)", rows=ROWS[1:]),
    Case(id="null outside a list", sql="DELETE FROM {t} WHERE v NOT IN ('a', null)", rows=ROWS),
    Case(id="is null", sql="DELETE FROM {t} WHERE v IS NULL", rows=ROWS[:2]),
    Case(id="null safe", sql="DELETE FROM {t} WHERE v <=> null", rows=ROWS[:2]),
    Case(id="with an alias", sql="DELETE FROM {t} AS x WHERE x.n >= 20", rows=ROWS[:1]),
    Case(id="nothing found", sql="DELETE FROM {t} WHERE id > 100", rows=ROWS),
    Case(id="never true", sql="DELETE FROM {t} WHERE CAST(null AS BOOLEAN)", rows=ROWS),
    Case(id="an empty table", sql="DELETE FROM {t} WHERE id > 0", before=[], rows=[]),
    Case(id="all", sql="DELETE FROM {t}", rows=[]),
    Case(id="in a query", sql="DELETE FROM {t} WHERE id IN (SELECT id FROM ids)", rows=ROWS[1:]),
    Case(id="not in nulls", sql="DELETE FROM {t} WHERE id NOT IN (SELECT id FROM ids)", rows=ROWS),
    Case(
        id="not in a query",
        sql="DELETE FROM {t} WHERE id NOT IN (SELECT id FROM news)",
        rows=[ROWS[1]],
    ),
    Case(
        id="exists",
        sql="DELETE FROM {t} t WHERE EXISTS (SELECT 1 FROM news s WHERE s.id = t.id AND s.n > t.n)",
        rows=[ROWS[0], ROWS[2]],
    ),
    Case(
        id="not exists",
        sql="DELETE FROM {t} t WHERE NOT EXISTS (SELECT 1 FROM news s WHERE s.id = t.id)",
        rows=[ROWS[1]],
    ),
    Case(
        id="a scalar query of itself",
        sql="DELETE FROM {t} WHERE n = (SELECT max(n) FROM {t})",
        rows=ROWS[:2],
    ),
    Case(
        id="two columns in a query",
        sql="DELETE FROM {t} WHERE (id, n) IN (SELECT id, n / 10 FROM news)",
        rows=[ROWS[0], ROWS[2]],
    ),
    Case(
        id="whole partitions",
        table="parted",
        sql="DELETE FROM {t} WHERE v = 'a' OR v IS NULL",
        rows=[ROWS[1]],
    ),
    Case(
        id="a key of two columns",
        table="pairs",
        before=[(1, "a", 1), (1, "b", 2)],
        sql="DELETE FROM {t} WHERE v = 'b'",
        rows=[(1, "a", 1)],
    ),
    Case(
        id="by a nested field",
        table="nested",
        before=[(1, {"a": 1, "b": "x"}, [1]), (2, {"a": 2, "b": None}, None)],
        sql="DELETE FROM {t} WHERE s.a = 1 AND size(xs) = 1",
        rows=[(2, {"a": 2, "b": None}, None)],
    ),
    Case(id="an unknown column", sql="DELETE FROM {t} WHERE no = 1", error="UNRESOLVED_COLUMN"),
    Case(
        id="an aggregate", sql="DELETE FROM {t} WHERE max(id) = 1", error="INVALID_WHERE_CONDITION"
    ),
]
UPDATES = [
    Case(
        id="every row",
        sql="UPDATE {t} SET n = n + id",
        rows=[(1, "a", 11), (2, "b", 22), (3, None, 33)],
    ),
    Case(
        id="columns swapped with old values",
        sql="UPDATE {t} SET v = CAST(n AS STRING), n = length(v) WHERE id < 3",
        rows=[(1, "10", 1), (2, "20", 1), ROWS[2]],
    ),
    Case(
        id="to null and to a default",
        sql="UPDATE {t} SET v = null, n = DEFAULT WHERE id = 1",
        rows=[(1, None, None), *ROWS[1:]],
    ),
    Case(id="nothing found", sql="UPDATE {t} SET n = 0 WHERE id > 9", rows=ROWS),
    Case(
        id="with an alias",
        sql="UPDATE {t} AS x SET x.n = 0 WHERE x.v IS NULL",
        rows=[*ROWS[:2], (3, None, 0)],
    ),
    Case(
        id="in a query",
        sql="UPDATE {t} SET n = -1 WHERE id IN (SELECT id FROM news)",
        rows=[ROWS[0], (2, "b", -1), ROWS[2]],
    ),
    Case(
        id="exists",
        sql="UPDATE {t} t SET n = -1 WHERE EXISTS (SELECT 1 FROM ids s WHERE s.id = t.id)",
        rows=[(1, "a", -1), *ROWS[1:]],
    ),
    Case(
        id="not in nulls",
        sql="UPDATE {t} SET n = -1 WHERE id NOT IN (SELECT id FROM ids)",
        rows=ROWS,
    ),
    Case(
        id="to a scalar query of itself",
        sql="UPDATE {t} SET n = (SELECT sum(n) FROM {t}) WHERE v = 'a'",
        rows=[(1, "a", 60), *ROWS[1:]],
    ),
    Case(
        id="keys rotate",
        sql="UPDATE {t} SET id = id % 3 + 1",
        rows=[(1, None, 30), (2, "a", 10), (3, "b", 20)],
    ),
    Case(
        id="of partitions",
        table="parted",
        sql="UPDATE {t} SET v = 'z' WHERE n > 10",
        rows=[ROWS[0], (2, "z", 20), (3, "z", 30)],
    ),
    Case(
        id="part of a key",
        table="pairs",
        before=[(1, "a", 1), (1, "b", 2)],
        sql="UPDATE {t} SET v = IF(v = 'a', 'b', 'a')",
        rows=[(1, "a", 2), (1, "b", 1)],
    ),
    Case(
        id="a nested field",
        table="nested",
        before=[(1, {"a": 1, "b": "x"}, [1])],
        sql="UPDATE {t} SET s.a = s.a + 1, xs = array(5, 6)",
        rows=[(1, {"a": 2, "b": "x"}, [5, 6])],
    ),
    Case(
        id="one key for two", sql="UPDATE {t} SET id = 7", error="several rows have the key (id=7)"
    ),
    Case(id="a stored key", sql="UPDATE {t} SET id = 3 WHERE id = 1", error="is there already"),
    Case(id="a null key", sql="UPDATE {t} SET id = null", error="NOT_NULL_ASSERT_VIOLATION"),
    Case(id="twice a column", sql="UPDATE {t} SET n = 1, n = 2", error="ssignments"),
    Case(id="another type", sql="UPDATE {t} SET n = 'x'", error="CANNOT_SAFELY_CAST"),
    Case(id="too large", sql="UPDATE {t} SET n = 9999999999", error="CAST_OVERFLOW"),
]
ON = " s ON t.id = s.id "
STARS = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
MERGES = [
    Case(
        id="stars",
        sql=MERGE + "news" + ON + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="all clauses",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN MATCHED AND s.n > 100 THEN UPDATE SET n = 0 "
        "WHEN MATCHED THEN UPDATE SET n = t.n + s.n "
        "WHEN NOT MATCHED AND s.n > 100 THEN INSERT (id) VALUES (s.id) "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.op) "
        "WHEN NOT MATCHED BY SOURCE AND t.n > 100 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'left'",
        rows=[(2, "b", 25), (3, "left", 30), (4, "I", None)],
    ),
    Case(
        id="the first clause that is true",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND s.n >= 0 THEN UPDATE SET v = 'first' "
        "WHEN MATCHED THEN DELETE",
        rows=[(1, "first", 10), (2, "first", 20), ROWS[2]],
    ),
    Case(
        id="an unknown condition is not true",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND null THEN DELETE "
        "WHEN NOT MATCHED AND null THEN INSERT (id) VALUES (s.id)",
        rows=ROWS,
    ),
    Case(
        id="only what the source lacks",
        sql=MERGE + "news" + ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        rows=[ROWS[1]],
    ),
    Case(id="an empty source", sql=MERGE + "none" + ON + STARS, rows=ROWS),
    Case(
        id="into an empty table",
        before=[],
        sql=MERGE + "news" + ON + STARS,
        rows=[(2, "B", 200), (4, "d", 40)],
    ),
    Case(
        id="inserts alone",
        sql=MERGE + "news" + ON + "WHEN NOT MATCHED THEN INSERT *",
        rows=[*ROWS, (4, "d", 40)],
    ),
    Case(
        id="several inserts",
        before=[],
        sql=MERGE + "news" + ON + "WHEN NOT MATCHED AND s.n > 100 THEN INSERT (id, n) "
        "VALUES (s.id, 1) WHEN NOT MATCHED THEN INSERT (n, id) VALUES (2, s.id)",
        rows=[(2, None, 1), (4, None, 2)],
    ),
    Case(
        id="deletes alone",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN DELETE",
        rows=[ROWS[0], ROWS[2]],
    ),
    Case(
        id="conditional deletes alone",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND s.op = 'D' THEN DELETE",
        rows=ROWS[1:],
    ),
    Case(
        id="upserts under one condition",
        sql=MERGE + "news" + ON + "WHEN MATCHED AND s.n > 100 THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.n > 100 THEN INSERT *",
        rows=[ROWS[0], (2, "B", 200), ROWS[2]],
    ),
    Case(
        id="updates that insert nothing",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET *",
        rows=[ROWS[0], (2, "B", 200), ROWS[2]],
    ),
    Case(
        id="an update and an insert of other values",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET n = s.n "
        "WHEN NOT MATCHED THEN INSERT *",
        rows=[ROWS[0], (2, "b", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="a condition beside the key",
        sql=MERGE + "news s ON t.id = s.id AND t.v = 'b' " + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="a condition of the source beside the key",
        sql=MERGE + "news s ON t.id = s.id AND s.n < 100 " + STARS,
        error="(id=2) is there already",
    ),
    Case(
        id="never equal",
        sql=MERGE + "news s ON false WHEN NOT MATCHED AND s.id = 4 THEN INSERT *",
        rows=[*ROWS, (4, "d", 40)],
    ),
    Case(
        id="by another column",
        sql=MERGE + "news s ON t.n * 10 = s.n WHEN MATCHED THEN UPDATE SET t.v = s.v",
        rows=[ROWS[0], (2, "B", 20), ROWS[2]],
    ),
    Case(
        id="keys of another type",
        sql=MERGE + "(SELECT CAST(id AS INT) id, v, n FROM news)" + ON + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="columns in another order",
        sql=MERGE + "(SELECT n, v, id FROM news)" + ON + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="itself",
        sql=MERGE + "{t}" + ON + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET n = s.n + 1 "
        "WHEN MATCHED AND t.id = 2 THEN DELETE",
        rows=[(1, "a", 11), ROWS[2]],
    ),
    Case(
        id="itself with all columns",
        sql=MERGE + "(SELECT id, 'x' AS v, n + 1 AS n FROM {t})" + ON + STARS,
        rows=[(1, "x", 11), (2, "x", 21), (3, "x", 31)],
    ),
    Case(
        id="a grouped source",
        sql=MERGE
        + "(SELECT id, max(n) AS n FROM (SELECT * FROM news UNION ALL SELECT * FROM news) "
        "GROUP BY id)" + ON + "WHEN MATCHED THEN UPDATE SET n = s.n",
        rows=[ROWS[0], (2, "b", 200), ROWS[2]],
    ),
    Case(
        id="a common table expression that is read twice",
        sql="WITH r AS (SELECT id, v, n FROM news) "
        + MERGE
        + "(SELECT * FROM r WHERE id IN (SELECT id FROM r))"
        + ON
        + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="keys that change",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET t.id = s.id + 10, n = s.n "
        "WHEN NOT MATCHED THEN INSERT *",
        rows=[ROWS[0], ROWS[2], (4, "d", 40), (12, "b", 200)],
    ),
    Case(
        id="a partition and all columns",
        table="parted",
        sql=MERGE + "news" + ON + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="a partition that is read",
        table="parted",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.op) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'none'",
        rows=[(2, "bU", 20), (3, "none", 30)],
    ),
    Case(
        id="a key of two columns",
        table="pairs",
        before=[(2, "B", 1), (2, "C", 2)],
        sql=MERGE + "news s ON s.v = t.v AND t.id = s.id " + STARS,
        rows=[(2, "B", 200), (2, "C", 2), (4, "d", 40)],
    ),
    Case(
        id="half a key of two columns",
        table="pairs",
        before=[(2, "B", 1), (2, "C", 2)],
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET n = s.n",
        rows=[(2, "B", 200), (2, "C", 200)],
    ),
    Case(
        id="half a key that would be one",
        table="pairs",
        before=[(2, "x", 1), (2, "y", 2)],
        sql=MERGE + "news" + ON + STARS,
        error="several rows have the key (id=2, v='B')",
    ),
    Case(
        id="nested values",
        table="nested",
        before=[(1, {"a": 1, "b": "x"}, [1])],
        sql=MERGE
        + "(SELECT id, named_struct('a', 7, 'b', op) s, array(n) xs FROM ops)"
        + ON
        + "WHEN MATCHED THEN UPDATE SET t.s.a = s.s.a WHEN NOT MATCHED AND s.id < 4 THEN INSERT *",
        rows=[(1, {"a": 7, "b": "x"}, [1]), (2, {"a": 7, "b": "U"}, [5])],
    ),
    Case(
        id="several rows for one",
        sql=MERGE
        + "(SELECT * FROM news UNION ALL SELECT * FROM news)"
        + ON
        + "WHEN MATCHED THEN UPDATE SET n = s.n",
        error="MERGE_CARDINALITY_VIOLATION",
    ),
    Case(
        id="several rows that delete one",
        sql=MERGE
        + "(SELECT * FROM news UNION ALL SELECT * FROM news)"
        + ON
        + "WHEN MATCHED THEN DELETE",
        rows=[ROWS[0], ROWS[2]],
    ),
    Case(
        id="a null key of the source",
        sql=MERGE + "(SELECT id, 'x' v, 1 n FROM ids)" + ON + STARS,
        error="NOT_NULL_ASSERT_VIOLATION",
    ),
    Case(
        id="a null key that deletes nothing",
        sql=MERGE + "ids" + ON + "WHEN MATCHED THEN DELETE",
        rows=ROWS[1:],
    ),
    Case(
        id="a source without a column",
        sql=MERGE + "ops" + ON + STARS,
        error="UNRESOLVED_COLUMN",
    ),
    Case(
        id="twice a column",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET n = 1, n = 2",
        error="ssignments",
    ),
    Case(
        id="an aggregate in a condition",
        sql=MERGE + "news" + ON + "WHEN MATCHED AND max(s.n) > 1 THEN DELETE",
        error="UNSUPPORTED_MERGE_CONDITION",
    ),
]


class Lake:
    """The tables of the cases, made once."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def check(self, case: Case) -> None:
        """Put rows there, run the statement, and look."""
        name = f"cases.{case.table}"
        schema = TABLES[case.table]["schema"]
        before = ROWS if case.before is None else case.before
        columns = list(zip(*before, strict=True)) or [()] * len(schema)
        arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
        arctic.write(name, pa.table(arrays, schema=schema), mode="overwrite")
        commits = arctic.open_table(name).history().num_rows
        statement = case.sql.format(t=f"arctic.{name}")
        if case.rows is None:
            with pytest.raises(PySparkException) as caught:
                self.spark.sql(statement).collect()
            assert case.error in str(caught.value)
            assert "Traceback" not in str(caught.value)
        else:
            self.spark.sql(statement).collect()
        expected = before if case.rows is None else case.rows
        found = [tuple(row.values()) for row in arctic.read(name).read_all().to_pylist()]
        assert sorted(found, key=repr) == sorted(expected, key=repr), textwrap.fill(statement)
        # What changes nothing need not be a commit; what is refused is none.
        more = arctic.open_table(name).history().num_rows - commits
        assert more <= (0 if case.rows is None else 1)


@pytest.fixture(scope="module")
def cases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """With views for the statements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCTIC_WAREHOUSE", str(Path(tmp_path_factory.mktemp("cases"))))
        for name, made in TABLES.items():
            arctic.create_table(f"cases.{name}", **made)
        for name, query in VIEWS.items():
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        yield Lake(spark)
        for name in VIEWS:
            spark.catalog.dropTempView(name)


@pytest.mark.parametrize("case", DELETES, ids=lambda case: case.id)
def test_delete(cases: Lake, case: Case) -> None:
    """Of rows for which a condition is true."""
    cases.check(case)


@pytest.mark.parametrize("case", UPDATES, ids=lambda case: case.id)
def test_update(cases: Lake, case: Case) -> None:
    """Of rows for which a condition is true, with values of before."""
    cases.check(case)


@pytest.mark.parametrize("case", MERGES, ids=lambda case: case.id)
def test_merge(cases: Lake, case: Case) -> None:
    """Of a source, by every clause."""
    cases.check(case)
