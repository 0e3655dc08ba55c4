"""Statements of SQL as trees of sqlglot: read, asked for their tables, written again.

Must not know: what of a statement can be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arctic.errors import InvalidInputError, UnsupportedError


def source_names(sql: str) -> tuple[str, ...]:
    """Return the tables that a statement reads, each once.

    >>> sorted(source_names("SELECT id FROM shop.orders o JOIN shop.users u ON o.user_id = u.id"))
    ['shop.orders', 'shop.users']

    Raises:
        InvalidInputError: it is not one SELECT over tables.
        UnsupportedError: sqlglot is not installed.
    """
    return tuple(dict.fromkeys(identifier_of(each) for each in _tables(parsed(sql))))


def whole_statement(sql: str, names: Mapping[str, str]) -> str:
    """Return a statement with other names for its tables; they keep what it calls them.

    >>> whole_statement("select v from shop.orders", {"shop.orders": "source0"})
    'SELECT v FROM source0 AS orders'
    """
    exp, tree = expressions(), parsed(sql)
    for table in _tables(tree):
        name, alias = names[identifier_of(table)], table.args.get("alias")
        if alias is None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(name))
        for part in ("db", "catalog"):
            table.set(part, None)
    return text_of(tree)


def called_functions(sql: str) -> frozenset[str]:
    """Return the functions that a statement calls, in small letters.

    >>> sorted(called_functions("SELECT Round(v), now() FROM shop.orders"))
    ['now', 'round']
    """
    found = parsed(sql).find_all(expressions().Func)
    return frozenset(text_of(each).partition("(")[0].strip().lower() for each in found)


def parsed(sql: str) -> Any:
    """Return a statement as a tree.

    Raises:
        InvalidInputError: it is not one SELECT over tables.
        UnsupportedError: sqlglot is not installed.
    """
    sqlglot = _sqlglot()
    try:
        trees = [each for each in sqlglot.parse(sql, dialect="duckdb") if each is not None]
    except sqlglot.errors.SqlglotError as error:
        raise InvalidInputError(f"view {sql!r}: {str(error).partition(chr(10))[0]}") from error
    if len(trees) != 1 or not isinstance(trees[0], sqlglot.exp.Query):
        raise InvalidInputError(f"view {sql!r}: expected one SELECT")
    if not _tables(trees[0]):
        raise InvalidInputError(f"view {sql!r}: expected a table behind FROM")
    return trees[0]


def expressions() -> Any:
    """Return the kinds of expressions that trees are made of.

    Raises:
        UnsupportedError: sqlglot is not installed.
    """
    return _sqlglot().exp


def text_of(tree: Any) -> str:
    """Return a part of a statement as DuckDB reads it."""
    return str(tree.sql(dialect="duckdb"))


def identifier_of(table: Any) -> str:
    """Return the name of a table.

    Raises:
        InvalidInputError: it has no namespace, or is no name.
    """
    parts = [part.name for part in table.parts]
    if len(parts) < 2 or not all(parts):
        raise InvalidInputError(f"view: table {text_of(table)}: expected 'namespace.table'")
    return ".".join(parts)


def unaliased(item: Any) -> Any:
    """Return what a column of a statement is, without its name."""
    return item.this if isinstance(item, expressions().Alias) else item


def quoted(name: str) -> str:
    """Return a name as SQL quotes it.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def not_kept(reason: str) -> UnsupportedError:
    """Say that a view cannot be kept from changes, and what to do."""
    return UnsupportedError(
        f"view: {reason}, so it cannot be kept from changes; full=True makes a view that every "
        "refresh computes anew"
    )


def _tables(tree: Any) -> list[Any]:
    exp = expressions()
    within = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    found = tree.find_all(exp.Table)
    return [each for each in found if each.db or each.name.lower() not in within]


def _sqlglot() -> Any:
    try:
        import sqlglot  # noqa: PLC0415 - an extra, which few processes need
        import sqlglot.errors  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise UnsupportedError(
            "views need sqlglot and DuckDB; install the extra, in a checkout: "
            "pip install '.[views]'"
        ) from error
    return sqlglot
