"""DELETE: the rows of a condition, with null as SQL has it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.spark.catalog.row_level.case import (
    CREW,
    MANY_TASKS,
    ROWS,
    SKEWED_TASKS,
    STARTS,
    Case,
    Row,
)

NESTED_ROWS = STARTS["nested"]


def _crew(
    name: str,
    condition: str,
    *,
    rows: list[int],
    table: str = "crew",
    before: list[Row] = CREW,
    commits: int = 1,
    settings: Mapping[str, str] | None = None,
) -> Case:
    """Return a case of which rows stay, by their keys."""
    return Case(
        id=name,
        sql=f"DELETE FROM {{t}} t WHERE {condition}",
        table=table,
        before=before,
        rows=[row for row in before if row[0] in rows],
        commits=commits,
        settings=settings or {},
    )


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
    # Beside the key: numbers that are null, or that several rows have.
    _crew("a number that several have", "no = 10", before=[*CREW, (4, 10, "air")], rows=[2, 3]),
    _crew("numbers and null in a list", "no IN (10, null)", rows=[2, 3]),
    _crew("numbers outside a list with null", "no NOT IN (null, 10)", rows=[1, 2, 3]),
    _crew("numbers outside a list", "no NOT IN (10, 70)", rows=[1, 3]),
    _crew("equal to null", "team = null", rows=[1, 2, 3]),
    _crew("a null number", "no IS NULL", rows=[1, 2]),
    _crew("two queries", "no IN (SELECT no FROM nos) AND team IN (TABLE teams)", rows=[2, 3]),
    _crew("null or in a query", "no IS NULL OR no IN (SELECT no + 20 FROM nos)", rows=[1]),
    _crew("in a query and equal", "no IN (SELECT no + 10 FROM nos) AND team = 'air'", rows=[1, 3]),
    _crew("pairs in a query", "(no, team) IN (SELECT no, team FROM pairs)", rows=[2, 3]),
    _crew("not in a query with null", "no NOT IN (SELECT no FROM nos)", rows=[1, 2, 3]),
    _crew(
        "not in a whole query", "no NOT IN (SELECT no FROM nos WHERE no IS NOT NULL)", rows=[1, 3]
    ),
    _crew(
        "not in a query or in a list",
        "no NOT IN (SELECT no FROM nos) OR team IN ('mud', 'sea')",
        rows=[2],
    ),
    _crew(
        "not in a query and exists",
        "no NOT IN (SELECT no FROM nos WHERE no = 0) AND EXISTS (SELECT 1 FROM teams s "
        "WHERE s.team = t.team)",
        rows=[2, 3],
    ),
    _crew(
        "not in a query or exists",
        "no NOT IN (SELECT no FROM nos WHERE no = 0) OR EXISTS (SELECT 1 FROM teams s "
        "WHERE s.team = t.team)",
        rows=[],
    ),
    _crew("exists nothing", "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no + 5)", rows=[1, 2, 3]),
    _crew("exists with a sum", "EXISTS (SELECT 1 FROM nos s WHERE s.no + 20 = t.no)", rows=[1, 3]),
    _crew(
        "exists or null", "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) OR no IS NULL", rows=[2]
    ),
    _crew(
        "exists twice",
        "EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) "
        "AND EXISTS (SELECT 1 FROM teams s WHERE s.team = t.team)",
        rows=[2, 3],
    ),
    _crew(
        "not exists twice",
        "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) "
        "AND NOT EXISTS (SELECT 1 FROM teams s WHERE s.team = t.team)",
        rows=[1, 3],
    ),
    _crew("not exists with nulls", "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no)", rows=[1]),
    _crew(
        "not exists or equal",
        "NOT EXISTS (SELECT 1 FROM nos s WHERE s.no = t.no) OR t.no = 10",
        rows=[],
    ),
    _crew("below a scalar query", "no <= (SELECT max(no) FROM nos)", rows=[2, 3]),
    # Partitions.
    _crew("like, of partitions", "no = 70 OR team LIKE '%ea'", table="crews", rows=[2]),
    _crew("of one partition of two", "no = 20", table="crews", rows=[1, 3]),
    _crew("nothing of partitions", "no > 70", table="crews", rows=[1, 2, 3]),
    _crew(
        "partitions by comparisons",
        "team > 'b' OR team = CAST(4 AS STRING) OR team = 'b'",
        table="crews",
        rows=[2],
    ),
    _crew("no partition of that name", "team = 'mud'", table="crews", rows=[1, 2, 3]),
    _crew(
        "a null partition",
        "team <=> NULL",
        table="crews",
        before=[*CREW, (4, 40, None)],
        rows=[1, 2, 3],
    ),
    _crew("every partition", "true", table="crews", rows=[]),
    _crew(
        "of many commits by one task",
        "no IN (SELECT no FROM nos)",
        table="crews",
        commits=4,
        before=[(k, k % 3 * 10, ("sea", "air")[k % 2]) for k in range(12)],
        rows=[2, 5, 8, 11],
        settings={"spark.sql.shuffle.partitions": "1"},
    ),
    Case(
        id="half of many commits",
        table="groups",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql="DELETE FROM {t} WHERE mod(n, 2) = 0",
        rows=[(k, "sea", k % 25) for k in range(100) if k % 25 % 2],
        settings=MANY_TASKS,
    ),
    Case(
        id="half of many commits in one partition",
        table="parted",
        commits=4,
        before=[(k, "sea", k % 25) for k in range(100)],
        sql="DELETE FROM {t} WHERE mod(n, 2) = 0",
        rows=[(k, "sea", k % 25) for k in range(100) if k % 25 % 2],
        settings=SKEWED_TASKS,
    ),
    Case(
        id="of one row group of several",
        table="groups",
        before=[(k, "sea", k) for k in range(1, 201)],
        sql="DELETE FROM {t} WHERE n IN (200, 201)",
        rows=[(k, "sea", k) for k in range(1, 200)],
    ),
    Case(id="always true", sql="DELETE FROM {t} WHERE 21 = 21", rows=[]),
    Case(id="false", sql="DELETE FROM {t} WHERE false", rows=ROWS),
    Case(id="false by numbers", sql="DELETE FROM {t} WHERE 50 <> 50", rows=ROWS),
    Case(id="null by numbers", sql="DELETE FROM {t} WHERE 1 > null", rows=ROWS),
    Case(id="never both", sql="DELETE FROM {t} WHERE id = 1 AND id > 20", rows=ROWS),
    Case(id="explained", sql="EXPLAIN DELETE FROM {t} WHERE id <=> 1", rows=ROWS),
    Case(id="explained, of all", sql="EXPLAIN DELETE FROM {t} WHERE true", rows=ROWS),
    Case(
        id="an empty table by another column",
        sql="DELETE FROM {t} WHERE v = 'a'",
        before=[],
        rows=[],
    ),
    Case(
        id="by a nested field and the key",
        table="nested",
        sql="DELETE FROM {t} WHERE s.a = id",
        rows=[],
    ),
    Case(
        id="by a nested field with an alias",
        table="nested",
        sql="DELETE FROM {t} t WHERE t.s.a > 1",
        rows=[NESTED_ROWS[0]],
    ),
    Case(
        id="by a nested field that none has",
        table="nested",
        sql="DELETE FROM {t} WHERE s.a > 7",
        rows=NESTED_ROWS,
    ),
    Case(
        id="of a branch that is not there",
        sql="DELETE FROM {t}.branch_none WHERE id = 1",
        error="a table with a primary key has no branches",
    ),
    Case(
        id="at random",
        sql="DELETE FROM {t} WHERE id = 1 AND rand() > 0.5",
        error="deterministic",
    ),
]
