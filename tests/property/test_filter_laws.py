"""Random filters over random values, the extremes among them, equal DuckDB on all the rows.

Reads leave out partitions by their transforms, files by the bounds in manifests, row groups by the
statistics in Parquet, and rows one by one: whatever is left out wrongly is missing here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arctic

DAY = 86_400_000_000
FIRST_MICROS, LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int32(), [-(2**31), -(2**31) + 7, -11, -10, -1, 0, 1, 2, 9, 10, 2**31 - 1]),
    "l": (pa.int64(), [-(2**63), -(2**63) + 1, -(2**31), -1, 0, 1, 2**31, 2**63 - 2, 2**63 - 1]),
    "f": (
        pa.float32(),
        [-math.inf, -(2.0**127), -1.5, -0.0, 0.0, 2.0**-149, 1.0, 2.0**127, math.inf, math.nan],
    ),
    "d": (
        pa.float64(),
        [-math.inf, -1e308, -0.5, -0.0, 0.0, 5e-324, 1.0, 1e308, math.inf, math.nan],
    ),
    "s": (
        pa.string(),
        [
            "",
            "a",
            "ab",
            "a_",
            "a%",
            "a\\",
            "abc",
            "A",
            "\n",
            "a\nb",
            "b",
            "ä",
            "\U0010ffff",
            "x" * 40,
        ],
    ),
    "p": (
        pa.decimal128(9, 2),
        [Decimal(text) for text in ("-9999999.49", "-0.51", "-0.01", "0.00", "0.49", "9999999.99")],
    ),
    "day": (pa.date32(), [-719_162, -366, -1, 0, 1, 31, 19_782, 2_932_896]),
    "moment": (
        pa.timestamp("us"),
        [FIRST_MICROS, -DAY, -1, 0, 1, 3_600_000_000, DAY, 1_709_164_800_000_000, LAST_MICROS],
    ),
    "ok": (pa.bool_(), [True, False]),
}
SPECS = [
    [],
    ["truncate(10, n)", "truncate(3, l)", "truncate(2, s)", "truncate(50, p)"],
    ["bucket(4, n)", "bucket(3, s)", "year(day)", "hour(moment)"],
    ["s", "n", "month(moment)", "ok"],
    ["day(moment)", "month(day)", "bucket(2, l)"],
]
KEYED_SPECS = [["truncate(10, n)"]]
ALL_SPECS = [*SPECS, *KEYED_SPECS]
ROWS = 30


@dataclass(frozen=True)
class Lake:
    """The same rows in every table and in DuckDB."""

    tables: tuple[arctic.Table, ...]
    duck: duckdb.DuckDBPyConnection


def rows() -> pa.Table:
    """Return rows in which every value of each column comes, nulls among them, then moved on."""
    columns: dict[str, Any] = {"id": pa.array(range(ROWS), pa.int64())}
    for pace, (name, (kind, values)) in enumerate(VALUES.items(), start=1):
        known = [None, *values]
        numbers = [known[(row + row // len(known) * pace) % len(known)] for row in range(ROWS)]
        storage = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}.get(kind, kind)
        columns[name] = pa.array(numbers, storage).view(kind)
    return pa.table(columns)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Return tables of every partition transform, and of several files without one."""
    warehouse: Path = tmp_path_factory.mktemp("filters")
    data = rows()
    tables = []
    for number, spec in enumerate(ALL_SPECS):
        key = ["id"] if number >= len(SPECS) else []
        schema = pa.schema([data.schema.field(0).with_nullable(False), *list(data.schema)[1:]])
        table = arctic.create_table(
            f"t.t{number}",
            schema,
            primary_key=key,
            partition_by=spec,
            properties={"write.parquet.row-group-limit": "4"} if not spec else {},
            warehouse=str(warehouse),
        )
        part = ROWS if spec and not key else ROWS // 3
        for start in range(0, ROWS, part):
            table.write(data.slice(start, part), mode="upsert" if key else "append")
        tables.append(table)
    duck = duckdb.connect()
    duck.register("arrow_rows", data)
    duck.execute("create table rows as select * from arrow_rows")
    yield Lake(tables=tuple(tables), duck=duck)
    duck.close()


@dataclass(frozen=True)
class Both:
    """One filter, as Arctic is asked and as DuckDB is."""

    ours: str
    theirs: str


