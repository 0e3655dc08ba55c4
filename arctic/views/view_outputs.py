"""The columns of a statement, one by one: what each is called, and what it says of a group.

Rules:
    - An aggregate is kept only in a form that is known; in any other it is counted anew.
    - One whose result hangs on the order of rows is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arctic.errors import InvalidInputError
from arctic.views.sql_tree import expressions, not_kept, text_of, unaliased
from arctic.views.view_query import Aggregate, Output, Source, is_kept_beside

_KEPT = {"Count": "count", "Sum": "sum", "Avg": "avg", "Min": "min", "Max": "max"}
_RECOUNTED = frozenset(
    {
        *("Stddev", "StddevPop", "StddevSamp", "Variance", "VariancePop", "Median", "LogicalAnd"),
        *("LogicalOr", "BitwiseAndAgg", "BitwiseOrAgg", "BitwiseXorAgg"),
    }
)
_WHOLE_NUMBERS = frozenset({"BIGINT", "INT"})


def output_of(item: Any) -> Output:
    """Return a column of a statement, bound to its sources.

    Raises:
        InvalidInputError: it needs a name.
        UnsupportedError: an aggregate that cannot be kept, nor counted anew.
    """
    exp, inner = expressions(), unaliased(item)
    is_column = isinstance(inner, exp.Column)
    name = item.alias if isinstance(item, exp.Alias) else ""
    return Output(
        name=name or (inner.name if is_column else _usual_name(inner)),
        sql=text_of(inner),
        column=(inner.table, inner.name) if is_column else None,
        aggregate=_aggregate(inner),
    )


def check_names(outputs: Sequence[Output]) -> None:
    """Refuse names that a table of the view cannot have.

    Raises:
        InvalidInputError: naming one.
    """
    seen: set[str] = set()
    for each in outputs:
        name = each.name.lower()
        if name in seen:
            raise InvalidInputError(
                f"view: two columns are called {each.name!r}; give one another name with AS"
            )
        if is_kept_beside(name) or name.startswith("_arctic_"):
            raise InvalidInputError(
                f"view: column {each.name!r} has a name that Arctic needs; give it another with AS"
            )
        seen.add(name)


def groups_of(group: Any, items: Sequence[Any], sources: Sequence[Source]) -> list[Any]:
    """Return what rows are grouped by; by number and by alias too, as DuckDB does.

    Args:
        group: ``GROUP BY``, not bound yet; None: there is none.
        items: the columns of the statement.
        sources: its tables; a column of theirs comes before an alias.
    """
    exp = expressions()
    if group is None:
        return []
    several = isinstance(group.find(exp.Rollup, exp.Cube, exp.GroupingSets), exp.Expression)
    if several or group.args.get("totals"):
        raise not_kept("it groups in several ways at once; make a view of each")
    if group.args.get("all"):
        return [unaliased(each).copy() for each in items if not each.find(exp.AggFunc)]
    return [_group(each, items, sources).copy() for each in group.expressions]


def _group(given: Any, items: Sequence[Any], sources: Sequence[Source]) -> Any:
    exp = expressions()
    if isinstance(given, exp.Literal) and given.is_int:
        place = int(given.this)
        if not 1 <= place <= len(items):
            raise InvalidInputError(f"view: GROUP BY {place}: there are {len(items)} columns")
        return unaliased(items[place - 1])
    if not isinstance(given, exp.Column) or given.table:
        return given
    if any(each.column(given.name) for each in sources):
        return given
    aliased = [each for each in items if isinstance(each, exp.Alias)]
    return next((each.this for each in aliased if each.alias.lower() == given.name.lower()), given)


def _aggregate(inner: Any) -> Aggregate | None:
    exp = expressions()
    calls = list(inner.find_all(exp.AggFunc))
    if not calls:
        return None
    for call in calls:
        if type(call).__name__ not in {*_KEPT, *_RECOUNTED}:
            raise not_kept(f"{text_of(call)} may come out another in another order of rows")
    bare, cast, condition = inner, None, None
    if type(bare) is exp.Cast and text_of(bare.to) in _WHOLE_NUMBERS:
        bare, cast = bare.this, text_of(bare.to)
    if isinstance(bare, exp.Filter):
        bare, condition = bare.this, text_of(bare.expression.this)
    function = _KEPT.get(type(bare).__name__, "")
    of = bare.this if function else None
    is_plain = not (isinstance(of, exp.Distinct | exp.Order) or bare.expressions)
    if not function or not is_plain or (cast and function not in ("sum", "count")):
        return Aggregate(function="", argument=None)
    argument = None if isinstance(of, exp.Star) else text_of(of)
    if condition is not None:
        argument = f"CASE WHEN {condition} THEN {argument or 1} END"
    return Aggregate(function=function, argument=argument, cast=cast)


def _usual_name(inner: Any) -> str:
    """Return what a column is called that has no name of its own."""
    exp = expressions()
    function = _KEPT.get(type(inner).__name__)
    if function and isinstance(inner.this, exp.Star):
        return function
    if function and isinstance(inner.this, exp.Column):
        return f"{function}_{inner.this.name}"
    raise InvalidInputError(f"view: {text_of(inner)} needs a name; write {text_of(inner)} AS name")
