"""Tables of every kind that a plain Iceberg reader may meet, made by one history."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

import arctic

ROWS = 24
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FAR = timedelta(microseconds=9_876_543_210_987_654)
_TEXTS = ("", "a", "\U0001f600", "数据湖", "polygenelubricants", "x\ty\\\n", "eu west/1", "ä=ö%")

VALUES: dict[pa.DataType, Callable[[int], Any]] = {
    pa.bool_(): lambda n: n % 2 == 0,
    pa.int32(): lambda n: n * 53_687_091 - 2**30,
    pa.int64(): lambda n: n * 230_584_300_921_369_395 - 2**62,
    pa.float32(): lambda n: struct.unpack("f", struct.pack("f", (n - 7) * 0.3))[0],
    pa.float64(): lambda n: (n - 7) * 1e300 / 3 if n != 7 else -0.0,
    pa.date32(): lambda n: date(1970, 1, 1) + timedelta(days=n * 1_511 - 30_000),
    pa.time64("us"): lambda n: (_EPOCH + timedelta(microseconds=n * 1_999_999_999)).time(),
    pa.timestamp("us"): lambda n: _EPOCH + (n - 20) * _FAR / 7,
    pa.timestamp("us", "UTC"): lambda n: (_EPOCH + (n - 20) * _FAR / 9).replace(
        tzinfo=timezone.utc
    ),
    pa.string(): lambda n: _TEXTS[n % 8] + str(n // 8) * (n > 7),
    pa.decimal128(9, 2): lambda n: Decimal(n * 12_345 - 250_000).scaleb(-2),
    pa.decimal128(18, 4): lambda n: Decimal(n * 10**14 - 7).scaleb(-4),
    pa.decimal128(38, 10): lambda n: Decimal((n - 20) * 10**25 + n).scaleb(-10),
    pa.binary(4): lambda n: (n * 2_654_435_761 % 2**32).to_bytes(4, "big"),
    pa.binary(): lambda n: bytes(range(n)),
}
"""Types of a key, and a value of each for every number: all differ, but of a boolean."""
NESTED: dict[pa.DataType, Callable[[int], Any]] = {
    pa.list_(pa.string()): lambda n: [None, "x", str(n)][: n % 4],
    pa.map_(pa.string(), pa.int64()): lambda n: [(f"k{i}", i * n or None) for i in range(n % 3)],
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))]): lambda n: {
        "a": n if n % 2 else None,
        "b": [0.5, None][: n % 3],
    },
}
_BY_NAME = {str(kind).partition("<")[0]: value for kind, value in NESTED.items()}
_ANY_DECIMAL = VALUES[pa.decimal128(9, 2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table: what it is made of, and how its columns change in the middle of its history."""

    id: str
    columns: Mapping[str, pa.DataType]
    key: tuple[str, ...] = ("k",)
    partition_by: tuple[str, ...] = ()
    evolution: Sequence[Mapping[str, Any]] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def _of_key(kind: pa.DataType) -> Case:
    name = "".join(each if each.isalnum() else "_" for each in str(kind)).strip("_")
    return Case(id=f"key_{name}", columns={"k": kind, "v": pa.int64()})


def _of_partition(transform: str, kind: pa.DataType, *, in_key: bool = False) -> Case:
    name = "".join(each if each.isalnum() else "_" for each in f"{transform}{kind}").strip("_")
    return Case(
        id=f"by_{name}",
        columns={"k": pa.int64(), "p": kind, "v": pa.int64()},
        key=("k", "p") if in_key else ("k",),
        partition_by=(transform,),
    )


_PLAIN = {"k": pa.int64(), "v": pa.int32(), "s": pa.string()}
_NAIVE, _INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")

CASES = [
    *map(_of_key, VALUES),
    Case(
        id="key_of_all",
        columns={**{f"k{i}": kind for i, kind in enumerate(VALUES)}, "v": pa.int64()},
        key=tuple(f"k{i}" for i in reversed(range(len(VALUES)))),
    ),
    Case(id="nested", columns={"k": pa.int32(), **{str(kind)[0]: kind for kind in NESTED}}),
    Case(id="no_key", columns={"k": pa.int64(), "at": _NAIVE}, key=(), partition_by=("year(at)",)),
    _of_partition("p", pa.string()),
    _of_partition("p", pa.date32(), in_key=True),
    _of_partition("truncate(2, p)", pa.string()),
    _of_partition("truncate(1000000, p)", pa.int32()),
    _of_partition("bucket(3, p)", pa.string(), in_key=True),
    _of_partition("bucket(3, p)", pa.decimal128(18, 4)),
    _of_partition("bucket(3, k)", pa.int64()),
    _of_partition("month(p)", pa.date32()),
    _of_partition("day(p)", _NAIVE, in_key=True),
    _of_partition("hour(p)", _INSTANT),
    Case(
        id="added_and_dropped",
        columns=_PLAIN,
        evolution=[
            {"add": {"x": pa.date32(), "y": pa.float64()}},
            {"drop": ["s"]},
            {"add": {"s": pa.binary()}},
        ],
    ),
    Case(id="renamed", columns=_PLAIN, evolution=[{"rename": {"v": "w"}}, {"rename": {"s": "v"}}]),
    Case(
        id="widened",
        columns={**_PLAIN, "f": pa.float32(), "d": pa.decimal128(9, 2)},
        evolution=[{"widen": {"v": pa.int64(), "f": pa.float64(), "d": pa.decimal128(12, 2)}}],
    ),
    Case(id="encoded", columns=_PLAIN, properties={"write.parquet.delta-encoding": "true"}),
]
"""Every key type, every transform, every change of columns."""


def make(case: Case, catalog: Mapping[str, str]) -> str:
    """Let a table live through the history; return its name."""
    name = f"cases.{case.id}"
    schema = pa.schema(list(case.columns.items()))
    table = arctic.create_table(
        name,
        schema,
        primary_key=case.key,
        partition_by=case.partition_by,
        # So small that a minor run marks rows in base files instead of writing the files anew.
        properties={"self-optimizing.target-size": "4096", **case.properties},
        catalog=catalog,
    )
    table.write(_rows(table, range(ROWS), 1), mode="overwrite")
    _change(table, range(10, 20), 2, range(4))
    table.optimize(type="minor", options={"self-optimizing.min-plan-interval": "0"})
    for changes in case.evolution:
        table = table.evolve_schema(**changes)
    _change(table, range(15, 28), 3, range(5, 9))
    return name


def _change(table: arctic.Table, upserted: range, tag: int, deleted: range) -> None:
    table.write(_rows(table, upserted, tag), mode="upsert" if table.is_keyed else "append")
    if table.is_keyed:
        keys = _rows(table, deleted, 1).select(list(table.primary_key))
        table.write(keys.slice(1), mode="delete")  # one of two booleans stays


def _rows(table: arctic.Table, numbers: range, tag: int) -> pa.Table:
    """Return rows; those of one number have one key, the rest depends on the tag too."""
    key = set(table.primary_key)
    columns = [
        [_value(each.type, number, 0 if each.name in key else tag) for number in numbers]
        for each in table.schema
    ]
    rows = pa.table(columns, schema=table.schema)
    is_of_booleans = len(key) == 1 and pa.types.is_boolean(table.schema.field(next(iter(key))).type)
    return rows.slice(0, 2) if is_of_booleans else rows


def _value(kind: pa.DataType, number: int, tag: int) -> Any:
    if tag and (number + tag) % 7 == 0:
        return None
    value = VALUES.get(kind) or _BY_NAME.get(str(kind).partition("<")[0]) or _ANY_DECIMAL
    return value((number + tag) % ROWS)