def literal(name: str, value: Any) -> Both:
    """Return a literal in both languages."""
    if name in ("f", "d"):
        text = repr(value)
        if math.isinf(value):
            return Both(f"CAST('{text}' AS DOUBLE)", f"CAST('{text}' AS DOUBLE)")
        return Both(text, f"CAST('{text}' AS DOUBLE)")
    if name == "s":
        text = "'" + value.replace("'", "''") + "'"
        return Both(text, text)
    if name == "day":
        text = str(date.fromordinal(value + 719_163))
        return Both(f"DATE '{text}'", f"DATE '{text}'")
    if name == "moment":
        return Both(str(value), f"make_timestamp({value})")
    return Both(str(value).lower(), str(value).lower())


def operand(name: str) -> str:
    """Return a column for DuckDB, in which NaN is a number: here it compares with nothing."""
    if name in ("f", "d"):
        return f"(case when isnan({name}) then null else {name}::double end)"
    return name


BEYOND = {"f": [1e39, -1e39, 3.5e38, 2.0**128], "d": []}


@st.composite
def column_tests(draw: st.DrawFn) -> Both:
    """Draw a test of any column, its literal a value that is there or one beside it."""
    name = draw(st.sampled_from(list(VALUES)))
    known = [value for value in VALUES[name][1] if value == value] + BEYOND.get(name, [])
    value = st.sampled_from(known)
    kinds = ["compare"] * 4 + ["in", "not in", "null", "between"] + ["like"] * 3 * (name == "s")
    kind = draw(st.sampled_from(kinds))
    column = operand(name)
    if kind == "null":
        test = draw(st.sampled_from(["is null", "is not null"]))
        return Both(f"{name} {test}", f"{name} {test}")
    if kind == "like":
        parts = draw(
            st.lists(st.sampled_from(["a", "b", "_", "%", "\\_", "\\%", "\\\\", "\n", "x"]))
        )
        test = draw(st.sampled_from(["like", "not like"]))
        pattern = "".join(parts)
        return Both(f"{name} {test} '{pattern}'", f"{name} {test} '{pattern}' escape '\\'")
    if kind in ("in", "not in"):
        values = [literal(name, each) for each in draw(st.lists(value, min_size=1, max_size=3))]
        ours = ", ".join(each.ours for each in values)
        theirs = ", ".join(each.theirs for each in values)
        return Both(f"{name} {kind} ({ours})", f"{column} {kind} ({theirs})")
    first = literal(name, draw(value))
    if kind == "between":
        second = literal(name, draw(value))
        return Both(
            f"{name} between {first.ours} and {second.ours}",
            f"{column} between {first.theirs} and {second.theirs}",
        )
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return Both(f"{name} {op} {first.ours}", f"{column} {op} {first.theirs}")


def joined(joint: str, parts: list[Both]) -> Both:
    """Join filters in both languages."""
    ours = f" {joint} ".join(f"({part.ours})" for part in parts)
    return Both(ours, f" {joint} ".join(f"({part.theirs})" for part in parts))


def filters() -> st.SearchStrategy[Both]:
    """Draw tests joined by AND, OR and NOT."""
    return st.recursive(
        column_tests(),
        lambda children: st.one_of(
            st.lists(children, min_size=2, max_size=3).map(lambda parts: joined("and", parts)),
            st.lists(children, min_size=2, max_size=3).map(lambda parts: joined("or", parts)),
            children.map(lambda part: Both(f"not ({part.ours})", f"not ({part.theirs})")),
        ),
        max_leaves=4,
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(wanted=filters(), number=st.integers(0, len(ALL_SPECS) - 1))
def test_a_filter_finds_what_duckdb_finds_in_all_rows(
    lake: Lake, wanted: Both, number: int
) -> None:
    """No row is missed and none too many, wherever it lies."""
    expected = lake.duck.execute(f"select id from rows where {wanted.theirs}").fetchall()

    found = lake.tables[number].read(columns=["id"], filter=wanted.ours).read_all()

    assert sorted(found["id"].to_pylist()) == sorted(key for (key,) in expected)


@pytest.mark.parametrize("name", VALUES)
def test_every_value_is_found_by_itself_and_by_both_sides(lake: Lake, name: str) -> None:
    """Each extreme once, without chance: equal, less, greater."""
    values = [value for value in VALUES[name][1] if value == value]
    for op, some in (("=", [*values[:2], *values[-2:]]), ("<", values[:2]), (">=", values[-2:])):
        for value in some:
            said = literal(name, value)
            theirs = f"select id from rows where {operand(name)} {op} {said.theirs}"
            expected = lake.duck.execute(theirs).fetchall()
            found = lake.tables[0].read(columns=["id"], filter=f"{name} {op} {said.ours}")
            ids = sorted(found.read_all()["id"].to_pylist())
            assert ids == sorted(key for (key,) in expected), (op, value)
