"""Statements as views: what is understood, and why the others cannot be kept."""

from __future__ import annotations

import pytest

from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.views.parse_view import parse_view, without_stars
from arctic.views.sql_tree import source_names
from arctic.views.view_query import Source, ViewQuery
from arctic.views.view_statements import Statements

SOURCES = {
    "shop.orders": Source(
        identifier="shop.orders",
        alias="",
        columns=("id", "user", "city", "v", "day"),
        key=("id",),
        required=frozenset({"id", "day"}),
        shown=("id", "user", "city", "v", "day"),
    ),
    "shop.users": Source(
        identifier="shop.users",
        alias="",
        columns=("name", "land", "city"),
        key=("name", "land"),
        required=frozenset({"name", "land"}),
        shown=("name", "land", "city"),
    ),
    "shop.log": Source(
        identifier="shop.log",
        alias="",
        columns=("a", "b"),
        key=(),
        required=frozenset(),
        shown=("a", "b"),
    ),
}


def view(sql: str) -> ViewQuery:
    """Parse a view of the tables above."""
    return parse_view(sql, {name: SOURCES[name] for name in source_names(sql)})


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("SELECT * FROM shop.orders", ("id",)),
        ("select v, o.ID as number from shop.orders o where v > 1", ("number",)),
        ("SELECT city, sum(v) FROM shop.orders GROUP BY city", ("_group",)),
        ("SELECT day AS d, count(*) FROM shop.orders GROUP BY d", ("d",)),
        ("SELECT city FROM shop.orders WHERE v > 1 AND (city IS NOT NULL) GROUP BY 1", ("city",)),
        ("SELECT city FROM shop.orders WHERE v > 1 OR city IS NOT NULL GROUP BY 1", ("_group",)),
        ("SELECT city FROM shop.orders WHERE city IS NULL GROUP BY 1", ("_group",)),
        ("SELECT a, max(b) FROM shop.log GROUP BY ALL", ("_group",)),
        (
            "SELECT o.*, u.city AS home FROM shop.users u JOIN shop.orders o "
            "ON u.land = o.city AND o.user = u.name",
            ("id",),
        ),
    ],
)
def test_rows_are_told_apart_by_a_key(sql: str, key: tuple[str, ...]) -> None:
    """That of the source, or the groups; where one may be null, as a text."""
    assert view(sql).key == key


@pytest.mark.parametrize(
    ("said", "widens"),
    [
        ("v", True),
        ("v AS w, v > 3 AND v IS NOT NULL AS is_large", True),
        ("v + 1 AS w", False),
        ("v, v::VARCHAR AS text", False),
        ("v, bit_count(v) AS bits", False),
    ],
)
def test_only_what_compares_a_number_says_the_same_of_a_wider_one(said: str, widens: bool) -> None:
    """Arithmetic may come to another type, a function may look at the bits."""
    found = view(f"SELECT id, {said} FROM shop.orders")
    assert ("v" in found.widens["orders"]) is widens


