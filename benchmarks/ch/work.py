"""The shop through its rounds, once, in PostgreSQL: what changes, and what is right after each.

Rules: what a batch changed is told by PostgreSQL alone: rows of younger transactions are upserts,
and the keys of `new_order`, of which alone rows are deleted, that are gone are deletes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ch.queries import QUERIES
from benchmarks.ch.shop import CHANGED, KEYS, Size, make_shop
from benchmarks.ch.transactions import Day
from benchmarks.peers.oracle import Rows, differing_rows

SEED = 18
DELETED = "new_order"
_SHOP, _REPLAYED, _LIVE = "shop", "replayed", "live"
_ACTIVE_SLOTS = """SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
  WHERE active AND database = %s"""
_LOOK_SECONDS = 0.05
_EXACT_DIGITS = 6
"""Sums and products of amounts have fewer; a longer decimal is a quotient, which engines round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What some transactions changed, net; folders of Parquet files, by table."""

    upserts: dict[str, Path]
    deletes: dict[str, Path]
    """Keys alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much happens."""

    size: Size
    rounds: int
    """Without upkeep, and as many with it after each."""
    batches: int
    """Of a round."""
    transactions: int
    """Of a batch."""


class Work:
    """Everything that is right, and what systems without a mirror are given.

    Args:
        server: what to connect to a database of a server with, as ``dbname=postgres``.
        folder: an empty folder.
        plan: how much.
    """

    def __init__(self, server: str, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self._server = server
        self._folder = folder
        self._create(_SHOP, "template1")
        with self._connected(_SHOP) as connection:
            make_shop(connection, plan.size)
            self.load = {
                table: self._write(_rows(connection, f"SELECT * FROM {table}"), f"load-{table}")
                for table in KEYS
            }
        self._create(_REPLAYED, _SHOP)
        with self._connected(_REPLAYED) as connection:
            self.answers = [_answers(connection)]
            """After each round; the first are those of the load."""
            day = Day(connection, plan.size, seed=SEED)
            self.rounds = [
                self._round(connection, day, number) for number in range(1, 2 * plan.rounds + 1)
            ]
            self._rows = {table: _rows(connection, f"SELECT * FROM {table}") for table in CHANGED}

    def difference(self, table: str, folder: Path) -> str:
        """Say how exported rows of a table differ from PostgreSQL's; empty: not at all."""
        with duckdb.connect() as connection:
            connection.execute("set TimeZone = 'UTC'")
            connection.register("expected", self._rows[table])
            return differing_rows(connection, "expected", folder, self._rows[table].schema)

    @contextmanager
    def live(self) -> Iterator[str]:
        """Make a copy of the loaded shop that may be worked in; yield how to connect to it."""
        self._create(_LIVE, _SHOP)
        try:
            yield self._dsn(_LIVE)
        finally:
            with self._connected("postgres") as connection:
                # Whoever read a slot may be gone for a while before the server lets go of it.
                while connection.execute(_ACTIVE_SLOTS, (_LIVE,)).fetchone() is not None:
                    time.sleep(_LOOK_SECONDS)
                connection.execute(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                    "WHERE database = %s",
                    (_LIVE,),
                )
                connection.execute(f"DROP DATABASE {_LIVE} WITH (FORCE)")

    def _round(self, connection: Any, day: Day, number: int) -> tuple[Batch, ...]:
        found = tuple(
            self._batch(connection, day, f"{number}-{batch}") for batch in range(self.plan.batches)
        )
        self.answers.append(_answers(connection))
        return found

    def _batch(self, connection: Any, day: Day, name: str) -> Batch:
        keys = f"SELECT {', '.join(KEYS[DELETED])} FROM {DELETED}"
        waited = set(connection.execute(keys).fetchall())
        (begun,) = connection.execute("SELECT txid_current()").fetchone()
        day.work(self.plan.transactions)
        upserts = {}
        for table in CHANGED:
            younger = f"SELECT * FROM {table} WHERE xmin::text::bigint > {begun}"
            rows = _rows(connection, younger)
            if rows.num_rows:
                upserts[table] = self._write(rows, f"upserts-{name}-{table}")
        gone = sorted(waited - set(connection.execute(keys).fetchall()))
        deletes = {}
        if gone:
            schema = pa.schema([pa.field(key, pa.int32()) for key in KEYS[DELETED]])
            rows = pa.table([*map(list, zip(*gone, strict=True))], schema=schema)
            deletes[DELETED] = self._write(rows, f"deletes-{name}")
        return Batch(upserts=upserts, deletes=deletes)

    def _create(self, name: str, template: str) -> None:
        with self._connected("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")

    def _dsn(self, name: str) -> str:
        return self._server.replace("dbname=postgres", f"dbname={name}")

    def _connected(self, name: str) -> Any:
        return psycopg.connect(self._dsn(name), autocommit=True)

    def _write(self, rows: pa.Table, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        pq.write_table(rows, folder / "0.parquet", compression="zstd")
        return folder


def _rows(connection: Any, query: str) -> pa.Table:
    cursor = connection.execute(query)
    fields = [pa.field(column.name, _arrow_type(column)) for column in cursor.description]
    columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(fields)
    arrays = [pa.array(c, field.type) for c, field in zip(columns, fields, strict=True)]
    return pa.table(arrays, schema=pa.schema(fields))


def _arrow_type(column: Any) -> pa.DataType:
    if column.type_display.startswith("numeric"):
        return pa.decimal128(column.precision, column.scale)
    return _TYPES[column.type_display]


_TYPES = {
    "int4": pa.int32(),
    "int8": pa.int64(),
    "text": pa.string(),
    "timestamp": pa.timestamp("us"),
}


def _answers(connection: Any) -> dict[int, Rows]:
    return {
        number: [[_rounded(value) for value in row] for row in connection.execute(query).fetchall()]
        for number, query in QUERIES.items()
    }


def _rounded(value: Any) -> Any:
    is_quotient = isinstance(value, Decimal) and value != round(value, _EXACT_DIGITS)
    return float(value) if is_quotient else value
