"""A shop as in TPC-C, small: its tables, its transactions, and what happens to its columns."""

from __future__ import annotations

import random
from typing import Any

import psycopg

_SCHEMA = """
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name varchar(10), w_ytd numeric(12,2) NOT NULL);
CREATE TABLE district (d_w_id int, d_id int, d_ytd numeric(12,2), d_next_o_id int NOT NULL,
  PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_name text, c_region char(4),
  c_balance numeric(12,2), c_since timestamptz, c_rate double precision, c_data text,
  PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_ytd bigint, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry timestamp, o_carrier int,
  PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number smallint, ol_i_id int,
  ol_quantity int, ol_amount numeric(8,2), ol_delivered date, ol_info char(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE history (h_id bigint PRIMARY KEY, h_c_id int, h_amount real, h_at timestamptz, h_data bytea);
INSERT INTO warehouse SELECT w, 'w' || w, 0 FROM generate_series(1, 2) w;
INSERT INTO district SELECT w, d, 0, 1 FROM generate_series(1, 2) w, generate_series(1, 3) d;
INSERT INTO customer SELECT w, d, c, 'name ' || c, (ARRAY['eu', 'us', 'asia'])[c % 3 + 1], 0,
  '2026-01-01 00:00+00', c / 7.0, repeat('x', 100)
  FROM generate_series(1, 2) w, generate_series(1, 3) d, generate_series(1, 20) c;
INSERT INTO stock SELECT w, i, 100, 0 FROM generate_series(1, 2) w, generate_series(1, 50) i;
"""  # noqa: E501 - a table a line
_ALTERS = (
    "ALTER TABLE customer ADD COLUMN c_level int NOT NULL DEFAULT 1",
    "ALTER TABLE orders ADD COLUMN o_note text; ALTER TABLE stock ALTER s_quantity TYPE bigint",
    "ALTER TABLE customer RENAME COLUMN c_data TO c_text; ALTER TABLE history DROP COLUMN h_data",
    "ALTER TABLE order_line ALTER ol_amount TYPE numeric(10,2); "
    "ALTER TABLE customer ALTER c_name TYPE text USING upper(c_name)",
    "TRUNCATE history; ALTER TABLE history ADD COLUMN h_kind text DEFAULT 'later'",
)


class Shop:
    """The database, and a customer's day in it."""

    tables = (
        "warehouse",
        "district",
        "customer",
        "stock",
        "orders",
        "new_order",
        "order_line",
        "history",
    )

    def __init__(self, dsn: str, *, seed: int) -> None:
        self._dsn = dsn
        self._random = random.Random(seed)
        self._history = 0
        self._text = "c_data"

    def __enter__(self) -> Shop:
        self._connection = psycopg.connect(self._dsn, autocommit=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def load(self) -> None:
        """Make the tables."""
        self._connection.execute(_SCHEMA)
        for table in self.tables:
            self._connection.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")

    def confirmed(self) -> str | None:
        """Return where the mirror has confirmed the log; None: it has not begun."""
        found = self._run("SELECT confirmed_flush_lsn::text FROM pg_replication_slots").fetchone()
        return None if found is None else str(found[0])

    def has_rows(self, table: str) -> bool:
        """Say whether a table has rows."""
        return bool(self._run(f"SELECT EXISTS (SELECT FROM {table})").fetchone()[0])

    def alter(self, number: int) -> None:
        """Change some columns."""
        if number < len(_ALTERS):
            self._connection.execute(_ALTERS[number])
        if number == 2:
            self._text = "c_text"

    def work(self, count: int) -> None:
        """Run transactions; one in ten is rolled back."""
        kinds = (self._new_order, self._payment, self._delivery, self._move)
        for _ in range(count):
            (kind,) = self._random.choices(kinds, weights=(45, 43, 8, 4))
            self._connection.execute("BEGIN")
            kind(self._random.randint(1, 2), self._random.randint(1, 3))
            self._connection.execute("COMMIT" if self._random.random() < 0.9 else "ROLLBACK")

    def _run(self, query: str, *values: Any) -> Any:
        return self._connection.execute(query, values)

    def _customer(self) -> int:
        return self._random.randint(1, 20)

    def _new_order(self, w: int, d: int) -> None:
        order = self._run(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %s AND d_id = %s "
            "RETURNING d_next_o_id - 1", w, d,
        ).fetchone()[0]  # fmt: skip
        self._run("INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry) "
                  "VALUES (%s, %s, %s, %s, clock_timestamp())",
                  w, d, order, self._customer())  # fmt: skip
        self._run("INSERT INTO new_order VALUES (%s, %s, %s)", w, d, order)
        for line in range(1, self._random.randint(2, 6)):
            item, quantity = self._random.randint(1, 50), self._random.randint(1, 9)
            self._run("UPDATE stock SET s_quantity = s_quantity - %s, s_ytd = s_ytd + %s "
                      "WHERE s_w_id = %s AND s_i_id = %s", quantity, quantity, w, item)  # fmt: skip
            self._run("INSERT INTO order_line VALUES (%s, %s, %s, %s, %s, %s, %s, NULL, 'info')",
                      w, d, order, line, item, quantity, quantity * 1.25)  # fmt: skip

    def _payment(self, w: int, d: int) -> None:
        amount = self._random.randint(1, 500000) / 100
        self._run("UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s", amount, w)
        self._run("UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s",
                  amount, w, d)  # fmt: skip
        self._run(f"UPDATE customer SET c_balance = c_balance - %s, c_rate = random(), "
                  f"{self._text} = left(%s || {self._text}, 100) "
                  "WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
                  amount, f"paid {amount};", w, d, self._customer())  # fmt: skip
        self._history += 1
        self._run("INSERT INTO history (h_id, h_c_id, h_amount, h_at) VALUES (%s, %s, %s, now())",
                  self._history, self._customer(), amount)  # fmt: skip

    def _delivery(self, w: int, _d: int) -> None:
        for d in range(1, 4):
            found = self._run(
                "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN (SELECT no_w_id, "
                "no_d_id, no_o_id FROM new_order WHERE no_w_id = %s AND no_d_id = %s "
                "ORDER BY no_o_id LIMIT 1) RETURNING no_o_id", w, d,
            ).fetchone()  # fmt: skip
            if found is None:
                continue
            place = (w, d, found[0])
            self._run("UPDATE orders SET o_carrier = 5 "
                      "WHERE o_w_id = %s AND o_d_id = %s AND o_id = %s", *place)  # fmt: skip
            self._run("UPDATE order_line SET ol_delivered = '2026-05-05' "
                      "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id = %s", *place)  # fmt: skip

    def _move(self, w: int, d: int) -> None:
        """Give a customer another region, which moves its partition, or another key."""
        who = (w, d, self._customer())
        where = "WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s"
        region = self._random.choice(("eu", "us", "asia", "afr"))
        self._run(f"UPDATE customer SET c_region = %s {where}", region, *who)
        self._run(f"UPDATE customer SET c_id = c_id + %s {where}",
                  self._random.randint(1, 10**6) * 100, *who)  # fmt: skip
