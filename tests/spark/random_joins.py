"""Statements drawn at random that join, group and unite tables by ids: SQL of Spark and of DuckDB.

Every statement has two columns, ``id`` and ``v``, so each can stand within another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

_JOINS = (
    "join",
    "join",
    "left join",
    "right join",
    "full join",
    "left semi join",
    "left anti join",
)
_MATCHES = ("l.id = r.id",) * 4 + (
    "l.id = r.id and l.v = r.v",
    "l.id = r.id and l.v <= r.v",
    "l.v = r.v",
    "l.id is not distinct from r.id",
)
_IDS = ("l.id", "l.id", "r.id", "coalesce(l.id, r.id) as id")
_FILTERS = ("",) * 3 + (" where v > 10", " where id % 3 <> 1", " where v is null or v < 30")
_OVER_ONE = (
    "select id, sum(v) as v from ({}) c group by id",
    "select id, sum(v) as v from ({}) c group by id",
    "select id, n as v from (select id, count(*) as n from ({}) c group by id, v) d",
    "select id, sum(v) over (partition by id) as v from ({}) c",
    "select distinct id, v from ({}) c",
    "select id, n as v from (select id, count(*) as n from ({}) c group by rollup(id, v)) d",
    "select v as id, id as v from ({}) c",
)
_OVER_TWO = (
    "({}) union all ({})",
    "({}) union ({})",
    "({}) except ({})",
    "({}) intersect ({})",
    "select l.id, l.v from ({}) l where exists (select 1 from ({}) r where l.id = r.id)",
    "select l.id, l.v from ({}) l where id in (select id from ({}) r)",
)


def statements(tables: Sequence[str], depth: int = 3) -> st.SearchStrategy[str]:
    """Return statements over tables that have an ``id`` and a ``v``."""
    leaves = st.builds(
        "select id, v from {}{}".format, st.sampled_from(tables), st.sampled_from(_FILTERS)
    )
    if depth == 0:
        return leaves
    below = statements(tables, depth - 1)
    joins = st.builds(
        _joined,
        below,
        st.sampled_from(_JOINS),
        below,
        st.sampled_from(_MATCHES),
        st.sampled_from(_IDS),
    )
    ones = st.builds(str.format, st.sampled_from(_OVER_ONE), below)
    twos = st.builds(str.format, st.sampled_from(_OVER_TWO), below, below)
    return st.one_of(joins, joins, ones, twos)


def _joined(left: str, how: str, right: str, match: str, key: str) -> str:
    columns = "l.id, l.v" if "semi" in how or "anti" in how else f"{key}, r.v"
    return f"select {columns} from ({left}) l {how} ({right}) r on {match}"
