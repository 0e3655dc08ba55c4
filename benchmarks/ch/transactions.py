"""A day in the shop: the five transactions of TPC-C, drawn by a seed, in their shares.

Rules: two days of one seed leave the same rows, for nothing is drawn or taken from the clock but
what the seed says.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from benchmarks.ch.shop import DISTRICTS, Size

SHARES = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}
OPENED = datetime(2026, 6, 1)  # noqa: DTZ001 - the shop knows no zones
REMOTE = 0.01
"""Of the lines, that another warehouse sends."""


class Day:
    """Transactions on one connection, one after the other.

    Args:
        connection: of psycopg, in autocommit mode.
        size: of what was loaded.
        seed: of all that is drawn.
    """

    def __init__(self, connection: Any, size: Size, *, seed: int) -> None:
        self._connection = connection
        self._size = size
        self._random = random.Random(seed)
        self._now = OPENED
        self._payments = size.warehouses * DISTRICTS * size.customers

    def work(self, count: int) -> None:
        """Carry out so many transactions."""
        kinds, shares = list(SHARES), list(SHARES.values())
        for _ in range(count):
            (kind,) = self._random.choices(kinds, weights=shares)
            self._now += timedelta(seconds=1)
            warehouse = self._random.randint(1, self._size.warehouses)
            with self._connection.transaction():
                getattr(self, f"_{kind}")(warehouse, self._random.randint(1, DISTRICTS))

    def _run(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values)

    def _customer(self) -> int:
        # Some come far more often than others.
        share = self._random.random() ** 3
        return 1 + int(share * self._size.customers)

    def _new_order(self, w: int, d: int) -> None:
        (order,) = self._run(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %s AND d_id = %s "
            "RETURNING d_next_o_id - 1", w, d,
        ).fetchone()  # fmt: skip
        items = self._random.sample(range(1, self._size.items + 1), self._random.randint(5, 15))
        senders = [self._sender(w) for _ in items]
        self._run(
            "INSERT INTO orders VALUES (%s, %s, %s, %s, %s, NULL, %s, %s)",
            w, d, order, self._customer(), self._now, len(items), int(set(senders) == {w}),
        )  # fmt: skip
        self._run("INSERT INTO new_order VALUES (%s, %s, %s)", w, d, order)
        pieces = [self._random.randint(1, 10) for _ in items]
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= %s + 10 "
                "THEN s_quantity - %s ELSE s_quantity - %s + 91 END, s_ytd = s_ytd + %s, "
                "s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %s "
                "WHERE s_w_id = %s AND s_i_id = %s",
                [
                    (count, count, count, count, int(sender != w), sender, item)
                    for count, sender, item in zip(pieces, senders, items, strict=True)
                ],
            )
            cursor.executemany(
                "INSERT INTO order_line SELECT %s, %s, %s, %s, i_id, %s, NULL, %s, i_price * %s, "
                "'ordered' FROM item WHERE i_id = %s",
                [
                    (w, d, order, number, sender, count, count, item)
                    for number, (count, sender, item) in enumerate(
                        zip(pieces, senders, items, strict=True), start=1
                    )
                ],
            )

    def _sender(self, w: int) -> int:
        is_remote = self._random.random() < REMOTE
        return self._random.randint(1, self._size.warehouses) if is_remote else w

    def _payment(self, w: int, d: int) -> None:
        amount = self._random.randint(100, 500_000) / 100
        customer = self._customer()
        self._run("UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s", amount, w)
        self._run("UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s",
                  amount, w, d)  # fmt: skip
        self._run(
            "UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, "
            "c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' "
            "THEN left(%s || ' ' || c_data, 500) ELSE c_data END "
            "WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
            amount, amount, f"paid {amount}", w, d, customer,
        )  # fmt: skip
        self._payments += 1
        self._run("INSERT INTO payment VALUES (%s, %s, %s, %s, %s, %s, 'paid')",
                  self._payments, w, d, customer, self._now, amount)  # fmt: skip

    def _order_status(self, w: int, d: int) -> None:
        self._run(
            "SELECT ol_i_id, ol_quantity, ol_delivery_d FROM order_line WHERE ol_w_id = %s "
            "AND ol_d_id = %s AND ol_o_id = (SELECT max(o_id) FROM orders WHERE o_w_id = %s "
            "AND o_d_id = %s AND o_c_id = %s)", w, d, w, d, self._customer(),
        ).fetchall()  # fmt: skip

    def _delivery(self, w: int, _: int) -> None:
        carrier = self._random.randint(1, 10)
        for d in range(1, DISTRICTS + 1):
            found = self._run(
                "DELETE FROM new_order WHERE no_w_id = %s AND no_d_id = %s AND no_o_id = (SELECT "
                "min(no_o_id) FROM new_order WHERE no_w_id = %s AND no_d_id = %s) "
                "RETURNING no_o_id", w, d, w, d,
            ).fetchone()  # fmt: skip
            if found is None:
                continue
            place = (w, d, found[0])
            (customer,) = self._run(
                "UPDATE orders SET o_carrier_id = %s WHERE o_w_id = %s AND o_d_id = %s "
                "AND o_id = %s RETURNING o_c_id", carrier, *place,
            ).fetchone()  # fmt: skip
            self._run("UPDATE order_line SET ol_delivery_d = %s WHERE ol_w_id = %s "
                      "AND ol_d_id = %s AND ol_o_id = %s", self._now, *place)  # fmt: skip
            self._run(
                "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + "
                "(SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = %s AND ol_d_id = %s "
                "AND ol_o_id = %s) WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s",
                *place, w, d, customer,
            )  # fmt: skip

    def _stock_level(self, w: int, d: int) -> None:
        self._run(
            "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id "
            "AND s_i_id = ol_i_id JOIN district ON d_w_id = ol_w_id AND d_id = ol_d_id "
            "WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id >= d_next_o_id - 20 "
            "AND ol_o_id < d_next_o_id AND s_quantity < 15", w, d,
        ).fetchone()  # fmt: skip
