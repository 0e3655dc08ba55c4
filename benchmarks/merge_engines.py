"""Random histories of tables with merge engines, as Arctic and as ``pypaimon`` read them.

    make engines-beside-paimon ARGS="--histories 500"

Late and doubled rows, rows with fewer columns, and optimizing between the writes; 1 is returned
where a table differs. ``pypaimon`` shows nothing of a ``first-row`` table before it is compacted,
which it cannot do, and knows no sequence groups, so these are not compared.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from typing import Any

import pyarrow as pa

import arctic
from benchmarks.peers.environments import PEERS, ROOT, interpreter

NUMBERS, TEXTS = ("n", "m"), ("note",)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        *(pa.field(name, pa.int64()) for name in NUMBERS),
        *(pa.field(name, pa.string()) for name in TEXTS),
    ]
)
FUNCTIONS = (
    {"n": "sum", "m": "max", "note": "listagg"},
    {"n": "min", "m": "last_value", "note": "first_non_null_value"},
    {"n": "first_value", "m": "sum", "note": "max"},
    {"n": "product", "m": "max", "note": "last_non_null_value"},
)


ENGINES = ("last-row", "ordering", "partial-update", "aggregate")


def main() -> int:
    """Compare as many histories of each engine as are asked for; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=ENGINES, help="one engine alone")
    asked = parser.parse_args()
    engines = (asked.only,) if asked.only else ENGINES
    all_differing = 0
    chance = random.Random(asked.seed)
    peer = next(peer for peer in PEERS if peer.name == "pypaimon")
    command = [str(interpreter(peer)), "-m", "benchmarks.peers.systems.pypaimon_engines"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for engine in engines:
            differing = 0
            for _ in range(asked.histories):
                theirs, ours = options_of(engine, chance)
                writes = [write(engine, chance) for _ in range(chance.randint(1, 4))]
                if chance.random() < 0.3:
                    writes.append(chance.choice(writes))
                told = {"options": theirs, "writes": writes, "numbers": NUMBERS, "texts": TEXTS}
                print(json.dumps(told), file=other.stdin, flush=True)
                mine = rows_of(ours, writes, chance)
                found = json.loads(other.stdout.readline())
                if mine != found:
                    differing += 1
                    if differing == 1:
                        print(f"{told}\n  arctic   {mine}\n  pypaimon {found}", flush=True)
            print(f"{engine}: {asked.histories:,} histories, {differing} differ", flush=True)
            all_differing += differing
        other.stdin.close()
    return int(all_differing > 0)


def write(engine: str, chance: random.Random) -> list[dict[str, Any]]:
    """Draw the rows of one write; some write fewer columns where an engine keeps the others."""
    rows = [row(chance) for _ in range(chance.randint(1, 5))]
    if engine == "ordering":  # an event without a place is refused
        return [{**each, "m": each["m"] or 0} for each in rows]
    if engine == "partial-update" and chance.random() < 0.3:
        absent = chance.choice([*NUMBERS, *TEXTS])
        return [{name: value for name, value in each.items() if name != absent} for each in rows]
    return rows


def row(chance: random.Random) -> dict[str, Any]:
    """Draw a row."""
    return {
        "id": chance.randrange(5),
        "n": chance.choice([None, -2, 1, 3]),
        "m": chance.choice([None, 0, 5, 7]),
        "note": chance.choice([None, "a", "b", "c"]),
    }


def options_of(engine: str, chance: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of a table for Paimon and for Arctic."""
    if engine == "last-row":
        return {}, {}
    if engine == "ordering":
        return {"sequence.field": "m"}, {"write.ordering-columns": "m"}
    if engine == "partial-update":
        return {"merge-engine": engine}, {"write.merge-engine": engine}
    functions = chance.choice(FUNCTIONS)
    told = ", ".join(f"{name}: {function}" for name, function in functions.items())
    return (
        {
            "merge-engine": "aggregation",
            **{f"fields.{name}.aggregate-function": each for name, each in functions.items()},
        },
        {"write.merge-engine": engine, "write.merge-engine.aggregate-functions": told},
    )


def rows_of(
    properties: dict[str, str], writes: list[list[dict[str, Any]]], chance: random.Random
) -> list[dict[str, Any]]:
    """Write a history into a table, optimized now and then, and read it."""
    with tempfile.TemporaryDirectory() as warehouse:
        table = arctic.create_table(
            "d.t", SCHEMA, primary_key="id", properties=properties, warehouse=warehouse
        )
        for rows in writes:
            schema = pa.schema([field for field in SCHEMA if field.name in rows[0]])
            table.write(pa.Table.from_pylist(rows, schema=schema))
            if chance.random() < 0.3:
                table.optimize(type=chance.choice(["minor", "full"]))
        return sorted(table.read().read_all().to_pylist(), key=lambda row: int(row["id"]))


if __name__ == "__main__":
    sys.exit(main())
