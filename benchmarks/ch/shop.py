"""A shop as in TPC-C, made by PostgreSQL itself: its tables, and the tables that only queries use.

Rules: nothing here is random or depends on the time, so every copy has the same rows. Texts, names
and places are made of numbers; what a query groups or filters by has as many values as it should.
What TPC-C calls history is `payment` here, as that name means a metadata table to Iceberg's
readers, and has a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEYS = {
    "warehouse": ("w_id",),
    "district": ("d_w_id", "d_id"),
    "customer": ("c_w_id", "c_d_id", "c_id"),
    "payment": ("h_id",),
    "new_order": ("no_w_id", "no_d_id", "no_o_id"),
    "orders": ("o_w_id", "o_d_id", "o_id"),
    "order_line": ("ol_w_id", "ol_d_id", "ol_o_id", "ol_number"),
    "item": ("i_id",),
    "stock": ("s_w_id", "s_i_id"),
    "supplier": ("su_suppkey",),
    "nation": ("n_nationkey",),
    "region": ("r_regionkey",),
}
CHANGED = ("warehouse", "district", "customer", "payment", "new_order", "orders", "order_line",
           "stock")  # fmt: skip
DISTRICTS = 10
LINES = 10
"""Of each order that was loaded; later ones have 5 to 15."""
SUPPLIERS = 10_000
WAITING = 0.3
"""The share of the loaded orders that were not delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is loaded; TPC-C has 100,000 items and 3,000 customers, each with one order."""

    warehouses: int
    items: int
    customers: int
    """Of each district."""


_TABLES = f"""
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name text, w_state text, w_tax numeric(4,4),
  w_ytd numeric(12,2));
CREATE TABLE district (d_w_id int, d_id int, d_name text, d_tax numeric(4,4), d_ytd numeric(12,2),
  d_next_o_id int, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_first text, c_last text, c_city text,
  c_state text, c_phone text, c_since timestamp, c_credit text, c_discount numeric(4,4),
  c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt int, c_delivery_cnt int,
  c_data text, PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE payment (h_id bigint PRIMARY KEY, h_w_id int, h_d_id int, h_c_id int, h_date timestamp,
  h_amount numeric(6,2), h_data text);
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamp,
  o_carrier_id int, o_ol_cnt int, o_all_local int, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int,
  ol_supply_w_id int, ol_delivery_d timestamp, ol_quantity int, ol_amount numeric(8,2),
  ol_dist_info text, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE item (i_id int PRIMARY KEY, i_im_id int, i_name text, i_price numeric(5,2),
  i_data text);
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_ytd int, s_order_cnt int,
  s_remote_cnt int, s_data text, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE supplier (su_suppkey int PRIMARY KEY, su_name text, su_address text, su_nationkey int,
  su_phone text, su_acctbal numeric(12,2), su_comment text);
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text, n_regionkey int);
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text);
INSERT INTO region SELECT r, 'region ' || r FROM generate_series(0, 4) r;
INSERT INTO nation SELECT ascii('A') + n, 'nation ' || chr(ascii('A') + n), n % 5
  FROM generate_series(0, 24) n;
INSERT INTO supplier SELECT s, 'supplier ' || s, 'street ' || s % 997, ascii('A') + s % 25,
  s::text, s % 7919 - 999, CASE WHEN s % 100 = 0 THEN 'bad ' ELSE 'good ' END || s
  FROM generate_series(0, {SUPPLIERS - 1}) s;
"""

_ROWS = f"""
INSERT INTO item SELECT i, i % 10000, 'item ' || i, 1 + (i * 37 % 9900) / 100.0,
  CASE WHEN i % 10 = 0 THEN 'original' ELSE 'plain' END || i % 26 || chr(ascii('a') + i % 26)
  FROM generate_series(1, {{items}}) i;
INSERT INTO warehouse SELECT w, 'warehouse ' || w, chr(ascii('A') + w % 25), 0.1, 300000
  FROM generate_series(1, {{warehouses}}) w;
INSERT INTO district SELECT w, d, 'district ' || d, 0.1, 30000, {{customers}} + 1
  FROM generate_series(1, {{warehouses}}) w, generate_series(1, {DISTRICTS}) d;
INSERT INTO stock SELECT w, i, 10 + (i * 31 + w) % 91, 0, 0, 0,
  CASE WHEN i % 10 = 1 THEN 'original' ELSE 'stocked' END || i % 997
  FROM generate_series(1, {{warehouses}}) w, generate_series(1, {{items}}) i;
INSERT INTO customer SELECT w, d, c, 'first ' || c, 'last ' || c % 1000, 'city ' || c % 500,
  chr(ascii('A') + (c + d) % 25) || 'X', ((c * 7 + d) % 9 + 1) || '-' || c,
  timestamp '2020-01-01' + c * interval '1 hour', CASE WHEN c % 10 = 0 THEN 'BC' ELSE 'GC' END,
  (c * 17 % 5000) / 10000.0, -10, 10, 1, 0, repeat('data ' || c || ' ', 20)
  FROM generate_series(1, {{warehouses}}) w, generate_series(1, {DISTRICTS}) d,
  generate_series(1, {{customers}}) c;
INSERT INTO orders SELECT w, d, o, (o * 7919) % {{customers}} + 1,
  timestamp '2025-01-01' + o * interval '1 hour',
  CASE WHEN o <= {{delivered}} THEN o % 10 + 1 END, {LINES}, 1
  FROM generate_series(1, {{warehouses}}) w, generate_series(1, {DISTRICTS}) d,
  generate_series(1, {{customers}}) o;
INSERT INTO new_order SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_carrier_id IS NULL;
INSERT INTO order_line SELECT o_w_id, o_d_id, o_id, n, (o_id * 7919 + n * 104729) % {{items}} + 1,
  o_w_id, CASE WHEN o_carrier_id IS NULL THEN NULL ELSE o_entry_d + n * interval '1 day' END,
  5 + (o_id + n) % 6, (o_id * 13 + n * 97) % 10000 / 100.0, 'district ' || o_d_id
  FROM orders, generate_series(1, {LINES}) n;
INSERT INTO payment SELECT row_number() OVER (ORDER BY c_w_id, c_d_id, c_id), c_w_id, c_d_id, c_id,
  c_since, 10, 'loaded' FROM customer;
"""


def make_shop(connection: Any, size: Size) -> None:
    """Make and fill the tables, and have the log tell whole rows."""
    connection.execute(_TABLES)
    delivered = int(size.customers * (1 - WAITING))
    connection.execute(
        _ROWS.format(
            warehouses=size.warehouses,
            items=size.items,
            customers=size.customers,
            delivered=delivered,
        )
    )
    for table in KEYS:
        connection.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")
    connection.execute("ANALYZE")
