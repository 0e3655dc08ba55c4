"""Properties of a new table whose caller says how rows are to lie.

Rules:
    - Whoever says it twice is refused: the two may differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arctic.errors import InvalidInputError
from arctic.options import INDEX_COLUMNS, SORT_COLUMNS


def with_layout(
    properties: Mapping[str, str], *, sort_by: Sequence[str], index: Sequence[str]
) -> dict[str, str]:
    """Return properties that say what rows are sorted by, and which columns are indexed, as well.

    Args:
        properties: as the caller gave them.
        sort_by: columns, or ``hilbert(a, b)``, the most significant first; none: they say nothing.
        index: names of columns; none: they say nothing.

    Raises:
        InvalidInputError: they say it already.
    """
    named = dict(properties)
    given = (("sort_by", sort_by, SORT_COLUMNS), ("index", index, INDEX_COLUMNS))
    for what, texts, option in given:
        if texts and option.is_given(properties):
            raise InvalidInputError(
                f"{what} {list(texts)} and table property {option.name}: give one of the two"
            )
        if texts:
            named[option.name] = ",".join(texts)
    return named
