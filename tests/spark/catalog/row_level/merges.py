"""MERGE: every clause, and the sources that it takes."""

from __future__ import annotations

from tests.spark.catalog.row_level.case import ROWS, Case

MERGE = "MERGE INTO {t} t USING "
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
        keyless=[*ROWS, (2, "B", 200), (4, "d", 40)],
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
        keyless=[(2, "B", 200), (2, "B", 200), (4, "d", 40)],
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
