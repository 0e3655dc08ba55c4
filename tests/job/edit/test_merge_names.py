"""Merges and updates as users of other formats write them: aliases, the key, values by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.job.edit.rows import ROWS, make, rows_of

SOURCE = pa.table({"id": [1, 8], "city": ["t.city", "Lima"], "n": [10, 80], "more": [0, 0]})


def test_two_aliases_stand_for_both_sides(tmp_path: Path) -> None:
    """In every expression, quoted or not, in any case; not in texts, comments and fields."""
    table = make(tmp_path, "keyed", merged=True)

    report = (
        table.merge(SOURCE, "T.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update(
            {"n": """"t" . n + S.n""", "city": "{'s': s.city || ' s.n'}.s -- s.n"},
            condition="'é' <> 't.n' AND t /* t.x */ .x > 1",
        )
        .when_not_matched_insert({"id": "s.id", "city": "source.city"})
        .when_not_matched_by_source_update({"x": "t.n"}, condition="t.city = 'Bern'")
        .execute()
    )

    one = {**ROWS[0], "n": 11, "city": "t.city s.n"}
    eight = {"id": 8, "city": "Lima", "n": None, "x": None}
    assert rows_of(table) == [one, *ROWS[1:], eight]
    assert (report.rows_updated, report.rows_inserted) == (2, 1)


def test_the_sides_may_be_called_as_the_other_one_is_by_default(tmp_path: Path) -> None:
    """Then each name stands for what the caller says."""
    table = make(tmp_path, "no key")

    merge = table.merge(
        SOURCE, "source.id = target.id", source_alias="target", target_alias="SOURCE"
    )
    merge.when_matched_update({"n": "source.n - target.n"}).execute()

    assert rows_of(table) == [{**ROWS[0], "n": -9}, *ROWS[1:]]


def test_what_stands_before_the_first_word_hides_no_alias(tmp_path: Path) -> None:
    """Conditions of several lines begin with a line break, and some with a comment."""
    table = make(tmp_path, "keyed")

    merge = table.merge(
        SOURCE, "\n  source.id = target.id\n", source_alias="target", target_alias="source"
    )
    merge.when_matched_update({"n": " source.n - target.n", "x": "/* x */ target.n"}).execute()

    assert rows_of(table) == [{**ROWS[0], "n": -9, "x": 10.0}, *ROWS[1:]]


def test_without_a_condition_the_key_must_be_equal(tmp_path: Path) -> None:
    """Which is an upsert that reads nothing; a table without a key has none to compare."""
    table = make(tmp_path / "keyed", "keyed")
    source = pa.Table.from_pylist([{**ROWS[0], "n": 7}, {**ROWS[1], "id": 9}])

    report = table.merge(source).when_matched_update_all().when_not_matched_insert_all().execute()

    assert not report.reads_table
    assert rows_of(table) == [{**ROWS[0], "n": 7}, *ROWS[1:], {**ROWS[1], "id": 9}]
    plain = make(tmp_path / "plain", "no key")
    with pytest.raises(arctic.InvalidInputError, match=r"'m\.t' on no condition: .* expected on="):
        plain.merge(source).when_matched_delete().execute()
    with pytest.raises(arctic.InvalidInputError, match="on 'id': expected a column of both"):
        table.merge(source.drop_columns("id")).when_matched_delete().execute()


def test_columns_are_set_by_position_too(tmp_path: Path) -> None:
    """Behind the condition; an update that sets nothing is refused."""
    table = make(tmp_path, "keyed")

    assert table.update("id = 1", {"n": 6}).rows_updated == 1

    assert rows_of(table)[0]["n"] == 6
    with pytest.raises(arctic.InvalidInputError, match="set of no column"):
        table.update("id = 1")


@pytest.mark.parametrize(
    ("aliases", "says"),
    [
        ({"source_alias": "target"}, "calls rows of the table and of the source 'target'"),
        ({"source_alias": "T", "target_alias": "t"}, "source 't'; expected two names"),
        ({"source_alias": " "}, "alias ' ' of a merge: expected a name"),
        ({"target_alias": 1}, "alias 1 of a merge: expected a name"),
    ],
)
def test_aliases_that_tell_no_sides_apart_are_refused(
    tmp_path: Path, aliases: dict[str, Any], says: str
) -> None:
    """Before anything is read."""
    with pytest.raises(arctic.InvalidInputError, match=says):
        make(tmp_path, "keyed").merge(SOURCE, "id", **aliases)


@pytest.mark.parametrize("function", ["t -> t.n", "lambda t: t.n", "(a, t) -> t.n"])
def test_a_parameter_that_is_called_as_a_side_is_refused(tmp_path: Path, function: str) -> None:
    """It hides the alias, and would be taken for it."""
    merge = make(tmp_path, "keyed").merge(SOURCE, target_alias="t")
    with pytest.raises(arctic.InvalidInputError, match="'t' is an alias of the merge and stands"):
        merge.when_matched_update({"n": f"list_sum(list_transform([t], {function}))"})


def test_columns_that_only_the_source_has_are_left_out(tmp_path: Path) -> None:
    """By the clauses that take all columns of the table; an edit does not go by `mergeSchema`."""
    table = make(tmp_path, "keyed")
    source = SOURCE.append_column("x", pa.array([0.5, 0.5]))

    table.merge(source).when_matched_update_all().when_not_matched_insert_all().execute()

    assert table.refresh().schema.names == ["id", "city", "n", "x"]
    assert [row["n"] for row in rows_of(table) if row["x"] == 0.5] == [10, 80]
    with pytest.raises(arctic.InvalidInputError, match="mergeSchema"):
        table.merge(source, options={"mergeSchema": "true"})
