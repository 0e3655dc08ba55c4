"""Replay Debezium-style changes into a table, one commit for each batch, without Spark.

    python examples/change_stream.py

Every batch holds inserts, updates and deletes of some accounts. A dictionary is driven by the same
changes; at the end the table must equal it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import arctic

ACCOUNTS = 20_000
BATCHES = 8
CHANGES = 2_000
TABLE = pa.schema([("account", pa.int64()), ("owner", pa.string()), ("balance", pa.int64())])
CHANGE = pa.schema([("op", pa.string()), *TABLE])


def main() -> None:
    """Write, read and compare."""
    current: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="arctic-example-") as warehouse:
        table = arctic.create_table(
            "bank.accounts", TABLE, primary_key=["account"], warehouse=warehouse
        )
        for number, batch in enumerate(change_batches(current)):
            report = arctic.write(
                "bank.accounts",
                batch,
                mode="upsert",
                options={"action-column": "op"},
                warehouse=warehouse,
            )
            print(
                f"batch {number}: {report.rows:>6,} changes in {report.seconds:.2f} s, "
                f"{report.files} files, {report.bytes / 1e3:>6.1f} kB"
            )
        rows = {row["account"]: row for row in table.read().read_all().to_pylist()}
        print(f"{len(rows):,} accounts, equal to the dictionary: {rows == current}")
        assert rows == current


def change_batches(current: dict[int, dict[str, Any]]) -> Iterator[pa.Table]:
    """Yield batches of changes, and keep the dictionary in step with them."""
    draw = random.Random(7)
    yield _batch([_opened(account, current) for account in range(ACCOUNTS)])
    for _ in range(BATCHES - 1):
        yield _batch([_changed(draw.randrange(ACCOUNTS), draw, current) for _ in range(CHANGES)])


def _opened(account: int, current: dict[int, dict[str, Any]]) -> dict[str, Any]:
    current[account] = {"account": account, "owner": f"owner {account % 997}", "balance": 0}
    return {"op": "c", **current[account]}


def _changed(
    account: int, draw: random.Random, current: dict[int, dict[str, Any]]
) -> dict[str, Any]:
    if account not in current:
        return _opened(account, current)
    if draw.random() < 0.2:
        return {"op": "d", **current.pop(account)}
    current[account] = {**current[account], "balance": draw.randrange(10_000)}
    return {"op": "u", **current[account]}


def _batch(changes: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(changes, schema=CHANGE)


if __name__ == "__main__":
    main()
