"""The generated input: orders of ten columns, and batches of changes to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer_id", pa.int64()),
        pa.field("status", pa.string()),
        pa.field("region", pa.string()),
        pa.field("quantity", pa.int32()),
        pa.field("amount", pa.float64()),
        pa.field("discount", pa.float64()),
        pa.field("placed_at", pa.timestamp("us", tz="UTC")),
        pa.field("updated_at", pa.timestamp("us", tz="UTC")),
        pa.field("comment", pa.string()),
    ]
)
COLUMNS = len(SCHEMA)
CUSTOMERS = 200_000

_STATUSES = np.array(["placed", "paid", "packed", "shipped", "delivered", "returned"])
_REGIONS = np.array(["eu-west", "eu-east", "us-east", "us-west", "asia", "africa", "oceania"])
_WORDS = np.array(
    ["leave", "at", "door", "ring", "twice", "fragile", "gift", "call", "first", "no"]
)
_EPOCH = 1_700_000_000_000_000
CHUNK_ROWS = 500_000


def base_rows(rows: int, *, seed: int = 1) -> Iterator[pa.Table]:
    """Yield orders 0 to ``rows`` - 1 in chunks."""
    random = np.random.default_rng(seed)
    for start in range(0, rows, CHUNK_ROWS):
        yield orders(np.arange(start, min(rows, start + CHUNK_ROWS)), random)


def change_rows(base: int, batch: int, *, number: int) -> pa.Table:
    """Return one batch of changes: 80 % updates of random orders, 20 % new ones.

    Args:
        base: orders in the table before the first batch.
        batch: rows of every batch.
        number: which batch, from 0; new orders follow those of earlier batches.
    """
    random = np.random.default_rng(1_000 + number)
    new = batch // 5
    updated = random.choice(base, batch - new, replace=False)
    first = base + number * new
    return orders(np.concatenate([updated, np.arange(first, first + new)]), random)


def orders(ids: np.ndarray, random: np.random.Generator) -> pa.Table:
    """Return one order for each id."""
    count = len(ids)
    placed = _EPOCH + ids * 1_000_000
    words = _WORDS[random.integers(0, len(_WORDS), (count, 3))]
    arrays = [
        ids,
        random.integers(0, CUSTOMERS, count),
        _STATUSES[random.integers(0, len(_STATUSES), count)],
        _REGIONS[random.integers(0, len(_REGIONS), count)],
        random.integers(1, 20, count, dtype=np.int32),
        np.round(random.gamma(2.0, 50.0, count), 2),
        np.round(random.random(count) * 0.3, 2),
        placed,
        placed + random.integers(0, 10**12, count),
        np.char.add(
            np.char.add(words[:, 0], " "), np.char.add(np.char.add(words[:, 1], " "), words[:, 2])
        ),
    ]
    return pa.Table.from_arrays(
        [pa.array(values).cast(field.type) for values, field in zip(arrays, SCHEMA, strict=True)],
        schema=SCHEMA,
    )
