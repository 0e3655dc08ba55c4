"""The tables, the refreshes and the queries, out of DuckDB's generator; and what is right.

Rules: keys of a generated order are 0 to 7 modulo 32. The orders of a first refresh function get
keys beside them, and else what a random order has, its lines too; those of a second one are deleted
with their lines.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.peers.oracle import Rows, differing_rows

KEYS = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "customer": ("c_custkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
CHANGED = ("orders", "lineitem")
MOST_REFRESHES = 24
"""A refresh takes the next of so many keys beside each order."""
REFRESHED_ORDERS = 1_500
"""Of each refresh and scale factor, as TPC-H has them: a thousandth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """One pair of refresh functions; every path is a folder of Parquet files, by table."""

    upserts: dict[str, Path]
    deletes: dict[str, Path]
    """Keys alone."""


class Tpch:
    """The expected rows in DuckDB, which computes them as the refreshes are made.

    Args:
        folder: an empty folder.
        scale: factor; 1 has six million lines.
        refreshes: pairs of refresh functions.
    """

    def __init__(self, folder: Path, *, scale: float, refreshes: int) -> None:
        if not 0 <= refreshes <= MOST_REFRESHES:
            raise ValueError(f"{refreshes} refreshes: expected 0 to {MOST_REFRESHES}")
        self._folder = folder
        self._duckdb = duckdb.connect(
            str(folder / "tpch.duckdb"), config={"allow_unsigned_extensions": "true"}
        )
        self._duckdb.execute("set TimeZone = 'UTC'")
        self._duckdb.execute(f"load '{_extension()}'")
        self._duckdb.execute(f"call dbgen(sf = {scale})")
        found = self._duckdb.execute("select query_nr, query from tpch_queries()").fetchall()
        self.queries: dict[int, str] = {number: text.rstrip(";\n ") for number, text in found}
        self.load = {table: self._write(f"from {table}", f"load-{table}") for table in KEYS}
        self.before = dict(self._answers())
        count = max(1, int(REFRESHED_ORDERS * scale))
        self.refreshes = tuple(self._refresh(number, count) for number in range(refreshes))
        self.after = dict(self._answers())
        self.refreshed = {
            table: self._write(f"from {table}", f"refreshed-{table}") for table in CHANGED
        }

    def difference(self, table: str, folder: Path) -> str:
        """Say how exported rows of a table differ from the refreshed ones; empty: not at all."""
        schema: pa.Schema = self._duckdb.execute(f"from {table} limit 0").to_arrow_table().schema
        return differing_rows(self._duckdb, table, folder, schema)

    def _answers(self) -> Iterator[tuple[int, Rows]]:
        for number, text in self.queries.items():
            yield number, self._duckdb.execute(text).fetchall()

    def _refresh(self, number: int, count: int) -> Refresh:
        run = self._duckdb.execute
        # Of generated orders alone, in an order that is none, but the same every time.
        run(
            "create or replace temp table drawn as "
            f"select o_orderkey, row_number() over (order by hash(o_orderkey, {number})) as place "
            f"from orders where o_orderkey % 32 < 8 qualify place <= {2 * count}"
        )
        moved = 8 + number
        # Eight neighbours share the 24 free keys after them, so only one of them is taken.
        run(
            "create or replace temp table added as select min(o_orderkey) as o_orderkey, "
            f"o_orderkey // 32 * 32 + {moved} as new_key from drawn where place <= {count} "
            "group by o_orderkey // 32"
        )
        run(f"create or replace temp table gone as from drawn where place > {count}")
        upserts = {
            "orders": "select o.* replace (a.new_key as o_orderkey) from orders o "
            "join added a using (o_orderkey)",
            "lineitem": "select l.* replace (a.new_key as l_orderkey) from lineitem l "
            "join added a on a.o_orderkey = l.l_orderkey",
        }
        deletes = {
            "orders": "select o_orderkey from gone",
            "lineitem": "select l_orderkey, l_linenumber from lineitem "
            "where l_orderkey in (select o_orderkey from gone)",
        }
        made = Refresh(
            upserts={
                table: self._write(text, f"rf1-{number}-{table}") for table, text in upserts.items()
            },
            deletes={
                table: self._write(text, f"rf2-{number}-{table}") for table, text in deletes.items()
            },
        )
        for table in CHANGED:
            run(f"insert into {table} from read_parquet('{made.upserts[table]}/*.parquet')")
        run("delete from lineitem where l_orderkey in (select o_orderkey from gone)")
        run("delete from orders where o_orderkey in (select o_orderkey from gone)")
        return made

    def _write(self, query: str, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        self._duckdb.execute(f"copy ({query}) to '{folder}/0.parquet' (compression zstd)")
        return folder


def _extension() -> str:
    spec = importlib.util.find_spec("duckdb_extension_tpch")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "package 'duckdb-extension-tpch': not installed; see make install"
        )
    return str(next(Path(spec.origin).parent.rglob("tpch.duckdb_extension")))
