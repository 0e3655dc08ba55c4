"""UPDATE: values of before, keys that move, what cannot be a value."""

from __future__ import annotations

from tests.spark.catalog.row_level.case import (
    CREW,
    MANY_TASKS,
    ROWS,
    SKEWED_TASKS,
    Case,
    Row,
    refusals,
)

STRUCTS = (
    "UPDATE {t} SET s = named_struct('n1', 1)",
    "UPDATE {t} SET s.n2 = named_struct('z', 1, 'x', 2)",
)
TEXT = "UPDATE {t} SET s.n1 = 'x'"


def _crew(name: str, values: str, condition: str, now: list[Row], table: str = "crew") -> Case:
    """Return a case of rows that are others afterwards, by their keys."""
    changed = {row[0]: row for row in now}
    return Case(
        id=name,
        sql=f"UPDATE {{t}} t SET {values} WHERE {condition}",
        table=table,
        rows=[changed.get(row[0], row) for row in CREW],
    )


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
        id="one key for two",
        sql="UPDATE {t} SET id = 7",
        error="several rows have the key (id=7)",
        keyless=[(7, "a", 10), (7, "b", 20), (7, None, 30)],
    ),
    Case(
        id="a stored key",
        sql="UPDATE {t} SET id = 3 WHERE id = 1",
        error="is there already",
        keyless=[(3, "a", 10), *ROWS[1:]],
    ),
    Case(id="a null key", sql="UPDATE {t} SET id = null", error="NOT_NULL_ASSERT_VIOLATION"),
    Case(id="twice a column", sql="UPDATE {t} SET n = 1, n = 2", error="ssignments"),
    Case(id="another type", sql="UPDATE {t} SET n = 'x'", error="CANNOT_SAFELY_CAST"),
    Case(id="too large", sql="UPDATE {t} SET n = 9999999999", error="CAST_OVERFLOW"),
    Case(
        id="in another order than the columns",
        sql="UPDATE {t} SET `n` = n - 2, v = concat(`v`, 'x') WHERE id <=> 1",
        rows=[(1, "ax", 8), *ROWS[1:]],
    ),
    Case(
        id="a number for a text",
        sql="UPDATE {t} SET v = -1 WHERE id = 1",
        rows=[(1, "-1", 10), *ROWS[1:]],
    ),
    Case(id="an empty table", sql="UPDATE {t} SET n = 0 WHERE id IN (1)", before=[], rows=[]),
    Case(id="an empty table's keys", sql="UPDATE {t} SET id = 0 WHERE v = 'a'", before=[], rows=[]),
    Case(id="explained", sql="EXPLAIN UPDATE {t} SET n = 0 WHERE id <=> 1", rows=ROWS),
    Case(id="explained, of all", sql="EXPLAIN UPDATE {t} SET n = 0 WHERE true", rows=ROWS),
    # Beside the key: numbers that are null, or that several rows have.
    _crew("numbers like others", "no = -1", "no = 20", [(2, -1, "air")]),
    _crew("all to one number", "no = -1", "true", [(1, -1, "sea"), (2, -1, "air"), (3, -1, "sea")]),
    _crew("equal to null", "no = -1", "team = NULL", []),
    _crew("to what is not there", "no = -1", "team = 'mud'", []),
    _crew("where null", "team = 'none', no = -1", "no <=> NULL", [(3, -1, "none")]),
    _crew("in a list with null", "no = -1", "no IN (10, null)", [(1, -1, "sea")]),
    _crew("outside a list with null", "no = 70", "no NOT IN (null, 10)", []),
    _crew("outside a list", "no = 70", "no NOT IN (10, 90)", [(2, 70, "air")]),
    _crew(
        "in two queries",
        "no = -1",
        "no IN (TABLE nos) AND team IN (TABLE teams)",
        [(1, -1, "sea")],
    ),
    _crew(
        "null or in a query",
        "no = 5",
        "no IS NULL OR no IN (SELECT no + 10 FROM nos)",
        [(1, 5, "sea"), (2, 5, "air"), (3, 5, "sea")],
    ),
    _crew(
        "in a query and equal",
        "no = 5",
        "no IN (SELECT no + 10 FROM nos) AND team = 'air'",
        [(2, 5, "air")],
    ),
    _crew("in a query of itself", "team = 'x'", "no IN (SELECT no + 10 FROM {t})", [(2, 20, "x")]),
    _crew(
        "a count of itself",
        "team = 'y'",
        "k = (SELECT count(*) FROM (SELECT DISTINCT no FROM {t}) s)",
        [(3, None, "y")],
    ),
    _crew(
        "all to a row of itself",
        "no = (SELECT no - 2 FROM {t} WHERE k = 1)",
        "true",
        [(1, 8, "sea"), (2, 8, "air"), (3, 8, "sea")],
    ),
    _crew(
        "pairs in a query",
        "team = 'x', no = -1",
        "(no, team) IN (SELECT no, team FROM pairs)",
        [(1, -1, "x")],
    ),
    _crew(
        "not in a whole query",
        "no = -1",
        "no NOT IN (SELECT no FROM nos WHERE no IS NOT NULL)",
        [(2, -1, "air")],
    ),
    _crew(
        "not in a query or in a list",
        "no = 5",
        "no NOT IN (TABLE nos) OR team IN ('mud', 'sea')",
        [(1, 5, "sea"), (3, 5, "sea")],
    ),
    _crew("exists nothing", "no = -1", "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no + 5)", []),
    _crew(
        "exists with a sum",
        "team = 'x', no = -1",
        "EXISTS (SELECT 1 FROM nos s WHERE s.no + 20 = t.no)",
        [(2, -1, "x")],
    ),
    _crew(
        "exists or null",
        "no = -2",
        "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) OR t.no IS NULL",
        [(1, -2, "sea"), (3, -2, "sea")],
    ),
    _crew(
        "exists twice",
        "no = 1",
        "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) "
        "AND EXISTS (SELECT 1 FROM teams s WHERE s.team = t.team)",
        [(1, 1, "sea")],
    ),
    _crew(
        "not exists with nulls",
        "no = -1",
        "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no)",
        [(2, -1, "air"), (3, -1, "sea")],
    ),
    _crew(
        "not exists or equal",
        "no = 5",
        "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) OR t.no = 10",
        [(1, 5, "sea"), (2, 5, "air"), (3, 5, "sea")],
    ),
    _crew(
        "not exists and exists",
        "no = 9",
        "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) "
        "AND EXISTS (SELECT 1 FROM teams s WHERE s.team = t.team)",
        [(3, 9, "sea")],
    ),
    _crew(
        "below a scalar query",
        "no = -1",
        "no <= (SELECT max(no) FROM nos)",
        [(1, -1, "sea")],
    ),
    # Partitions.
    _crew("like, of partitions", "`t`.`no` = -1", "t.team LIKE '%ir'", [(2, -1, "air")], "crews"),
    _crew(
        "of one partition of two",
        "no = cast('-1' AS INT)",
        "no = 20",
        [(2, -1, "air")],
        "crews",
    ),
    _crew("nothing of partitions", "no = -1", "no > 70", [], "crews"),
    _crew(
        "every row of partitions",
        "no = -1",
        "true",
        [(1, -1, "sea"), (2, -1, "air"), (3, -1, "sea")],
        "crews",
    ),
    _crew(
        "a partition by a query",
        "no = -1",
        "no IN (SELECT no + 10 FROM nos)",
        [(1, -1, "sea"), (2, -1, "air")],
        "crews",
    ),
    Case(
        id="of many commits by one task",
        table="crews",
        commits=4,
        before=[(k, k % 3 * 10, ("sea", "air")[k % 2]) for k in range(12)],
        sql="UPDATE {t} SET no = -1 WHERE no IN (SELECT no FROM nos)",
        rows=[(k, 20 if k % 3 == 2 else -1, ("sea", "air")[k % 2]) for k in range(12)],
        settings={"spark.sql.shuffle.partitions": "1"},
    ),
    Case(
        id="half of many commits",
        table="groups",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql="UPDATE {t} SET n = -1 WHERE mod(n, 2) = 0",
        rows=[(k, "sea", k % 25 if k % 25 % 2 else -1) for k in range(100)],
        settings=MANY_TASKS,
    ),
    Case(
        id="half of many commits in one partition",
        table="parted",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql="UPDATE {t} SET n = -1 WHERE mod(n, 2) = 0",
        rows=[(k, "sea", k % 25 if k % 25 % 2 else -1) for k in range(100)],
        settings=SKEWED_TASKS,
    ),
    Case(
        id="of one row group of several",
        table="groups",
        before=[(k, "sea", k) for k in range(1, 201)],
        sql="UPDATE {t} SET n = -1 WHERE n IN (200, 201)",
        rows=[*((k, "sea", k) for k in range(1, 200)), (200, "sea", -1)],
    ),
    Case(
        id="keys of buckets and of partitions",
        table="bucketed",
        before=[(k, "abc"[k % 3], k) for k in range(60)],
        sql="UPDATE {t} SET v = 'z', id = id + 100 WHERE id BETWEEN 10 AND 19",
        rows=[(k + 100, "z", k) if 10 <= k <= 19 else (k, "abc"[k % 3], k) for k in range(60)],
    ),
    Case(
        id="a table that is kept in order",
        table="sorted",
        sql="UPDATE {t} SET n = -n WHERE id NOT IN (1, 3)",
        rows=[ROWS[0], (2, "b", -20), ROWS[2]],
    ),
    # Nested values.
    Case(
        id="fields in a struct",
        table="deep",
        sql="UPDATE {t} SET s.c = -1, s.d.m = map('z', 'y'), s.d.a = array(-1)",
        rows=[(1, {"c": -1, "d": {"a": [-1], "m": [("z", "y")]}})],
    ),
    Case(
        id="fields to null",
        table="deep",
        sql="UPDATE {t} SET s.c = NULL, s.d = NULL WHERE id IN (1)",
        rows=[(1, {"c": None, "d": None})],
    ),
    Case(
        id="a whole struct",
        table="deep",
        sql="UPDATE {t} SET s = named_struct('c', 1, 'd', named_struct('a', array(1), 'm', null))",
        rows=[(1, {"c": 1, "d": {"a": [1], "m": None}})],
    ),
    Case(
        id="a field of null",
        table="nested",
        before=[(1, None, None)],
        sql="UPDATE {t} SET s.a = -1 WHERE id = 1",
        rows=[(1, {"a": -1, "b": None}, None)],
    ),
    Case(id="to what it holds", sql="UPDATE {t} SET n = n WHERE id = 1", rows=ROWS),
    Case(id="to what it holds, all", sql="UPDATE {t} SET n = n, v = v", rows=ROWS),
    # What cannot be.
    Case(
        id="at random",
        sql="UPDATE {t} SET n = 1 WHERE id = 1 AND rand() > 0.5",
        error="deterministic",
    ),
    Case(
        id="of a branch that is not there",
        sql="UPDATE {t}.branch_none SET n = 1",
        error="a table with a primary key has no branches",
    ),
    Case(id="of a view", sql="UPDATE news SET n = 1", error="UPDATE TABLE"),
    *refusals(
        "a field of what is no struct",
        "nested fields is only supported for StructType",
        "bags",
        "UPDATE {t} SET a.x = 1",
        "UPDATE {t} SET m.key = 'z'",
    ),
    *refusals(
        "twice what it holds",
        "ssignments for",
        "deep",
        "UPDATE {t} t SET t.id = 1, t.s.c = 2, t.id = 2",
        "UPDATE {t} t SET t.s.c = 1, t.id = 2, t.s.c = 2",
        "UPDATE {t} SET s.c = 1, s = named_struct('c', 1, 'd', null)",
    ),
    *refusals(
        "null where none may be",
        "NOT_NULL_ASSERT_VIOLATION",
        "exact",
        "UPDATE {t} SET id = NULL",
        "UPDATE {t} SET s.n1 = NULL",
    ),
    *refusals("a struct without a field", "CANNOT_FIND_DATA", "exact", *STRUCTS),
    *refusals("a text for a number", "CANNOT_SAFELY_CAST", "exact", TEXT),
    *refusals(
        "strictly null",
        "CANNOT_SAFELY_CAST",
        "exact",
        "UPDATE {t} SET id = NULL",
        "UPDATE {t} SET s.n1 = NULL",
        storeAssignmentPolicy="strict",
    ),
    *refusals(
        "strictly a struct without a field",
        "CANNOT_FIND_DATA",
        "exact",
        *STRUCTS,
        storeAssignmentPolicy="strict",
    ),
    *refusals(
        "strictly a text for a number",
        "CANNOT_SAFELY_CAST",
        "exact",
        TEXT,
        storeAssignmentPolicy="strict",
    ),
]