def test_sums_say_the_same_of_a_wider_number() -> None:
    """They are exact whatever the type; a condition that computes with the number is not known."""
    sums = "SELECT city, sum(v), min(v) FILTER (WHERE v < 3) AS least FROM shop.orders"
    assert view(f"{sums} WHERE v IN (1, 2) GROUP BY city").widens == {"orders": {"city", "v"}}
    assert view(f"{sums} WHERE v * 2 < 9 GROUP BY city").widens == {"orders": {"city"}}


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT v FROM shop.orders", "does not show 'id'"),
        ("SELECT id + 1 AS id FROM shop.orders", "does not show 'id'"),
        ("SELECT a FROM shop.log", "no primary key"),
        ("SELECT sum(v) FROM shop.orders", "has no group"),
        ("SELECT id FROM shop.orders ORDER BY id", "ORDER looks at the whole"),
        ("SELECT id FROM shop.orders LIMIT 3", "LIMIT looks at the whole"),
        ("SELECT city FROM shop.orders GROUP BY 1 HAVING sum(v) > 1", "HAVING looks"),
        ("SELECT DISTINCT id FROM shop.orders", "DISTINCT looks"),
        ("SELECT id, sum(v) OVER () AS s FROM shop.orders", "window"),
        ("SELECT id FROM shop.orders WHERE v > (SELECT max(b) FROM shop.log)", "inside another"),
        ("WITH q AS (SELECT id FROM shop.orders) SELECT id FROM q", "WITH looks"),
        ("SELECT id FROM shop.orders UNION SELECT a FROM shop.log", "UNION joins"),
        ("SELECT id, unnest([1, 2]) AS n FROM shop.orders", "several rows"),
        ("SELECT id, current_date AS now FROM shop.orders", "not the same at every"),
        ("SELECT id, uuid() AS now FROM shop.orders", "not the same at every"),
        ("SELECT id FROM shop.orders TABLESAMPLE 10%", "expected a table as it is"),
        ("SELECT city, list(v) AS l FROM shop.orders GROUP BY 1", "another order of rows"),
        ("SELECT city, first(v) AS l FROM shop.orders GROUP BY 1", "another order of rows"),
        ("SELECT city, sum(v) FROM shop.orders GROUP BY city, day", "does not show it"),
        ("SELECT city, 1 AS one FROM shop.orders GROUP BY city, 2", "by a constant"),
        ("SELECT city FROM shop.orders GROUP BY ROLLUP (city)", "several ways"),
        ("SELECT o.id FROM shop.orders o JOIN shop.orders p ON o.id = p.id", "one table twice"),
        ("SELECT id FROM shop.orders JOIN shop.users ON user = name", "whole primary key"),
        ("SELECT id FROM shop.orders FULL JOIN shop.users ON user = name", "of kind FULL"),
        ("SELECT id FROM shop.orders, shop.users", "does not say what is equal"),
        ("SELECT id FROM shop.orders JOIN shop.users ON v > 1", "expected columns that are equal"),
        (
            "SELECT name, land FROM shop.users LEFT JOIN shop.orders ON user = name",
            "whole primary key",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason(sql: str, why: str) -> None:
    """And with what to do instead."""
    with pytest.raises(UnsupportedError, match=f"{why}.*full=True"):
        view(sql)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELEC", "expected one SELECT"),
        ("SELECT 1 AS one", "expected a table"),
        ("SELECT id FROM orders", "'namespace.table'"),
        ("DROP TABLE shop.orders", "expected one SELECT"),
        ("SELECT id FROM shop.orders; SELECT id FROM shop.orders", "expected one SELECT"),
        ("SELECT id, v + 1 FROM shop.orders", "needs a name"),
        ("SELECT id, v AS ID FROM shop.orders", "two columns are called"),
        ("SELECT id, v AS _group FROM shop.orders", "a name that Arctic needs"),
        ("SELECT city, v FROM shop.orders GROUP BY city", "neither grouped by"),
        ("SELECT id, city FROM shop.orders JOIN shop.users ON user = name", "say of which"),
    ],
)
def test_statements_that_are_none_are_refused(sql: str, why: str) -> None:
    """Before any table is asked."""
    with pytest.raises(InvalidInputError, match=why):
        view(sql)


def test_a_column_that_no_table_has_is_named() -> None:
    """With those that there are."""
    with pytest.raises(NotFoundError, match="column x is not known; there are id, user"):
        view("SELECT id, x FROM shop.orders")


def test_stars_are_the_columns_of_the_day() -> None:
    """A column that comes later does not change the view."""
    named = without_stars("SELECT * FROM shop.log l", SOURCES)
    assert named == 'SELECT "l"."a", "l"."b" FROM shop.log AS l'


def test_sums_that_round_are_counted_anew() -> None:
    """Others bring what they are kept by."""
    query = view("SELECT city, sum(v), min(v), count(*) FROM shop.orders GROUP BY city")
    kept, counted = Statements.of(query, ["sum_v"]), Statements.of(query, [])
    assert kept.columns == (
        *("city", "sum_v", "min_v", "count"),
        *("_count_sum_v", "_group"),
    )
    assert [each.recount for each in kept.keepings].count("true") == 0
    assert [each.recount for each in counted.keepings].count("true") == 1
