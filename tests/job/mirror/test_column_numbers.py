"""Which column is which one, by what was done to their table."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from arctic.job.mirror.sources.column_numbers import numbered
from arctic.mysql.statements import alteration_of

KNOWN = {"id": 1, "a": 2, "b": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Clauses of statements, and what the columns are after them."""

    id: str
    clauses: tuple[str, ...]
    numbers: dict[str, int]
    """Of each column that is there when the table is looked at."""
    unexplained: tuple[str, ...] = ()


CASES = [
    Case(id="nothing", clauses=(), numbers=KNOWN),
    Case(
        id="a name is taken by another column at once",
        clauses=("DROP COLUMN a, RENAME COLUMN b TO a",),
        numbers={"id": 1, "a": 3},
    ),
    Case(
        id="clauses in another order mean the same",
        clauses=("RENAME COLUMN b TO a, DROP COLUMN a",),
        numbers={"id": 1, "a": 3},
    ),
    Case(
        id="a name is taken by another column in the next statement",
        clauses=("DROP COLUMN a", "RENAME COLUMN b TO a"),
        numbers={"id": 1, "a": 3},
    ),
    Case(
        id="two names change places",
        clauses=("RENAME COLUMN a TO b, RENAME COLUMN b TO a",),
        numbers={"id": 1, "b": 2, "a": 3},
    ),
    Case(
        id="two names change places, over a third one",
        clauses=("RENAME COLUMN a TO c", "RENAME COLUMN b TO a", "CHANGE c b INT"),
        numbers={"id": 1, "b": 2, "a": 3},
    ),
    Case(
        id="names change places twice",
        clauses=("CHANGE a b INT, CHANGE b a INT", "RENAME COLUMN a TO b, RENAME COLUMN b TO a"),
        numbers=KNOWN,
    ),
    Case(
        id="a column of the same name is null in every row",
        clauses=("DROP COLUMN a, ADD COLUMN a INT",),
        numbers={"id": 1, "b": 3, "a": 4},
    ),
    Case(
        id="a column of the same name has values",
        clauses=("DROP COLUMN a, ADD COLUMN a INT DEFAULT 7",),
        numbers={"id": 1, "b": 3, "a": 4},
        unexplained=("a",),
    ),
    Case(
        id="an old name is given to a new column",
        clauses=("RENAME COLUMN a TO c, ADD COLUMN a INT",),
        numbers={"id": 1, "b": 3, "c": 2, "a": 4},
    ),
    Case(
        id="a new column is named anew",
        clauses=("ADD COLUMN c INT", "RENAME COLUMN c TO d"),
        numbers={"id": 1, "a": 2, "b": 3, "d": 4},
    ),
    Case(
        id="a new column is dropped, and its number is not given again",
        clauses=("ADD COLUMN c INT", "DROP COLUMN c", "ADD COLUMN d INT"),
        numbers={"id": 1, "a": 2, "b": 3, "d": 5},
    ),
    Case(
        id="names are told apart without regard to case",
        clauses=("DROP COLUMN A, RENAME COLUMN B TO `A`", "ADD COLUMN b INT"),
        numbers={"id": 1, "A": 3, "b": 4},
    ),
    Case(
        id="a name in another case is the same column",
        clauses=("RENAME COLUMN a TO A",),
        numbers={"id": 1, "A": 2, "b": 3},
    ),
    Case(
        id="what was not there is not dropped, named anew or added",
        clauses=(
            "DROP COLUMN IF EXISTS x, RENAME COLUMN IF EXISTS y TO a, "
            "ADD COLUMN IF NOT EXISTS b INT",
        ),
        numbers=KNOWN,
    ),
    Case(
        id="a look that is ahead sees a rename that is not read yet",
        clauses=("DROP COLUMN a",),
        numbers={"id": 1, "a": 4},
        unexplained=("a",),
    ),
    Case(
        id="a look that is ahead sees a new column",
        clauses=("RENAME COLUMN a TO c",),
        numbers={"id": 1, "c": 2, "b": 3, "d": 4},
        unexplained=("d",),
    ),
    Case(
        id="a rename that a look was ahead of leaves what was seen then",
        clauses=("RENAME COLUMN gone TO b",),
        numbers=KNOWN,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_column_is_known_by_what_was_done_to_it(case: Case) -> None:
    """A name is not enough; what no statement explains may have any values."""
    found = [alteration_of(f"ALTER TABLE t {text}", "s", "s", "t") for text in case.clauses]
    done = [each for each in found if each is not None]

    columns = dict(zip(case.numbers, numbered(list(case.numbers), KNOWN, done), strict=True))

    assert {name: column.number for name, column in columns.items()} == case.numbers
    assert case.unexplained == tuple(
        name for name, column in columns.items() if not column.is_explained
    )
