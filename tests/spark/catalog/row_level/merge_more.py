"""MERGE: rows that match by no key, or not at all, and rows that match several times."""

from __future__ import annotations

from tests.spark.catalog.row_level.case import (
    CREW,
    MANY_TASKS,
    ROWS,
    SKEWED_TASKS,
    STARTS,
    Case,
    day,
)
from tests.spark.catalog.row_level.merges import MERGE, ON, STARS

EACH = (
    "WHEN MATCHED AND t.id = 2 THEN UPDATE SET * WHEN MATCHED AND t.id = 1 THEN DELETE "
    "WHEN NOT MATCHED AND s.id = 4 THEN INSERT *"
)
ALL = "(SELECT 1L id, 'A' v, 100 n UNION ALL SELECT * FROM news UNION ALL SELECT 9L, 'i', 9)"
TWICE = "MERGE_CARDINALITY_VIOLATION"
CHANGE = "WHEN MATCHED AND t.id = 1 THEN UPDATE SET id = 1000 "
REMOVE = "WHEN MATCHED AND t.id = 3 THEN DELETE "
ADD = "WHEN NOT MATCHED AND s.id = 7 THEN INSERT (id, v) VALUES (s.id, null)"
NUMBERS = " s ON t.no = s.no "


def _each(table: str) -> Case:
    """Return the same for tables with partitions of each kind."""
    return Case(
        id=f"each clause with a condition, {table}",
        table=table,
        sql=MERGE + ALL + ON + EACH,
        rows=[(2, "B", 200), ROWS[2], (4, "d", 40)],
    )


