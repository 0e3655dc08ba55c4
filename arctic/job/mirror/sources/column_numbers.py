"""Numbers for columns that their server only names, carried through what was done to their table.

Rules:
    - The clauses of a statement name columns as they were before it, so a name that one column
      leaves another may take, and two may change places.
    - Servers tell names apart without regard to case.
    - The table may be looked at long after a statement: a column that is there and that no
      statement explains is a new one, with values that no event tells.

Must not know: servers, logs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arctic.mysql.statements import Alteration


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNumber:
    """What a column is told from every other one by."""

    number: int
    is_explained: bool
    """Whether its values are those that the number had, or null in every row."""


def numbered(
    names: Sequence[str], known: Mapping[str, int], done: Sequence[Alteration]
) -> tuple[ColumnNumber, ...]:
    """Return the numbers of columns.

    >>> done = [Alteration(drops=("a",), renames=(("b", "a"),))]
    >>> [each.number for each in numbered(["id", "a"], {"id": 1, "a": 2, "b": 3}, done)]
    [1, 3]

    Args:
        names: of the columns as they are now.
        known: name -> number, before the statements.
        done: one statement after the other; whatever came later is not among them.

    Returns:
        One for each name. New numbers are greater than every one that was known.
    """
    numbers = {name.lower(): number for name, number in known.items()}
    last = max(numbers.values(), default=0)
    for each in done:
        renames = {before.lower(): after.lower() for before, after in each.renames}
        gone = {name.lower() for name in each.drops}.union(renames)
        stay = {name: number for name, number in numbers.items() if name not in gone}
        moved = {renames[name]: number for name, number in numbers.items() if name in renames}
        numbers = {**stay, **moved}
        for name in each.adds:
            # What is there already was added after a look that saw it, or only if it was not there.
            if name.lower() not in numbers:
                last += 1
                numbers[name.lower()] = last
    found = []
    for name in names:
        number = numbers.get(name.lower())
        is_explained = number is not None
        if number is None:
            number = last = last + 1
        found.append(ColumnNumber(number=number, is_explained=is_explained))
    return tuple(found)
