"""A case: rows of a table, a statement in SQL, the rows after it or what its refusal says.

Whatever a case reads beside its table is a view of ``VIEWS``, so a case is a value.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]

_LONG = pa.field("id", pa.int64(), nullable=False)
_INT = pa.field("id", pa.int32(), nullable=False)
_PLAIN = pa.schema([_LONG, ("v", pa.string()), ("n", pa.int32())])
_CREW = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("no", pa.int32()), ("team", pa.string())]
)
_PAIR = pa.struct([("x", pa.int32()), ("y", pa.int32())])
_INNER = pa.struct([("a", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.string()))])
_TIMES = pa.schema([_LONG, ("at", pa.timestamp("us", tz="UTC"))])
_PLACES = pa.schema([_LONG, ("n", pa.int32()), ("p", pa.string()), ("q", pa.string())])
_NESTED = pa.schema(
    [
        _LONG,
        ("s", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("xs", pa.list_(pa.int32())),
    ]
)
_EXACT = pa.struct([pa.field("n1", pa.int32(), nullable=False), ("n2", _PAIR)])

TABLES: dict[str, dict[str, Any]] = {
    "keyed": {"schema": _PLAIN, "primary_key": ["id"]},
    "parted": {"schema": _PLAIN, "primary_key": ["id"], "partition_by": ["v"]},
    "bucketed": {"schema": _PLAIN, "primary_key": ["id"], "partition_by": ["bucket(2, v)"]},
    "cut": {"schema": _PLAIN, "primary_key": ["id"], "partition_by": ["truncate(1, v)"]},
    "sorted": {
        "schema": _PLAIN,
        "primary_key": ["id"],
        "partition_by": ["v"],
        "properties": {"self-optimizing.sort-columns": "n"},
    },
    "days": {"schema": _TIMES, "primary_key": ["id"], "partition_by": ["day(at)"]},
    "places": {"schema": _PLACES, "primary_key": ["id"], "partition_by": ["p", "q"]},
    "pairs": {
        "schema": pa.schema([each.with_nullable(each.name == "n") for each in _PLAIN]),
        "primary_key": ["id", "v"],
    },
    "strict": {
        "schema": pa.schema([_LONG, pa.field("v", pa.string(), nullable=False)]),
        "primary_key": ["id"],
    },
    "one": {"schema": pa.schema([_LONG]), "primary_key": ["id"]},
    "nested": {"schema": _NESTED, "primary_key": ["id"]},
    "deep": {
        "schema": pa.schema([_INT, ("s", pa.struct([("c", pa.int32()), ("d", _INNER)]))]),
        "primary_key": ["id"],
    },
    "exact": {
        "schema": pa.schema([_INT, pa.field("s", _EXACT, nullable=False)]),
        "primary_key": ["id"],
    },
    "bags": {
        "schema": pa.schema(
            [_INT, ("a", pa.list_(_PAIR)), ("m", pa.map_(pa.string(), pa.string()))]
        ),
        "primary_key": ["id"],
    },
    # Statements speak of columns that are no key, so these may be null, and equal in several rows.
    "crew": {"schema": _CREW, "primary_key": ["k"]},
    "crews": {"schema": _CREW, "primary_key": ["k"], "partition_by": ["team"]},
    "settled": {
        "schema": _PLAIN,
        "primary_key": ["id"],
        "properties": {"write.spark.auto-schema-evolution.enabled": "false"},
    },
    "groups": {
        "schema": _PLAIN,
        "primary_key": ["id"],
        "properties": {"write.parquet.row-group-limit": "20"},
    },
}

KEYLESS = "_bag"
"""Behind the name of a table: its twin without a key."""
TABLES |= {
    f"{name}{KEYLESS}": {part: what for part, what in made.items() if part != "primary_key"}
    for name, made in TABLES.items()
}


def day(number: int) -> datetime.datetime:
    """Return the beginning of a day, counted from that of all time."""
    return datetime.datetime.fromtimestamp(number * 86_400, datetime.timezone.utc)


ROWS: list[Row] = [(1, "a", 10), (2, "b", 20), (3, None, 30)]
CREW: list[Row] = [(1, 10, "sea"), (2, 20, "air"), (3, None, "sea")]
STARTS: dict[str, list[Row]] = {
    "nested": [(1, {"a": 1, "b": "x"}, [1]), (2, {"a": 2, "b": None}, None)],
    "deep": [(1, {"c": 1, "d": {"a": [1, 2], "m": [("k", "v")]}})],
    "exact": [(1, {"n1": 1, "n2": {"x": 2, "y": 3}})],
    "bags": [(1, [{"x": 1, "y": 2}], [("k", "v")])],
    "days": [(1, day(11)), (2, day(12)), (3, day(13))],
    "strict": [(1, "a"), (2, "b")],
    "one": [(1,)],
    "crew": CREW,
    "crews": CREW,
}
"""The rows that a table of a name begins with; ``ROWS`` where nothing is said."""

VIEWS = {
    "news": "SELECT * FROM VALUES (2L, 'B', 200), (4L, 'd', 40) AS s(id, v, n)",
    "ops": "SELECT * FROM VALUES (1L, 'D', 0), (2L, 'U', 5), (4L, 'I', 6) AS s(id, op, n)",
    "ids": "SELECT * FROM VALUES (1L), (null) AS s(id)",
    "none": "SELECT * FROM VALUES (1L, 'x', 1) AS s(id, v, n) WHERE id > 5",
    "doubled": "SELECT * FROM VALUES (1L, 'A', 1), (1L, 'A', 1), (4L, 'd', 40) AS s(id, v, n)",
    "many": "SELECT id FROM range(500) UNION ALL SELECT id FROM range(500)",
    "nos": "SELECT * FROM VALUES (0), (10), (null) AS s(no)",
    "teams": "SELECT * FROM VALUES ('sea'), ('land'), (null) AS s(team)",
    "hands": "SELECT * FROM VALUES (7L, 10, 'mud'), (8L, null, 'ice') AS s(k, no, team)",
    "pairs": "SELECT * FROM VALUES (10, 'sea'), (null, 'sea') AS s(no, team)",
    "loose": "SELECT 1 c1, named_struct('n1', 1) c2, 'x' c3, named_struct('z', 1, 'x', 2) c4",
}

MANY_TASKS = {
    "spark.sql.shuffle.partitions": "50",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "100",
}
"""Far more tasks than there are rows, which Spark joins again."""
SKEWED_TASKS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "100",
    "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "true",
}
"""Tasks that Spark divides where one has more rows than the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One statement."""

    id: str
    sql: str
    """``{t}`` is the table."""
    rows: list[Row] | None = None
    """After it, in any order; None: it is refused."""
    error: str = ""
    """What the refusal says."""
    table: str = "keyed"
    before: list[Row] | None = None
    """None: those of ``STARTS``."""
    commits: int = 1
    """How many files the rows are spread over beforehand, each of a commit of its own."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Spark, for this statement."""
    keyless: list[Row] | None = None
    """After it in a table without a key; None: as with one."""

    @property
    def start(self) -> list[Row]:
        """The rows before it."""
        return STARTS.get(self.table, ROWS) if self.before is None else self.before

    def without_key(self) -> Case:
        """Return the same statement of the twin of its table that has no key."""
        rows = self.rows if self.keyless is None else self.keyless
        return replace(self, table=f"{self.table}{KEYLESS}", before=self.start, rows=rows)


def refusals(kind: str, error: str, table: str, *statements: str, **settings: str) -> list[Case]:
    """Return a case for each of several statements that are refused with the same words."""
    given = {f"spark.sql.{name}": value for name, value in settings.items()}
    return [
        Case(id=f"{kind} {number}", sql=statement, error=error, table=table, settings=given)
        for number, statement in enumerate(statements, start=1)
    ]