MERGES = [
    *map(_each, ["keyed", "parted", "bucketed", "cut", "sorted"]),
    Case(
        id="each clause with a condition, days",
        table="days",
        sql=MERGE + f"(SELECT id, timestamp_seconds(id * 86400) at FROM {ALL})" + ON + EACH,
        rows=[(2, day(2)), STARTS["days"][2], (4, day(4))],
    ),
    Case(
        id="each clause with a condition, required columns",
        table="strict",
        sql=MERGE + f"(SELECT id, v FROM {ALL})" + ON + EACH,
        rows=[(2, "B"), (4, "d")],
    ),
    Case(
        id="each clause with its columns",
        sql=MERGE + ALL + ON + "WHEN MATCHED AND t.id = 2 THEN UPDATE SET t.id = s.id, t.v = s.v "
        "WHEN MATCHED AND t.id = 1 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 4 THEN INSERT (t.id, t.v) VALUES (s.id, s.v)",
        rows=[(2, "B", 20), ROWS[2], (4, "d", None)],
    ),
    Case(
        id="a column of some, and an insert of constants",
        table="parted",
        sql=MERGE + ALL + ON + "WHEN MATCHED AND t.id = 2 THEN UPDATE SET t.n = s.n "
        "WHEN MATCHED AND t.id = 1 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 4 THEN INSERT (id, n, v) VALUES (s.id, s.n, 'new')",
        rows=[(2, "b", 200), ROWS[2], (4, "new", 40)],
    ),
    Case(
        id="an update of some",
        sql=MERGE + ALL + ON + "WHEN MATCHED AND t.id = 2 THEN UPDATE SET *",
        rows=[ROWS[0], (2, "B", 200), ROWS[2]],
    ),
    Case(
        id="a delete of some of the table",
        sql=MERGE + ALL + ON + "WHEN MATCHED AND t.id = 2 THEN DELETE",
        rows=[ROWS[0], ROWS[2]],
    ),
    Case(
        id="a key and a value by constants",
        sql=MERGE + "ids" + ON + "WHEN MATCHED THEN UPDATE SET id = 123, n = 456",
        rows=[*ROWS[1:], (123, "a", 456)],
    ),
    Case(
        id="a key by a constant",
        sql=MERGE + "ids" + ON + "WHEN MATCHED THEN UPDATE SET id = 123",
        rows=[*ROWS[1:], (123, "a", 10)],
    ),
    Case(
        id="inserts into an empty table",
        before=[],
        sql=MERGE + "news" + ON + "WHEN NOT MATCHED THEN INSERT *",
        rows=[(2, "B", 200), (4, "d", 40)],
    ),
    Case(
        id="some inserts into an empty table",
        before=[],
        sql=MERGE + "news" + ON + "WHEN NOT MATCHED AND (s.id >= 3) THEN INSERT *",
        rows=[(4, "d", 40)],
    ),
    Case(
        id="inserts under a condition that the source alone has",
        sql=MERGE
        + "(SELECT *, id = 4 AS fresh FROM doubled)"
        + ON
        + "WHEN NOT MATCHED AND fresh = TRUE THEN INSERT (n, id) VALUES (s.n + 100, s.id)",
        rows=[*ROWS, (4, None, 140)],
    ),
    Case(
        id="inserts of a few columns",
        sql=MERGE + "(SELECT 4 c1, 200 c2) s ON t.id = s.c1 "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.c1)",
        rows=[*ROWS, (4, None, None)],
    ),
    Case(
        id="several inserts under conditions",
        sql=MERGE + ALL + ON + "WHEN NOT MATCHED AND s.id = 4 THEN INSERT (v, id) VALUES (s.v, -1) "
        "WHEN NOT MATCHED AND s.id = 5 THEN INSERT *",
        rows=[(-1, "d", None), *ROWS],
    ),
    Case(
        id="an insert of another key, and of all others",
        sql=MERGE + ALL + ON + "WHEN NOT MATCHED AND s.id = 4 THEN INSERT (v, id) VALUES (s.v, -1) "
        "WHEN NOT MATCHED THEN INSERT *",
        rows=[(-1, "d", None), *ROWS, (9, "i", 9)],
    ),
    Case(
        id="a source with more columns",
        sql=MERGE
        + "(SELECT -1 AS more, * FROM news)"
        + ON
        + "WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (v, id) VALUES (s.v, s.id)",
        rows=[ROWS[0], (2, "B", 20), ROWS[2], (4, "d", None)],
    ),
    Case(
        id="names of the source, in another order",
        sql=MERGE + "(SELECT id, n c1, v c2 FROM news) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = c2, n = c1, t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (v, n, id) VALUES (c2, c1, id)",
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="names in other letters",
        sql=MERGE + "(SELECT id, n c1, v c2 FROM news) s ON t.iD = S.Id "
        "WHEN MATCHED THEN UPDATE SET V = c2, N = C1, t.Id = s.ID "
        "WHEN NOT MATCHED THEN INSERT (v, N, iD) VALUES (C2, c1, id)",
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="a number for a text",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET t.v = -s.n",
        rows=[ROWS[0], (2, "-200", 20), ROWS[2]],
    ),
    Case(
        id="a computed key of a common table expression",
        sql=f"WITH r AS (SELECT id + 1 AS id, v, n FROM {ALL}) "
        + MERGE
        + "r"
        + ON
        + "WHEN MATCHED AND t.id = 2 THEN UPDATE SET * "
        "WHEN MATCHED AND t.id = 3 THEN DELETE WHEN NOT MATCHED AND s.id = 5 THEN INSERT *",
        rows=[ROWS[0], (2, "A", 100), (5, "d", 40)],
    ),
    Case(
        id="update under null, delete",
        sql=MERGE + "ops" + ON + "WHEN MATCHED AND s.id = 1 AND NULL THEN UPDATE SET v = s.op "
        "WHEN MATCHED AND s.op = 'D' THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 4 AND NULL THEN INSERT (id) VALUES (s.id)",
        rows=ROWS[1:],
    ),
    Case(
        id="a source that is joined with the table",
        sql=MERGE
        + "(SELECT r.id FROM {t} r JOIN ids ON r.id = ids.id)"
        + ON
        + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = 'x' "
        "WHEN NOT MATCHED THEN INSERT (v, id) VALUES ('none', -1)",
        rows=[(1, "x", 10), *ROWS[1:]],
    ),
    Case(
        id="a condition without a column",
        before=[],
        sql=MERGE + "news s ON 1 != 1 " + STARS,
        rows=[(2, "B", 200), (4, "d", 40)],
    ),
    Case(
        id="one task",
        table="one",
        sql=MERGE + "(SELECT /*+ COALESCE(1) */ id FROM range(0, 3))" + ON + STARS,
        rows=[(0,), (1,), (2,)],
    ),
    Case(
        id="one task, an empty table",
        table="one",
        before=[],
        sql=MERGE + "(SELECT /*+ COALESCE(1) */ id FROM range(0, 3))" + ON + STARS,
        rows=[(0,), (1,), (2,)],
    ),
    Case(
        id="a condition of partitions",
        table="places",
        before=[(1, 100, "a", "x"), (6, 600, "f", "y")],
        sql=MERGE
        + "(SELECT * FROM VALUES (1L, 101, 'a', 'x'), (2L, 200, 'b', 'x') v(id, n, p, q)) "
        "s ON t.id = s.id AND ((t.p = 'a' AND t.q IN ('x', 'z')) OR (t.p = 'f' AND t.q = 'y')) "
        "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT *",
        rows=[(1, 101, "a", "x"), (2, 200, "b", "x"), (6, 600, "f", "y")],
    ),
    Case(
        id="partitions of what the source lacks",
        table="crews",
        sql=MERGE + "nos s ON t.no = s.no AND t.team = 'sea' "
        "WHEN MATCHED THEN UPDATE SET team = 'air' "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET team = 'none'",
        rows=[(1, 10, "air"), (2, 20, "none"), (3, None, "none")],
    ),
    # Beside the key: numbers that are null, or that several rows have.
    Case(
        id="null equals nothing",
        table="crew",
        sql=MERGE + "hands" + NUMBERS + "WHEN MATCHED THEN UPDATE SET team = s.team "
        "WHEN NOT MATCHED THEN INSERT (team, no, k) VALUES (s.team, s.no, s.k)",
        rows=[(1, 10, "mud"), *CREW[1:], (8, None, "ice")],
    ),
    Case(
        id="null equals null",
        table="crew",
        sql=MERGE + "hands s ON t.no <=> s.no WHEN MATCHED THEN UPDATE SET team = s.team "
        "WHEN NOT MATCHED THEN INSERT *",
        rows=[(1, 10, "mud"), CREW[1], (3, None, "ice")],
    ),
    Case(
        id="null as a condition",
        table="crew",
        sql=MERGE + "hands s ON t.no = s.no AND NULL WHEN MATCHED THEN UPDATE SET team = s.team "
        "WHEN NOT MATCHED THEN INSERT *",
        rows=[*CREW, (7, 10, "mud"), (8, None, "ice")],
    ),
    Case(
        id="rows with null are left alone",
        table="crew",
        sql=MERGE
        + "hands s ON t.no = s.no AND t.no < 20 WHEN MATCHED THEN UPDATE SET team = s.team",
        rows=[(1, 10, "mud"), *CREW[1:]],
    ),
    Case(
        id="inserts that are alike beside the key",
        table="crew",
        sql=MERGE
        + "(SELECT id + 100 k, 70 no, 'new' team FROM range(3))"
        + NUMBERS
        + "WHEN NOT MATCHED THEN INSERT *",
        rows=[*CREW, *((k, 70, "new") for k in (100, 101, 102))],
    ),
    Case(
        id="many commits",
        table="groups",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql=MERGE
        + "(SELECT id FROM range(25)) s ON t.n = s.id WHEN MATCHED THEN UPDATE SET n = -1",
        rows=[(k, "sea", -1) for k in range(100)],
        settings=MANY_TASKS,
    ),
    Case(
        id="many commits in one partition",
        table="parted",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql=MERGE
        + "(SELECT id FROM range(25)) s ON t.n = s.id WHEN MATCHED THEN UPDATE SET n = -1",
        rows=[(k, "sea", -1) for k in range(100)],
        settings=SKEWED_TASKS,
    ),
    Case(
        id="one row group of several",
        table="groups",
        before=[(k, "sea", k) for k in range(1, 201)],
        sql=MERGE + "ids s ON t.n = s.id WHEN MATCHED THEN UPDATE SET v = 'x'",
        rows=[(1, "x", 1), *((k, "sea", k) for k in range(2, 201))],
    ),
    # Several rows of the source for one of the table.
    Case(
        id="several rows that delete one beside an insert",
        sql=MERGE + "doubled" + ON + "WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 4 THEN INSERT *",
        rows=[*ROWS[1:], (4, "d", 40)],
    ),
    Case(
        id="several rows, none of which does anything",
        sql=MERGE + "doubled" + ON + "WHEN MATCHED AND t.id = 2 THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        error=TWICE,
    ),
    Case(id="several rows under conditions", sql=MERGE + "doubled" + ON + EACH, error=TWICE),
    Case(
        id="several rows that delete under a condition",
        sql=MERGE + "doubled" + ON + "WHEN MATCHED AND t.id = 1 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 4 THEN INSERT *",
        error=TWICE,
    ),
    Case(id="a large source", sql=MERGE + "many" + ON + CHANGE + REMOVE + ADD, error=TWICE),
    Case(
        id="a large source, hashed",
        sql=MERGE + "many" + ON + CHANGE + REMOVE + ADD,
        error=TWICE,
        settings={"spark.sql.join.preferSortMergeJoin": "false"},
    ),
    Case(
        id="a large source, unequal",
        sql=MERGE + "many s ON t.id > s.id " + CHANGE + REMOVE + ADD,
        error=TWICE,
    ),
    Case(id="a large source, no insert", sql=MERGE + "many" + ON + CHANGE + REMOVE, error=TWICE),
    Case(
        id="a large source, unequal, no insert",
        sql=MERGE + "many s ON t.id > s.id " + CHANGE + REMOVE,
        error=TWICE,
    ),
    Case(
        id="to what it holds",
        sql=MERGE + "news" + ON + "WHEN MATCHED THEN UPDATE SET n = t.n, v = t.v",
        rows=ROWS,
    ),
    # Nested values.
    Case(
        id="fields in a struct",
        table="deep",
        sql=MERGE + "loose s ON t.id = s.c1 WHEN MATCHED THEN UPDATE SET t.s.c = -s.c1, "
        "t.s.d.a = array(-1, -2), t.s.d.m = map('z', 'y')",
        rows=[(1, {"c": -1, "d": {"a": [-1, -2], "m": [("z", "y")]}})],
    ),
    Case(
        id="fields to null",
        table="deep",
        sql=MERGE
        + "loose s ON t.id = s.c1 WHEN MATCHED THEN UPDATE SET t.s.c = NULL, t.s.d = NULL",
        rows=[(1, {"c": None, "d": None})],
    ),
    Case(
        id="a whole struct",
        table="deep",
        sql=MERGE + "loose s ON t.id = s.c1 WHEN MATCHED THEN UPDATE SET t.s = "
        "named_struct('c', 7, 'd', named_struct('a', array(1), 'm', map('x', 'y')))",
        rows=[(1, {"c": 7, "d": {"a": [1], "m": [("x", "y")]}})],
    ),
    Case(
        id="a field of null",
        table="nested",
        before=[(1, None, None)],
        sql=MERGE + "ids" + ON + "WHEN MATCHED THEN UPDATE SET t.s.a = -s.id",
        rows=[(1, {"a": -1, "b": None}, None)],
    ),
]
