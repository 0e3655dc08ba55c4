"""Numbers of JSON with all of their digits, which DuckDB's reader takes for doubles.

Strategy: each number becomes a text between two marks before the document is read. The mark is a
code point that Unicode keeps for such use, so no text holds it; a document that does is refused.
Afterwards a value that begins with the mark was a number, and taking the marks out gives what the
document said.
"""

from __future__ import annotations

Sql = str
_MARK = "\ufdd0"
_STRING = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"


def marked(document: Sql) -> Sql:
    """Return the expression of a valid document whose numbers are marked texts."""
    # Strings match so that numbers in them do not; what is put behind them goes again.
    each = rf"""'\1"{_MARK}\2{_MARK}"'"""
    every = f"regexp_replace({document}, '({_STRING})|({_NUMBER})', {each}, 'g')"
    return f"""replace({every}, '"{_MARK}{_MARK}"', '')"""


def has_mark(document: Sql) -> Sql:
    """Return the condition that a document holds the mark itself, so it cannot be marked."""
    return rf"(contains({document}, '{_MARK}') OR contains(lower({document}), '\ufdd0'))"


def unmarked(value: Sql) -> Sql:
    """Return the expression of a value, or of JSON, as the document had it."""
    nested = f"""replace(replace({value}, '"{_MARK}', ''), '{_MARK}"', '')"""
    return f"replace({nested}, '{_MARK}', '')"


def is_number(value: Sql) -> Sql:
    """Return the condition that a value of a marked document was a number."""
    return f"coalesce(starts_with({value}, '{_MARK}'), false)"


def fields_of(document: str) -> str:
    """Return the expression of a document's fields; null if it is no object, or has one twice."""
    keys = f"json_keys({document})"
    return (
        f"CASE WHEN json_type({document}) = 'OBJECT' AND len({keys}) = len(list_distinct({keys})) "
        f"THEN ({document})::MAP(VARCHAR, VARCHAR) END"
    )


def plain_fields(fields: str) -> str:
    """Return the expression of fields whose values are as the message has them."""
    return (
        f"map_from_entries(list_transform(map_entries({fields}), "
        f"lambda e: {{key: e.key, value: {unmarked('e.value')}}}))"
    )


def numbered_fields(fields: str) -> str:
    """Return the expression of the names of the fields that are numbers."""
    named = f"list_filter(map_entries({fields}), lambda e: {is_number('e.value')})"
    return f"coalesce(list_transform({named}, lambda e: e.key), [])"
