"""Layers over a database at work: its mirror, joins and sums of it, a report of a join.

A mirror, a refresher and a keeper, which optimizes and expires, run in processes of their own that
are killed at random and begun again. At the end each layer is what PostgreSQL says of the same SQL.

    python -m tests.postgres.chain --seconds 600 --seed 3
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from contextlib import ExitStack, suppress
from decimal import Decimal
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import arctic
from arctic.errors import ArcticError, ConflictError, NotFoundError
from arctic.iceberg.catalogs.change_store import HalfMadeError
from tests.postgres.cluster import running_cluster
from tests.postgres.source import Source
from tests.postgres.tpcc import Shop
from tests.processes import forked

VIEWS = {
    "m.lines": "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_amount, ol_delivered "
    "FROM m.order_line WHERE ol_quantity > 4",
    "m.sums": "SELECT ol_w_id, ol_d_id, sum(ol_amount) AS amount, sum(ol_quantity)::BIGINT AS "
    "pieces, count(*) AS lines, count(ol_delivered) AS delivered, max(ol_amount) AS most "
    "FROM m.order_line GROUP BY ol_w_id, ol_d_id",
    "m.stocked": "SELECT s_w_id, sum(s_quantity)::BIGINT AS pieces, min(s_quantity) AS least, "
    "sum(s_ytd)::BIGINT AS sold FROM m.stock GROUP BY s_w_id",
    "m.paid": "SELECT h_c_id, count(*) AS times, max(h_amount) AS most FROM m.payments "
    "GROUP BY h_c_id",
    "m.bought": "SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_carrier, c.c_name, c.c_region, c.c_balance "
    "FROM m.orders o JOIN m.customer c "
    "ON o.o_w_id = c.c_w_id AND o.o_d_id = c.c_d_id AND o.o_c_id = c.c_id",
    "m.beside": "SELECT l.*, o.o_carrier FROM m.lines l LEFT JOIN m.orders o "
    "ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id",
    "m.report": "SELECT c_region, count(*) AS orders, count(o_carrier) AS delivered, "
    "sum(c_balance) AS balance, count(DISTINCT c_name) AS buyers FROM m.bought GROUP BY c_region",
}
TABLES = ("orders", "order_line", "customer", "stock", "history:payments")
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
_CAUSES = (ConflictError, NotFoundError)
"""What beside others is no failure: one tries again, or its table is not there yet."""


def mirror(dsn: str, warehouse: str, _: int) -> None:
    """Follow the database until the process ends."""
    while True:
        # A table that is altered while its copy begins is one to run again for.
        with suppress(ConflictError):
            arctic.mirror_postgres(
                dsn,
                TABLES,
                into="m",
                slot="mirror",
                max_changes=150,
                interval_seconds=0.05,
                partition_by={"customer": ["c_region"]},
                warehouse=warehouse,
            )


def refresh(_: str, warehouse: str, __: int) -> None:
    """Make the views, and keep them up."""
    while True:
        for name, sql in VIEWS.items():
            with suppress(*_CAUSES):
                arctic.materialize(sql, name, exist_ok=True, warehouse=warehouse)


def keep(_: str, warehouse: str, seed: int) -> None:
    """Optimize and expire whatever is there, as eagerly as can be."""
    chance = random.Random(seed)
    while True:
        # Whoever was killed while it made a table makes it when it comes again.
        with suppress(*_CAUSES, HalfMadeError):
            for name in arctic.list_tables("m", warehouse=warehouse):
                table = arctic.open_table(name, warehouse=warehouse)
                table.optimize(type=chance.choice(["minor", "major", "full"]))
                table.expire(options=AT_ONCE)
        time.sleep(0.2)


ROLES = {each.__name__: each for each in (mirror, refresh, keep)}


class Chain:
    """The processes of a run, and what becomes of them."""

    def __init__(self, source: Source, folder: Path, seed: int) -> None:
        self._source = source
        self._folder = folder
        self._chance = random.Random(seed)
        self._running: dict[str, BaseProcess] = {}
        self.killed: Counter[str] = Counter()
        self.behind: dict[tuple[str, str], list[float]] = defaultdict(list)

    def begin(self, role: str) -> None:
        """Begin a process."""
        given = (role, self._source.dsn, str(self._source.warehouse), self._chance.randrange(1000))
        process = forked().Process(target=_play, args=(*given, str(self._folder / "failed")))
        process.start()
        self._running[role] = process

    def kill(self, role: str) -> None:
        """Kill a process, which has had no failure until then."""
        self.check()
        process = self._running.pop(role)
        process.kill()
        process.join()
        self.killed[role] += 1

    def check(self) -> None:
        """Raise where a process has failed."""
        failed = self._folder / "failed"
        assert not failed.exists(), failed.read_text()

    def end(self) -> None:
        """Kill all that run."""
        for role in list(self._running):
            self.kill(role)

    def look(self) -> None:
        """Note how old the oldest change is that each view has not taken."""
        with suppress(ArcticError):
            for row in arctic.list_views(**self._source.place).to_pylist():
                if row["behind"] is not None:
                    key = row["view"], row["source"]
                    self.behind[key].append(row["behind"].total_seconds())


def _play(role: str, dsn: str, warehouse: str, seed: int, failed: str) -> None:
    try:
        ROLES[role](dsn, warehouse, seed)
    except BaseException:
        Path(failed).write_text(f"{role}\n{traceback.format_exc()}")
        raise


def run_chain(dsn: str, folder: Path, *, seconds: float, seed: int) -> Chain:
    """Let the shop work for a while, then hold every layer against the database.

    Args:
        dsn: of an empty database.
        folder: an empty folder.
        seconds: that it works.
        seed: of the shop and of the kills.
    """
    chance = random.Random(seed)
    with ExitStack() as stack:
        shop = stack.enter_context(Shop(dsn, seed=seed))
        shop.load()
        source = Source(dsn, folder / "lake", tables=TABLES)
        stack.callback(source.close)
        chain = Chain(source, folder, seed)
        stack.callback(chain.end)
        for role in ROLES:
            chain.begin(role)
        deadline, altered = time.monotonic() + seconds, 0
        strike, looked = 0.0, 0.0
        while (now := time.monotonic()) < deadline:
            shop.work(3)
            if now > strike:
                role = chance.choice(list(ROLES))
                chain.kill(role)
                chain.begin(role)
                strike = now + chance.uniform(0.2, seconds / 8)
                # The first changes of columns come when there is something to change.
                if now > deadline - seconds * 0.7:
                    shop.alter(altered)
                    altered += 1
            if now > looked + min(seconds / 20, 5):
                chain.look()
                looked = now
            time.sleep(0.05)
        while altered < 5:
            shop.alter(altered)
            shop.work(3)
            altered += 1
        # The last of them empties a table, and a crowded machine may leave no time for more.
        while not all(shop.has_rows(each.partition(":")[0]) for each in TABLES):
            shop.work(3)
        chain.end()
        _settle(source)
        return chain


def _settle(source: Source) -> None:
    source.mirror()
    source.check()
    for name, sql in VIEWS.items():
        report = arctic.materialize(sql, name, exist_ok=True, **source.place)
        print(report)
    _compare(source)
    for name in VIEWS:
        report = arctic.refresh(name, full=True, **source.place)
        assert (report.upserts, report.deletes) == (0, 0), report
        arctic.open_table(name, **source.place).optimize(type="full")
    _compare(source)


def _compare(source: Source) -> None:
    """Hold each layer against the same SQL in PostgreSQL."""
    tables = {name or table: table for table, _, name in (each.partition(":") for each in TABLES)}
    source.run("CREATE SCHEMA m")
    try:
        source.run(*(f"CREATE VIEW m.{name} AS SELECT * FROM {of}" for name, of in tables.items()))
        source.run(*(f"CREATE VIEW {name} AS {sql}" for name, sql in VIEWS.items()))
        for name in VIEWS:
            found = arctic.read(name, **source.place).read_all()
            names = [each for each in found.column_names if not each.startswith("_")]
            listed = ", ".join(f'"{each}"' for each in names)
            rows = source.connection.execute(f"SELECT {listed} FROM {name}").fetchall()
            wanted = Counter(tuple(map(_plain, row)) for row in rows)
            assert _counted(found.select(names)) == wanted, name
            assert wanted, f"{name} has no rows to compare"
    finally:
        source.run("DROP SCHEMA m CASCADE")


def _counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(_plain, row.values())) for row in rows.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, float):  # of a real, which PostgreSQL tells with fewer digits
        return float(np.float32(value))
    return Decimal(value).normalize() if isinstance(value, Decimal) else value


def main() -> None:
    """Run a chain on a server of its own, and print how fresh its layers were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with running_cluster() as dsn, tempfile.TemporaryDirectory() as folder:
        chain = run_chain(dsn, Path(folder), seconds=args.seconds, seed=args.seed)
    print(f"killed: {dict(chain.killed)}; every layer is what PostgreSQL says, seed {args.seed}")
    print(f"{'view':<12} {'source':<14} {'looks':>5} {'median s behind':>15} {'most':>7}")
    for (view, source), seen in sorted(chain.behind.items()):
        median, most = statistics.median(seen), max(seen)
        print(f"{view:<12} {source:<14} {len(seen):>5} {median:>15.1f} {most:>7.1f}")


if __name__ == "__main__":
    main()
