"""The input of a run: accounts, and commits of skewed upserts to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.orders import CHUNK_ROWS, orders
from benchmarks.peers.inputs import widened

KEY = "account_id"
NEW_SHARE = 0.1
"""Of the rows of a commit: accounts that were not there before."""
KEY_TYPES = {"string": pa.string(), "bigint": pa.int64()}

_SCATTER = np.uint64(11_400_714_819_323_198_485)
"""Products with it lie in no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a run is asked for."""

    rows: int
    commits: int
    batch: int
    """Rows of each commit, with as many keys."""
    skew: float
    """Exponent by which the chance of an account falls with its rank; 0: all are alike."""
    key: str
    """One of ``KEY_TYPES``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The files of a run; every path is a folder of Parquet files."""

    shape: Shape
    schema: pa.Schema
    load: Path
    upserts: tuple[Path, ...]
    first_use: tuple[Path, Path, Path]
    """A small load, upsert and delete, for another table."""
    hot_key: str
    """The account with the greatest chance to change, as SQL writes it."""


def write_accounts(folder: Path, shape: Shape) -> Accounts:
    """Generate the files, the same for the same shape."""
    random = np.random.default_rng(7)
    for start in range(0, shape.rows, CHUNK_ROWS):
        numbers = np.arange(start, min(shape.rows, start + CHUNK_ROWS))
        _write(folder / "load" / f"{start}.parquet", _rows(numbers, random, shape))
    ranked = random.permutation(shape.rows)
    weights = -shape.skew * np.log(np.arange(1, shape.rows + 1))
    new = int(shape.batch * NEW_SHARE)
    upserts = []
    for commit in range(shape.commits):
        # The greatest of weights with such noise are a draw without repetition by these weights.
        noise = random.gumbel(size=shape.rows)
        drawn = np.argpartition(weights + noise, -(shape.batch - new))[-(shape.batch - new) :]
        first = shape.rows + commit * new
        numbers = np.concatenate([ranked[drawn], np.arange(first, first + new)])
        path = folder / f"upsert{commit}"
        _write(path / "0.parquet", _rows(numbers, random, shape))
        upserts.append(path)
    few = _rows(np.arange(min(1_000, shape.rows)), random, shape)
    first_use = (folder / "first_load", folder / "first_upsert", folder / "first_delete")
    for path, rows in zip(first_use, (few, few, few.select([KEY]).slice(0, 10)), strict=True):
        _write(path / "0.parquet", rows)
    (hot_key,) = _keys(ranked[:1], shape.key).to_pylist()
    return Accounts(
        shape=shape,
        schema=few.schema,
        load=folder / "load",
        upserts=tuple(upserts),
        first_use=first_use,
        hot_key=f"'{hot_key}'" if shape.key == "string" else str(hot_key),
    )


def _rows(numbers: np.ndarray, random: np.random.Generator, shape: Shape) -> pa.Table:
    rows = widened(orders(numbers, random))
    field = pa.field(KEY, KEY_TYPES[shape.key], nullable=False)
    return rows.set_column(0, field, _keys(numbers, shape.key))


def _keys(numbers: np.ndarray, key: str) -> pa.Array:
    """Return keys of 24 characters, or of 8 bytes, that lie in no order."""
    scattered = (numbers.astype(np.uint64) * _SCATTER) >> np.uint64(1)
    # The number itself in the lower half keeps keys apart.
    scattered = (scattered & ~np.uint64(0xFFFFFFFF)) | numbers.astype(np.uint64)
    whole = pa.array(scattered.astype(np.int64))
    if key == "bigint":
        return whole
    return pa.array(np.char.add("acct-", np.char.zfill(scattered.astype(str), 19)), pa.string())


def _write(path: Path, rows: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="zstd")
