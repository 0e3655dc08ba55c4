"""Events of one table become rows with an action column, in the table's own types.

Rules:
    - An update with a row before is that row and the row after it, so a changed key or partition
      is a delete there and an insert here.
    - A row whose values cannot be read exactly is broken, with its update as a whole; what it
      would have replaced stays as it was.
    - Of a row before only the key must be readable; what else of it is not becomes null.
    - In a table with ordering columns a row before is no event, but where its key goes it is a
      delete. That and every row after have a value in these columns, or are broken.

Must not know: envelopes, catalogs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from arctic.cdc.decode import PLAIN, Encoding, decode
from arctic.cdc.engine import engine, in_pieces, name, text
from arctic.cdc.events import BROKEN, refused
from arctic.cdc.unread import ReadColumn
from arctic.errors import InvalidInputError

ACTION = "_cdc_action"
ORDER = "_cdc_order"
"""Column names that ``write`` is told as ``action-column`` and ``ordering-column``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRows:
    """What the events of one table come to."""

    rows: pa.Table
    """The table's columns, ``ACTION`` and ``ORDER``."""
    broken: pa.Table
    """``BROKEN``."""
    lacking: frozenset[str] = frozenset()
    """Columns that some row after has no value for, although it should: null was put there."""
    nulls: frozenset[str] = field(default_factory=frozenset)
    """Columns that are null in some row after."""


def typed_rows(
    events: pa.Table,
    columns: Sequence[ReadColumn],
    key: Sequence[str],
    ordering: Sequence[str] = (),
) -> TypedRows:
    """Read the values of events that all have the columns under the same names.

    Args:
        events: ``EVENTS`` of one table, without truncates.
        columns: all columns of the table, in its order.
        key: its key columns.
        ordering: its ordering columns.

    Memory: a few times the events.
    """
    try:
        selection = _Selection.of(columns, key, ordering)
    except InvalidInputError as error:
        return TypedRows(rows=_empty(columns), broken=refused(events, error.message).cast(BROKEN))
    with engine() as connection:
        connection.register("events", in_pieces(events))
        connection.execute(selection.decoded)
        rows = connection.sql(selection.rows).to_arrow_table().cast(_schema(columns))
        broken = connection.sql(_BROKEN).to_arrow_table().cast(BROKEN)
        flags = connection.sql(selection.flags).to_arrow_table().to_pylist()[0]
    return TypedRows(
        rows=rows,
        broken=broken,
        lacking=frozenset(n for n in (c.field.name for c in columns) if flags[f"lacks {n}"]),
        nulls=frozenset(n for n in (c.field.name for c in columns) if flags[f"null {n}"]),
    )


