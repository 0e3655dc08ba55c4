"""Tables with histories, published after every step; the rows of each state are kept as a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.transforms import IdentityTransform

import arctic

KEYS = 3_000
OUTPUTS = ("v2", "v3", "clean")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("region", pa.string()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("price", pa.decimal128(9, 2)),
        pa.field("n", pa.int32()),
    ]
)
LAYOUTS: dict[str, list[str]] = {
    "plain": [],
    "region": ["region"],
    "day": ["day(at)"],
    "bucket": ["bucket(4, id)"],
    "adopted": ["region"],
}
"""Name of a table -> its partition fields."""
_ADOPTED = "adopted"
"""The layout whose first files are PyIceberg's."""
STEPS = range(6)
"""Numbers of what happens to each."""
_BEGIN = datetime(2024, 2, 28, tzinfo=timezone.utc)


def rows(ids: range, tag: int, schema: pa.Schema) -> pa.Table:
    """Return rows of some keys; what a column holds follows from the key and the tag."""
    made: dict[str, Callable[[int], Any]] = {
        "id": lambda number: number,
        "region": lambda number: None if number % 11 == 0 else f"r{(number + tag) % 3}",
        "at": lambda number: _BEGIN + timedelta(hours=number % 72),
        "price": lambda number: Decimal(number * tag) / 4,
        "n": lambda number: number % 100 - 50 + tag,
        "cost": lambda number: Decimal(number * tag) / 4,
        "town": lambda number: f"town {number % 7} of {tag}",
    }
    columns = {name: [made[name](number) for number in ids] for name in schema.names}
    return pa.table(columns, schema=schema)


def publish_histories(
    folder: Path, layouts: Iterable[str] = tuple(LAYOUTS), steps: Collection[int] = STEPS
) -> Iterator[str]:
    """Make the tables, and yield the name of each state that was published, with each output.

    Args:
        folder: a warehouse that is yet to be made.
        layouts: of the tables.
        steps: numbers of those after which a table is published.

    Rows that are due lie in ``<folder>/<state>.parquet``, and ``<folder>/<state>.txt`` says which
    metadata file of the published table is the one of then.
    """
    place = str(folder)
    for layout in layouts:
        name = f"shop.{layout}"
        table = _filled(name, layout, folder)
        for number, work in enumerate(_steps(table)):
            work()
            if number not in steps:
                continue
            expected = arctic.read(name, warehouse=place).read_all()
            for output in OUTPUTS:
                into = f"{name}_{output}"
                arctic.publish(name, into=into, output=output, warehouse=place)
                state = f"{output}-{layout}-{number}"
                pq.write_table(expected, folder / f"{state}.parquet")
                (folder / f"{state}.txt").write_text(_metadata_file(folder, into))
                yield state


def _filled(name: str, layout: str, folder: Path) -> arctic.Table:
    """Return a table with a row of every key."""
    place, first = str(folder), rows(range(KEYS), 1, SCHEMA)
    if layout != _ADOPTED:
        table = arctic.create_table(
            name, SCHEMA, primary_key=["id"], partition_by=LAYOUTS[layout], warehouse=place
        )
        table.write(first, mode="upsert")
        return table
    catalog = _catalog(folder)
    catalog.create_namespace_if_not_exists("shop")
    columns = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(SCHEMA))
    fields = [
        PartitionField(columns.find_field(column).field_id, 1_000 + at, IdentityTransform(), column)
        for at, column in enumerate(LAYOUTS[layout])
    ]
    plain = catalog.create_table(name, columns, partition_spec=PartitionSpec(*fields))
    for start in range(0, KEYS, KEYS // 2):
        plain.append(first.slice(start, KEYS // 2))
    return arctic.adopt(name, primary_key="id", warehouse=place)


def _metadata_file(folder: Path, name: str) -> str:
    return str(_catalog(folder).load_table(name).metadata_location)


def _catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("arctic", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")


def _steps(table: arctic.Table) -> list[Callable[[], Any]]:
    """Return what happens to a table, in order."""

    def write(ids: range, tag: int) -> None:
        table.write(rows(ids, tag, table.schema), mode="upsert")

    def replace_some() -> None:
        write(range(100, 400), 2)

    def delete() -> None:
        table.write(rows(range(50, 150), 1, SCHEMA).select(_key(table)), mode="delete")

    def merge() -> None:
        table.optimize(type="minor")
        write(range(350, 600), 3)

    def change_columns() -> None:
        table.evolve_schema(
            add={"town": pa.string()}, widen={"n": pa.int64()}, rename={"price": "cost"}
        )
        table.refresh()
        write(range(550, 700), 4)

    def merge_all() -> None:
        table.optimize(type="full")

    def replace_many() -> None:
        write(range(1_000, 2_000), 5)

    return [replace_some, delete, merge, change_columns, merge_all, replace_many]


def _key(table: arctic.Table) -> list[str]:
    return list(table.primary_key)
