"""What expressions of SQL speak of, as DuckDB understands them.

Rules:
    - An expression is over one row: rows are evaluated batch by batch, so what looks at several of
      them would see a part.
    - It calls columns by their names. Those that it does not name may not be read, and what it is
      evaluated on has columns of our own: a place, a star or a whole row would be another there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arctic.cdc.engine import said_of_expressions
from arctic.errors import InvalidInputError
from arctic.last_used import LastUsed

TARGET, SOURCE = "target", "source"
_Reference = tuple[str, ...]
"""A name in lower case, part by part; of some only the first part that may be a column's."""
_ONE_ROW = "expected one over a single row, without SELECT and OVER"
_BY_NAME = "expected columns by their names"
_REFUSED = {
    "SUBQUERY": _ONE_ROW,
    "WINDOW": _ONE_ROW,
    "STAR": _BY_NAME,
    "POSITIONAL_REFERENCE": _BY_NAME,
}
_ROWS_OF_A_LIST = frozenset({"unnest", "unlist", "generate_subscripts", "regexp_split_to_table"})
"""Functions that make several rows of one, or none."""

_CALLED_ON = {"schema": (), "catalog": ("",)}
"""Where a function stands behind a point, and which parts follow in the name before that.

It may be a column: ``city.upper()`` is of a schema ``city``, ``target.city.upper()`` of a catalog
``target`` too.
"""
_known: LastUsed[str, frozenset[_Reference]] = LastUsed()
_MOST_KNOWN = 2**20
"""Characters of the expressions of which it is known what they speak of."""


def check_expressions(given: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse texts that are not expressions over one row, so that they can stand in a statement.

    Args:
        given: the texts.
        columns: of every table that they are evaluated on.

    Raises:
        InvalidInputError: one is none, or is more, or takes a row as one value.
    """
    texts, known = list(given), {name.lower() for name in columns}
    for text, references in zip(texts, _references(texts), strict=True):
        for side in (TARGET, SOURCE):
            if (side,) in references and side not in known:
                raise InvalidInputError(
                    f"expression {text!r}: {side} is a whole row; {_BY_NAME}, such as {side}.id"
                )


def mentioned(texts: Iterable[str], names: Sequence[str]) -> set[str]:
    """Return the columns that expressions may read; those of another table of that name too.

    >>> sorted(mentioned(["target.Price > 2 and city = 'id'"], ["id", "price", "city"]))
    ['city', 'price']

    Raises:
        InvalidInputError: as ``check_expressions``.
    """
    references = frozenset[_Reference]().union(*_references(list(texts)))
    parts = {part for reference in references for part in reference}
    found = {name for name in names if name.lower() in parts}
    is_whole = (TARGET,) in references and TARGET not in {name.lower() for name in found}
    return set(names) if is_whole else found


def reads_target(texts: Iterable[str], names: Sequence[str]) -> bool:
    """Say whether expressions may read a row of the table, not only of the source.

    Raises:
        InvalidInputError: as ``check_expressions``.
    """
    own = {TARGET, SOURCE, *(name.lower() for name in names)}
    return any(
        not own.isdisjoint(reference)
        for references in _references(list(texts))
        for reference in references
        if reference[0] != SOURCE or len(reference) == 1
    )


def _references(given: Sequence[str]) -> list[frozenset[_Reference]]:
    known = {text: _known.get(text) for text in given}
    asked = [text for text, references in known.items() if references is None]
    for text, references in zip(asked, _asked(asked), strict=True):
        known[text] = references
        _known.put(text, references, weight=len(text), most=_MOST_KNOWN)
    return [known[text] or frozenset() for text in given]


def _asked(given: Sequence[str]) -> list[frozenset[_Reference]]:
    """Ask DuckDB of several at once, as that takes as long as to ask of one."""
    found: list[set[_Reference]] = [set() for _ in given]
    classes: list[set[str]] = [set() for _ in given]
    keys = ("class", "column_names", "function_name", *_CALLED_ON)
    for place, key, value in said_of_expressions(given, keys):
        if key == "class":
            classes[place].add(value)
        elif key == "column_names":
            found[place].add(tuple(part.lower() for part in value))
        elif key == "function_name":
            if value.lower() in _ROWS_OF_A_LIST:
                raise InvalidInputError(
                    f"expression {given[place]!r}: {value} makes rows of a list; expected one "
                    "value for each row"
                )
        elif value:
            found[place].add((value.lower(), *_CALLED_ON[key]))
    for text, own in zip(given, classes, strict=True):
        for name, expected in _REFUSED.items():
            if name in own:
                raise InvalidInputError(f"expression {text!r}: {expected}")
    return [frozenset(each) for each in found]
