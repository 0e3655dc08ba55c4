"""How an aggregate of a view is kept: what changed rows add to it, and what they take back.

Rules:
    - A sum is taken back only where numbers are exact. What cannot be taken back is recounted from
      all rows of its group.

Must not know: tables of Arctic, DuckDB itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arctic.views.sql_tree import quoted
from arctic.views.view_query import COUNT_PREFIX, SUM_PREFIX, Output

SIGN = "_arctic_sign"
"""1: the row is there now, -1: it was there before."""
_CAME, _WENT = f"{SIGN} > 0", f"{SIGN} < 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How a column with an aggregate is kept."""

    stored: Mapping[str, str]
    """Columns of the view, the aggregate itself and what it is kept by -> SQL over all rows."""
    changes: Mapping[str, str]
    """Columns of what changed -> SQL over changed rows."""
    merged: Mapping[str, str]
    """Columns of the view -> SQL over ``s``, the stored group, and ``d``, what changed."""
    recount: str
    """When that is not known from the two."""


def keeping(output: Output, *, is_exact: bool) -> Keeping:
    """Return how an aggregate is kept.

    Args:
        output: the column.
        is_exact: sums of its argument are exact, so they can be taken back.
    """
    made = output.aggregate
    assert made is not None
    name, of = output.name, made.argument
    count, total = f"{COUNT_PREFIX}{name}", f"{SUM_PREFIX}{name}"
    if not made.function or (made.function in ("sum", "avg") and not is_exact):
        return Keeping(stored={name: output.sql}, changes={}, merged={name: "NULL"}, recount="true")
    if made.function == "count":
        return Keeping(
            stored={name: output.sql},
            changes={name: _taken("count", of)},
            merged={name: added(name)},
            recount="false",
        )
    if made.function == "sum":
        is_there = f"{added(count)} <> 0"
        return Keeping(
            stored={name: output.sql, count: f"count({of})"},
            changes={name: _taken("sum", of), count: _taken("count", of)},
            merged={name: f"CASE WHEN {is_there} THEN {added(name)} END", count: added(count)},
            recount="false",
        )
    if made.function == "avg":
        mean, is_there = "CAST({} AS DOUBLE) / nullif({}, 0)", f"{added(count)} <> 0"
        return Keeping(
            stored={
                name: mean.format(f"sum({of})", f"count({of})"),
                total: f"sum({of})",
                count: f"count({of})",
            },
            changes={total: _taken("sum", of), count: _taken("count", of)},
            merged={
                name: mean.format(added(total), added(count)),
                total: f"CASE WHEN {is_there} THEN {added(total)} END",
                count: added(count),
            },
            recount="false",
        )
    came, went = (f"d.{quoted(f'{name} {each}')}" for each in ("came", "went"))
    stored, better = f"s.{quoted(name)}", "<" if made.function == "min" else ">"
    nearer = "least" if made.function == "min" else "greatest"
    function = made.function
    return Keeping(
        stored={name: output.sql},
        changes={
            f"{name} came": f"{function}({of}) FILTER (WHERE {_CAME})",
            f"{name} went": f"{function}({of}) FILTER (WHERE {_WENT})",
        },
        merged={name: f"{nearer}({stored}, {came})"},
        # The stored one may have gone, and nothing as good has come.
        recount=f"({went} IS NOT NULL AND NOT coalesce({stored} {better} {went}, false) "
        f"AND NOT coalesce({came} {better}= {stored}, false))",
    )


def _taken(function: str, of: str | None) -> str:
    if function == "count":
        counts = "" if of is None else f" FILTER (WHERE ({of}) IS NOT NULL)"
        return f"CAST(coalesce(sum({SIGN}){counts}, 0) AS BIGINT)"
    came, went = (f"{function}({of}) FILTER (WHERE {sign})" for sign in (_CAME, _WENT))
    return f"coalesce({came}, 0) - coalesce({went}, 0)"


def added(name: str) -> str:
    """Return SQL of what the view has of a column and what changed, added."""
    return f"(coalesce(s.{quoted(name)}, 0) + d.{quoted(name)})"
