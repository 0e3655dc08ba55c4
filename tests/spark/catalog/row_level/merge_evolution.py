"""MERGE WITH SCHEMA EVOLUTION: the table gets what the source has more, before the rows."""

from __future__ import annotations

from tests.spark.catalog.row_level.case import ROWS, Case
from tests.spark.catalog.row_level.merges import ON, STARS

_GROWS = "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING "

EVOLUTIONS = [
    Case(
        id="a source with a column more",
        sql=_GROWS + "(SELECT *, id * 2 AS more FROM news)" + ON + STARS,
        rows=[(*ROWS[0], None), (2, "B", 200, 4), (*ROWS[2], None), (4, "d", 40, 8)],
    ),
    Case(
        id="a source with a column less",
        sql=_GROWS + "(SELECT id, v FROM news)" + ON + STARS,
        rows=[ROWS[0], (2, "B", 20), ROWS[2], (4, "d", None)],
    ),
    Case(
        id="a source with a wider number",
        sql=_GROWS + "(SELECT id, v, n * 10000000000 AS n FROM news)" + ON + STARS,
        rows=[ROWS[0], (2, "B", 2_000_000_000_000), ROWS[2], (4, "d", 400_000_000_000)],
    ),
    Case(
        id="a source with a field less",
        table="nested",
        before=[(1, {"a": 1, "b": "x"}, [1]), (4, {"a": 4, "b": "y"}, None)],
        sql=_GROWS + "(SELECT id, named_struct('a', 7) AS s FROM ops)" + ON + STARS,
        rows=[
            (1, {"a": 7, "b": "x"}, [1]),
            (2, {"a": 7, "b": None}, None),
            (4, {"a": 7, "b": "y"}, None),
        ],
        settings={"spark.sql.mergeNestedTypeCoercion.enabled": "true"},
    ),
    Case(
        id="a source with a field more",
        table="nested",
        sql=_GROWS
        + "(SELECT id, named_struct('a', 7, 'b', op, 'c', 1) AS s, array(n) AS xs FROM ops)"
        + ON
        + STARS,
        error="what is within a column is not changed",
    ),
    Case(
        id="a column more that a property keeps out",
        table="settled",
        sql=_GROWS + "(SELECT *, id * 2 AS more FROM news)" + ON + STARS,
        rows=[ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    Case(
        id="a column more that is never taken",
        sql=_GROWS
        + "(SELECT *, 1 AS more FROM news)"
        + ON
        + "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        rows=[ROWS[0], (2, "b", 200), ROWS[2], (4, None, None)],
    ),
]
