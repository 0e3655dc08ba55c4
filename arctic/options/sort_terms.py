"""What rows are sorted by: columns one after another, or several that count alike, on a curve."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from arctic.options.option_values import column_names, partition_fields


class CurveKind(Enum):
    """How the ranks of several columns become one number; the value is what a property says."""

    ZORDER = "zorder"
    """Their bits take turns."""
    HILBERT = "hilbert"
    """As one goes through a square without a jump: each number is beside the one before."""


@dataclass(frozen=True, slots=True)
class SortTerm:
    """One place in an order.

    >>> str(SortTerm(("lat", "lon"), CurveKind.HILBERT)), str(SortTerm(("day",)))
    ('hilbert(lat,lon)', 'day')
    """

    columns: tuple[str, ...]
    """One, or two to four that count alike."""
    curve: CurveKind | None = None
    """None: it is one column."""

    def __iter__(self) -> Iterator[str]:
        """Yield the columns."""
        return iter(self.columns)

    def __str__(self) -> str:
        """Return the text that ``sort_terms`` reads."""
        names = ",".join(self.columns)
        return names if self.curve is None else f"{self.curve.value}({names})"


def sort_terms(text: str) -> tuple[SortTerm, ...]:
    """Read what rows are sorted by.

    >>> [str(term) for term in sort_terms("region, ZORDER (lat, lon)")]
    ['region', 'zorder(lat,lon)']
    """
    terms = [_term(part) for part in partition_fields(text)]
    columns = [name for term in terms for name in term]
    if len(set(columns)) != len(columns):
        raise ValueError("expected each column once, as in 'day, hilbert(lat, lon)'")
    return tuple(terms)


def sort_text(terms: Iterable[SortTerm]) -> str:
    """Return the text that ``sort_terms`` reads."""
    return ",".join(map(str, terms))


def clustered(columns: Iterable[str]) -> SortTerm:
    """Return the place of columns of which nobody says how they count alike."""
    names = tuple(columns)
    return SortTerm(names, CurveKind.HILBERT if len(names) > 1 else None)


def _term(part: str) -> SortTerm:
    kinds = "|".join(kind.value for kind in CurveKind)
    match = re.fullmatch(rf"({kinds})\s*\((.*)\)", part, re.IGNORECASE)
    if match is None:
        term = SortTerm((part,))
    else:
        term = SortTerm(column_names(match.group(2)), CurveKind(match.group(1).lower()))
    if not 2 <= len(term.columns) <= 4 if match else "," in part:
        raise ValueError(
            "expected columns, or two to four of them as hilbert(lat, lon) or zorder(lat, lon)"
        )
    return term