# What came as no text is told by its values.
_BROKEN = """
SELECT seq, ends, source, reason,
       coalesce(message, to_json({
         kind: kind, before: map_from_entries(list_zip(old_names, old_vals)),
         after: map_from_entries(list_zip(names, vals))})::VARCHAR) AS message
FROM decoded WHERE reason IS NOT NULL ORDER BY seq
"""
_BROKEN_VALUES = """
SELECT 0::BIGINT AS seq, 0::BIGINT AS ends, NULL::VARCHAR AS source, reason, message
FROM decoded WHERE reason IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selection:
    """The three queries of one set of columns."""

    decoded: str
    rows: str
    flags: str

    @classmethod
    def of(
        cls, columns: Sequence[ReadColumn], key: Sequence[str], ordering: Sequence[str]
    ) -> _Selection:
        parts, reasons, flags = [], [], []
        numbers = {column.field.name: n for n, column in enumerate(columns)}
        changed = " OR ".join(f"o{numbers[k]} IS DISTINCT FROM n{numbers[k]}" for k in key)
        deletes = f"(kind = 'D' OR (kind = 'U' AND old_names IS NOT NULL AND ({changed})))"
        for number, column in enumerate(columns):
            new, old, is_new, is_old = _texts(column)
            value = f"CASE WHEN {is_new} THEN {new} ELSE {old} END"
            parts += [
                f"{value} AS t{number}",
                f"{_event_decoded(value, column)} AS n{number}",
                f"{_event_decoded(old, column)} AS o{number}",
                f"{is_new} OR {is_old} AS h{number}",
                f"{old} AS u{number}",
            ]
            reasons.append(_reason(column, number, is_key=column.field.name in key))
            if column.field.name in ordering:
                reasons.append(_order_reason(column, number, deletes))
            lacks = "false" if column.absent_is_null else f"NOT h{number}"
            flags += [
                f"bool_or({lacks}) AS {name(f'lacks {column.field.name}')}",
                f"bool_or(t{number} IS NULL) AS {name(f'null {column.field.name}')}",
            ]
        full = " AND ".join(
            f"list_contains(old_names, {text(c.source)})" for c in columns if c.source is not None
        )
        shows_old = deletes
        if not ordering:
            shows_old = f"""kind = 'D' OR (old_names IS NOT NULL AND kind = 'U'
                                      AND ({changed} OR ({full or "false"})))"""
        return cls(
            decoded=f"""
                CREATE TEMP TABLE decoded AS
                SELECT *, CASE {" ".join(reasons)} END AS reason,
                       {shows_old} AS shows_old
                FROM (SELECT *, {", ".join(parts)} FROM events)
            """,
            rows=_rows_query(columns, before="D" if ordering else "-U"),
            flags=f"SELECT {', '.join(flags)} FROM decoded WHERE kind <> 'D' AND reason IS NULL",
        )


def _texts(column: ReadColumn) -> tuple[str, str, str, str]:
    """Return the text after, the text before, and whether the event mentions either."""
    if column.source is None:
        return "NULL::VARCHAR", "NULL::VARCHAR", "false", "false"
    wanted = text(column.source)
    return (
        f"vals[list_position(names, {wanted})]",
        f"old_vals[list_position(old_names, {wanted})]",
        f"coalesce(list_contains(names, {wanted}), false)",
        f"coalesce(list_contains(old_names, {wanted}), false)",
    )


def _decoded(value: str, column: ReadColumn) -> str:
    return decode(f"({value})", column.field.type, column.decoding, column=column.field.name)


def _event_decoded(value: str, column: ReadColumn) -> str:
    """Decode a value of an event, where a decimal may be a number of JSON."""
    decoded = _decoded(value, column)
    if column.source is None or column.decoding.encoding is not Encoding.UNSCALED:
        return decoded
    number = _decoded(value, replace(column, decoding=PLAIN))
    is_number = f"list_contains(numbers, {text(column.source)})"
    return f"CASE WHEN {is_number} THEN {number} ELSE {decoded} END"


def _reason(column: ReadColumn, number: int, *, is_key: bool) -> str:
    label = f"column {column.field.name}"
    unreadable = text(f" is no exact {column.field.type}")
    cases = [
        f"WHEN kind <> 'D' AND t{number} IS NOT NULL AND n{number} IS NULL "
        f"THEN {text(label + ': ')} || left(t{number}, 100) || {unreadable}"
    ]
    if column.absent_is_broken:
        lost = text(
            f"{label}: the event has no value, nor the row before; "
            "if the source has no such column, drop it from the table"
        )
        cases.append(f"WHEN kind = 'U' AND NOT h{number} THEN {lost}")
    if not column.field.nullable or is_key:
        cases.append(f"WHEN kind <> 'D' AND t{number} IS NULL THEN {text(label + ' has no value')}")
    if is_key:
        cases.append(
            f"WHEN (kind = 'D' OR (kind = 'U' AND old_names IS NOT NULL)) AND o{number} IS NULL "
            f"THEN {text(label + ' of the row before: ')} "
            f"|| coalesce(left(u{number}, 100), 'no value')"
        )
    return " ".join(cases)


def _order_reason(column: ReadColumn, number: int, deletes: str) -> str:
    label = f"ordering column {column.field.name}"
    return (
        f"WHEN kind <> 'D' AND t{number} IS NULL THEN {text(label + ' has no value')} "
        f"WHEN {deletes} AND o{number} IS NULL THEN {text(label + ' of the row before: ')} "
        f"|| coalesce(left(u{number}, 100), 'no value')"
    )


def _rows_query(columns: Sequence[ReadColumn], *, before: str) -> str:
    action = text(before)
    after = ", ".join(f"n{n} AS {name(c.field.name)}" for n, c in enumerate(columns))
    old = ", ".join(f"o{n} AS {name(c.field.name)}" for n, c in enumerate(columns))
    return f"""
        SELECT {old}, CASE kind WHEN 'D' THEN 'D' ELSE {action} END AS {name(ACTION)},
               2 * seq AS {name(ORDER)}
        FROM decoded WHERE reason IS NULL AND shows_old
        UNION ALL
        SELECT {after}, CASE kind WHEN 'I' THEN 'I' ELSE '+U' END, 2 * seq + 1
        FROM decoded WHERE reason IS NULL AND kind <> 'D'
        ORDER BY {name(ORDER)}
    """


def _schema(columns: Sequence[ReadColumn]) -> pa.Schema:
    fields = [pa.field(column.field.name, column.field.type) for column in columns]
    return pa.schema([*fields, pa.field(ACTION, pa.string()), pa.field(ORDER, pa.int64())])


def _empty(columns: Sequence[ReadColumn]) -> pa.Table:
    return _schema(columns).empty_table()


def typed_values(texts: pa.Table, columns: Sequence[ReadColumn]) -> TypedRows:
    """Read whole rows that come as texts, such as those of a copy.

    Args:
        texts: one column of texts for each of ``columns``, under its source name.
        columns: all columns of the table, in its order.

    Returns:
        Rows without ``ACTION`` and ``ORDER``; broken ones with the texts as their message, which
        are all of them where a column can never be read.
    """
    parts, reasons = [], []
    for number, column in enumerate(columns):
        value = "NULL::VARCHAR" if column.source is None else name(column.source)
        try:
            parts += [f"{value} AS t{number}", f"{_decoded(value, column)} AS n{number}"]
        except InvalidInputError as error:
            parts += [f"{value} AS t{number}", f"NULL AS n{number}"]
            reasons.append(f"WHEN true THEN {text(error.message)}")
        reasons.append(
            f"WHEN t{number} IS NOT NULL AND n{number} IS NULL THEN "
            f"{text(f'column {column.field.name}: ')} || left(t{number}, 100) || "
            f"{text(f' is no exact {column.field.type}')}"
        )
    after = ", ".join(f"n{n} AS {name(c.field.name)}" for n, c in enumerate(columns))
    with engine() as connection:
        connection.register("texts", texts)
        connection.execute(f"""
            CREATE TEMP TABLE decoded AS
            SELECT *, CASE {" ".join(reasons)} END AS reason
            FROM (SELECT {", ".join(parts)}, to_json(texts)::VARCHAR AS message FROM texts)
        """)
        schema = _schema(columns).remove(len(columns)).remove(len(columns))
        good = f"SELECT {after} FROM decoded WHERE reason IS NULL"
        rows = connection.sql(good).to_arrow_table().cast(schema)
        broken = connection.sql(_BROKEN_VALUES).to_arrow_table().cast(BROKEN)
    return TypedRows(rows=rows, broken=broken)


def last_rows(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return what is left of rows that came into an empty table, as plain rows.

    Args:
        rows: as in ``TypedRows``.
        key: the key columns.
    """
    keys = ", ".join(name(column) for column in key)
    query = f"""
        SELECT * EXCLUDE (_cdc_place) FROM (
          SELECT *, row_number() OVER (
            PARTITION BY {keys} ORDER BY {name(ORDER)} DESC) AS _cdc_place
          FROM rows)
        WHERE _cdc_place = 1 AND {name(ACTION)} IN ('I', '+U') ORDER BY {name(ORDER)}
    """
    with engine() as connection:
        connection.register("rows", rows)
        found = connection.sql(query).to_arrow_table().cast(rows.schema)
    return found.drop_columns([ACTION, ORDER])
