"""What a table of PostgreSQL is: columns by number, key, and what its log will say of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arctic.cdc.postgres_types import source_column
from arctic.cdc.source_table import Dialect, SourceTable, TableColumn
from arctic.cdc.wal2json import columns_of
from arctic.errors import InvalidInputError, NotFoundError
from arctic.postgres.connect import fetch

# A virtual column is computed by whoever reads it: no row and no log has it.
_COLUMNS = """
SELECT a.attnum, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attstorage <> 'p',
       a.atthasmissing
FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
  AND (to_jsonb(a) ->> 'attgenerated') IS DISTINCT FROM 'v'
ORDER BY a.attnum
"""
_TABLE = """
SELECT c.oid, c.relkind::text, c.relreplident::text, pg_relation_filenode(c.oid)::bigint,
       c.relpersistence::text, c.relfilenode = pg_relation_filenode(c.oid),
       (SELECT t.xmin::text::bigint FROM pg_type t WHERE t.oid = c.reltype)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s
"""
_KEY = """
SELECT a.attname::text FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisprimary AND i.indimmediate AND a.attrelid = i.indrelid
ORDER BY k.place
"""
_SPECIAL_TYPES = ("real", "double precision", "numeric")


DIALECT = Dialect(
    source="PostgreSQL", source_column=source_column, columns_of=columns_of, numbers_columns=True
)


def may_be_special(column: TableColumn) -> bool:
    """Say whether a column can hold NaN or an infinity, which the log may show as null."""
    return column.type.split("(")[0] in _SPECIAL_TYPES


def parse_name(text: str) -> tuple[str, str]:
    """Split ``schema.table``; without a schema it is ``public``.

    Raises:
        InvalidInputError: more than one dot, or an empty part.
    """
    parts = text.strip().split(".")
    if len(parts) > 2 or not all(parts):
        raise InvalidInputError(f"table {text!r} of PostgreSQL: expected 'schema.table'")
    return (parts[0], parts[1]) if len(parts) == 2 else ("public", parts[0])


def find_table(connection: Any, schema: str, name: str) -> SourceTable | None:
    """Return a table as it is now; None: there is none."""
    action = f"look at table {schema}.{name}"
    found = fetch(connection, action, _TABLE, schema, name)
    if not found:
        return None
    oid, kind, identity, filenode, persistence, is_current, named = found[0]
    if kind != "r" or persistence != "p":
        raise InvalidInputError(
            f"table {schema}.{name} of PostgreSQL is of kind {kind!r}, persistence "
            f"{persistence!r}; expected an ordinary logged table (of a partitioned one, name the "
            "partitions)"
        )
    columns = [
        TableColumn(
            position=n,
            name=column,
            type=type_,
            describe=source_column,
            is_toastable=toast,
            has_missing=missing,
        )
        for n, column, type_, toast, missing in fetch(connection, action, _COLUMNS, oid)
    ]
    key = tuple(row[0] for row in fetch(connection, action, _KEY, oid))
    return SourceTable(
        schema=schema,
        name=name,
        oid=oid,
        columns=tuple(columns),
        key=key,
        identity=identity,
        filenode=filenode or 0,
        is_current=bool(is_current),
        named=named,
    )


def describe_tables(connection: Any, names: Sequence[str]) -> tuple[SourceTable, ...]:
    """Return tables that can be mirrored.

    Raises:
        NotFoundError: there is no such table.
        InvalidInputError: a table without a primary key, or whose log would not say enough.
    """
    tables = []
    for text in names:
        schema, name = parse_name(text)
        table = find_table(connection, schema, name)
        if table is None:
            raise NotFoundError(f"table {schema}.{name} of PostgreSQL not found")
        check_mirrorable(table)
        tables.append(table)
    return tuple(tables)


def check_mirrorable(table: SourceTable) -> None:
    """Refuse a table whose changes could not be followed exactly.

    Raises:
        InvalidInputError: with the command that mends it.
    """
    if not table.key:
        raise InvalidInputError(
            f"table {table.full_name} of PostgreSQL has no primary key; add one, because its rows "
            "are found by it; one that is DEFERRABLE is none to the log"
        )
    outside = [column.name for column in table.columns if column.is_toastable]
    if table.identity != "f" and (outside or table.identity != "d"):
        raise InvalidInputError(
            f"table {table.full_name} of PostgreSQL: its log does not hold whole rows, so an "
            f"update may not say what {', '.join(outside) or 'its key'} is; run "
            f"ALTER TABLE {table.full_name} REPLICA IDENTITY FULL"
        )
