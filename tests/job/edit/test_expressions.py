"""Which columns expressions read, and what none may speak of, as DuckDB understands them."""

from __future__ import annotations

from pathlib import Path

import pytest

from arctic.errors import InvalidInputError
from arctic.job.edit.expressions import check_expressions, mentioned, reads_target
from tests.job.edit.rows import make, rows_of

NAMES = ["id", "City", "n", "a$b", "two words", "smile\N{GRINNING FACE}", "address", "on"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("city = 'id' -- n", {"City"}),
        ("target.n * 2", {"n"}),
        ("TARGET . CITY", {"City"}),
        ('"two words" || "City"', {"two words", "City"}),
        ("a$b > 2", {"a$b"}),
        ("smile\N{GRINNING FACE} is null", {"smile\N{GRINNING FACE}"}),
        ("city.upper()", {"City"}),
        ("target.city.upper()", {"City"}),
        ("address.street.number = 5", {"address"}),
        ("target.address['n'] = 5", {"address"}),
        ("address.street.upper()", {"address"}),
        ("list_transform([1], x -> x + n)", {"n"}),
        ("CASE WHEN n IN (1, id) THEN 1 END", {"n", "id"}),
        ("source.id = 3", {"id"}),
        ("{'id': 5}", set()),
        ("$$ n $$", set()),
        (r"E'\' n '", set()),
        ("1", set()),
        (" || ".join(["n"] * 900), {"n"}),
    ],
    ids=lambda given: given[:40] if isinstance(given, str) else "",
)
def test_columns_are_known_by_the_names_that_an_expression_says(
    text: str, expected: set[str]
) -> None:
    """What a text only looks like does not count, and nothing is overlooked."""
    assert mentioned([text], NAMES) == expected
    assert mentioned(["1", text], NAMES) == expected


def test_a_column_may_be_called_like_a_side(tmp_path: Path) -> None:
    """Then the word is the column."""
    check_expressions(["target > source"], ["source", "Target"])
    assert mentioned(["target > 5"], ["id", "Target"]) == {"Target"}
    assert mentioned(["target > 5"], ["id"]) == {"id"}
    table = make(tmp_path, "keyed")
    table.evolve_schema(rename={"n": "target", "x": "source"})

    assert table.update("target + 0 = 4", set={"source": "target + source"}).rows_updated == 1
    assert [row["source"] for row in rows_of(table)][3:] == [8.0, 5.0]


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("source.id + 1", False),
        ('SOURCE . "City"', False),
        ("source.address.city", False),
        ("more > 1", False),
        ("'target.n'", False),
        ("target.more", True),
        ("n", True),
        ("source.id + n", True),
        ("target.n.abs()", True),
        ("source", True),
    ],
)
def test_rows_of_the_table_are_read_where_an_expression_may_mean_one(
    text: str, is_read: bool
) -> None:
    """A column without a side may be of either."""
    assert reads_target(["1", text], NAMES) == is_read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#1 + 0 = 1", "columns by their names"),
        ("target::varchar like '%Rome%'", r"whole row.*such as target\.id"),
        ("to_json(target) = '{}'", "whole row"),
        ("hash(TARGET) > 0", "whole row"),
        ('"target" is null', "whole row"),
        ("target.struct_extract('n') = 1", "whole row"),
        ("source is null", "whole row"),
        ("least(*COLUMNS('o')) = 1", "columns by their names"),
        ("COLUMNS(*) = 1", "columns by their names"),
        ("id IN (SELECT 1)", "single row"),
        (r"E'\'' = (SELECT 'x')", "single row"),
        ("row_number() OVER () = 1", "single row"),
        ("row_number() over/* */() = 1", "single row"),
        ("id IN (FROM target)", "single row"),
        ("UNNEST([id = 1])", "rows of a list"),
        ("regexp_split_to_table(city, 'o') = 'R'", "rows of a list"),
        ("1 = 1) OR (1 = 1", "syntax error"),
        ("id = ", "syntax error"),
        (" + ".join(["id"] * 3000), "depth"),
    ],
    ids=lambda given: given[:40],
)
def test_what_would_see_other_columns_or_rows_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    """Only the columns that are named may have been read, beside one of our own."""
    table = make(tmp_path, "keyed")
    before = rows_of(table)

    with pytest.raises(InvalidInputError, match=message):
        check_expressions(["1", text], NAMES)
    with pytest.raises(InvalidInputError):
        table.delete(text)
    with pytest.raises(InvalidInputError):
        table.update(set={"city": text})
    merge = table.merge(table.read().read_all(), on="id").when_matched_delete(condition=text)
    with pytest.raises(InvalidInputError):
        merge.execute()
    assert rows_of(table) == before


def test_names_with_signs_are_read(tmp_path: Path) -> None:
    """DuckDB takes a dollar sign for a part of a name."""
    table = make(tmp_path, "keyed")
    table.evolve_schema(rename={"n": "a$b"})

    assert table.delete("a$b + 0 = 4").rows_deleted == 1
    assert [row["id"] for row in rows_of(table)] == [1, 2, 3, 5]
