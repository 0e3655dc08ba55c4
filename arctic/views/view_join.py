"""The join of a statement: by the whole primary key of one side, or it cannot be kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arctic.views.sql_tree import expressions, not_kept, text_of
from arctic.views.view_query import Join, Source


def join_of(join: Any, sources: Sequence[Source]) -> Join:
    """Return a join, bound to its sources.

    Args:
        join: of the tree.
        sources: the one before it, and its own.

    Raises:
        UnsupportedError: what cannot be kept, with the reason.
    """
    side, kind = join.side.upper(), join.kind.upper()
    if join.method or side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        said = " ".join(word for word in (join.method, side, kind) if word)
        raise not_kept(f"it has a join of kind {said}; expected JOIN or LEFT JOIN")
    condition = join.args.get("on")
    if join.args.get("using") or condition is None:
        raise not_kept("its join does not say what is equal; write ON a.id = b.id")
    pairs = [_pair(part) for part in conjuncts(condition)]
    left, right = sources
    choices = [(left, right)] if side == "LEFT" else [(left, right), (right, left)]
    for first, second in choices:
        by = tuple((pair[first.alias], pair[second.alias]) for pair in pairs)
        is_whole = sorted(of for _, of in by) == sorted(second.key)
        if second.key and first.key and is_whole:
            return Join(
                word="LEFT JOIN" if side == "LEFT" else "JOIN",
                first=first,
                second=second,
                columns=by,
                condition=text_of(condition),
            )
    keys = " nor ".join(f"that of {each.identifier!r} {list(each.key)}" for _, each in choices)
    raise not_kept(f"its join is not by a whole primary key: neither {keys}")


def conjuncts(condition: Any) -> list[Any]:
    """Return the parts of a condition that are joined by AND."""
    exp = expressions()
    bare = condition.unnest()
    if not isinstance(bare, exp.And):
        return [bare]
    return [each for part in (bare.this, bare.expression) for each in conjuncts(part)]


def _pair(part: Any) -> dict[str, str]:
    """Return the columns that a condition says are equal, by the alias of their source."""
    exp = expressions()
    sides = (part.this.unnest(), part.expression.unnest()) if isinstance(part, exp.EQ) else ()
    named = {each.table: each.name for each in sides if isinstance(each, exp.Column)}
    if len(named) != 2:
        raise not_kept(f"its join tests {text_of(part)}; expected columns that are equal")
    return named
