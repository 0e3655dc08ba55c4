"""Every kind of wrong call ends in a named error, and nothing is committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record
from pyiceberg.types import LongType

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("amount", pa.int32(), nullable=False),
    ]
)
ROW = {"id": 1, "name": "a", "amount": 5}


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """Return a warehouse with the keyed table shop.orders of one row."""
    warehouse = str(tmp_path / "warehouse")
    arctic.create_table("shop.orders", SCHEMA, primary_key=["id"], warehouse=warehouse)
    write(warehouse, [ROW])
    return warehouse


def write(warehouse: str, rows: list[dict[str, Any]], **changes: Any) -> Any:
    """Upsert rows into shop.orders, or what the changes say."""
    schema = changes.pop("schema", SCHEMA)
    arguments = {"mode": "upsert", "options": changes.pop("options", {}), **changes}
    data = pa.Table.from_pylist(rows, schema=schema)
    return arctic.write("shop.orders", data, warehouse=warehouse, **arguments)


def state(warehouse: str) -> tuple[Any, ...]:
    """Return everything that a commit would change."""
    snapshots = arctic.read("shop.orders.snapshots", warehouse=warehouse).read_all()
    return (arctic.list_tables(warehouse=warehouse), snapshots.column("snapshot_id").to_pylist())


def read(warehouse: str, **arguments: Any) -> list[dict[str, Any]]:
    """Read shop.orders."""
    rows: list[dict[str, Any]] = (
        arctic.read("shop.orders", warehouse=warehouse, **arguments).read_all().to_pylist()
    )
    return rows


def not_utf8() -> pa.Table:
    """Return rows with a text that no reader could decode."""
    offsets = pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0]))
    text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    return pa.table([pa.array([5]), text, pa.array([1], pa.int32())], schema=SCHEMA)


def typed(name: str, data_type: pa.DataType) -> pa.Schema:
    """Return the schema with another type for one column."""
    place = SCHEMA.get_field_index(name)
    return SCHEMA.set(place, SCHEMA.field(name).with_type(data_type))


@dataclass(frozen=True)
class WrongCall:
    """One call that must fail, and what its error must name."""

    id: str
    call: Callable[[str], Any]
    error: type[arctic.ArcticError]
    names: str


CALLS = [
    WrongCall(
        "drop of a metadata table",
        lambda w: arctic.drop_table("shop.orders.files", purge=True, warehouse=w),
        arctic.InvalidInputError,
        "name the table",
    ),
    WrongCall(
        "creation under the name of a metadata table",
        lambda w: arctic.create_table("shop.t.files", SCHEMA, primary_key=["id"], warehouse=w),
        arctic.InvalidInputError,
        "shop.t.files",
    ),
    WrongCall(
        "an open table for its name",
        lambda w: arctic.publish(arctic.open_table("shop.orders", warehouse=w), warehouse=w),  # type: ignore[arg-type]
        arctic.InvalidInputError,
        "its name is table.name",
    ),
    WrongCall(
        "publishing every so often in the wrong option",
        lambda w: write(w, [ROW], options={"publish": "every 2 commits"}),
        arctic.InvalidInputError,
        "publish-every-commits",
    ),
    WrongCall(
        "another table in the options",
        lambda w: write(w, [ROW], options={"path": "shop.other"}),
        arctic.InvalidInputError,
        "option path",
    ),
    WrongCall(
        "another mode in the options",
        lambda w: write(w, [ROW], options={"write-mode": "delete"}),
        arctic.InvalidInputError,
        "option write-mode",
    ),
    WrongCall(
        "column with a reserved name",
        lambda w: write(w, [ROW], schema=pa.schema([*SCHEMA, ("_arctic_task", pa.int32())])),
        arctic.InvalidInputError,
        "'_arctic_task'",
    ),
    WrongCall(
        "text that is not UTF-8",
        lambda w: arctic.write("shop.orders", not_utf8(), mode="upsert", warehouse=w),
        arctic.InvalidInputError,
        "'name'",
    ),
    WrongCall(
        "property of Iceberg that is no number",
        lambda w: arctic.create_table(
            "shop.t",
            SCHEMA,
            primary_key=["id"],
            properties={"commit.manifest.min-count-to-merge": "abc"},
            warehouse=w,
        ),
        arctic.InvalidInputError,
        "commit.manifest.min-count-to-merge",
    ),
    WrongCall(
        "unknown table",
        lambda w: arctic.read("shop.order", warehouse=w),
        arctic.NotFoundError,
        "did you mean shop.orders",
    ),
    WrongCall(
        "unknown table without a key to create it",
        lambda w: arctic.write(
            "shop.fresh", pa.Table.from_pylist([ROW]), mode="upsert", warehouse=w
        ),
        arctic.NotFoundError,
        "primaryKey",
    ),
    WrongCall(
        "unknown warehouse",
        lambda w: arctic.read("shop.orders", warehouse=f"{w}-elsewhere"),
        arctic.NotFoundError,
        "-elsewhere",
    ),
    WrongCall(
        "name without a namespace",
        lambda w: arctic.read("orders", warehouse=w),
        arctic.InvalidInputError,
        "namespace.table",
    ),
    WrongCall(
        "unknown mode",
        lambda w: write(w, [ROW], mode="merge"),
        arctic.InvalidInputError,
        "write-mode = 'merge'",
    ),
    WrongCall(
        "unknown write option",
        lambda w: write(w, [ROW], options={"ordering-colum": "id"}),
        arctic.InvalidInputError,
        "did you mean 'ordering-column'",
    ),
    WrongCall(
        "bad read option value",
        lambda w: read(w, options={"weight-ratio": "much"}),
        arctic.InvalidInputError,
        "weight-ratio = 'much'",
    ),
    WrongCall(
        "bad table property",
        lambda w: arctic.create_table(
            "shop.t",
            SCHEMA,
            primary_key=["id"],
            properties={"change.file-index.hash-bucket": "3"},
            warehouse=w,
        ),
        arctic.InvalidInputError,
        "power of two",
    ),
    WrongCall(
        "key that is no column",
        lambda w: arctic.create_table("shop.t", SCHEMA, primary_key=["key"], warehouse=w),
        arctic.InvalidInputError,
        "'key'",
    ),
    WrongCall(
        "key that cannot be hashed",
        lambda w: arctic.create_table(
            "shop.t", pa.schema([("k", pa.list_(pa.int32()))]), primary_key=["k"], warehouse=w
        ),
        arctic.InvalidInputError,
        "'k'",
    ),
    WrongCall(
        "year partitions of a keyed table",
        lambda w: arctic.create_table(
            "shop.t",
            pa.schema([("id", pa.int64()), ("day", pa.date32())]),
            primary_key=["id"],
            partition_by=["year(day)"],
            warehouse=w,
        ),
        arctic.UnsupportedError,
        "year",
    ),
    WrongCall(
        "table that exists",
        lambda w: arctic.create_table("shop.orders", SCHEMA, primary_key=["id"], warehouse=w),
        arctic.AlreadyExistsError,
        "shop.orders",
    ),
    WrongCall(
        "null key",
        lambda w: write(w, [{**ROW, "id": None}], schema=pa.schema([*map(nullable, SCHEMA)])),
        arctic.InvalidInputError,
        "'id'",
    ),
    WrongCall(
        "null in a required column",
        lambda w: write(
            w, [{**ROW, "id": 77, "amount": None}], schema=pa.schema([*map(nullable, SCHEMA)])
        ),
        arctic.InvalidInputError,
        "id=77",
    ),
    WrongCall(
        "unknown column",
        lambda w: write(w, [ROW], schema=pa.schema([*SCHEMA, ("Nam", pa.string())])),
        arctic.InvalidInputError,
        "'Nam'",
    ),
    WrongCall(
        "missing required column",
        lambda w: write(w, [ROW], schema=SCHEMA.remove(2)),
        arctic.InvalidInputError,
        "'amount'",
    ),
    WrongCall(
        "lossy type",
        lambda w: write(w, [{**ROW, "amount": 2**40}], schema=typed("amount", pa.int64())),
        arctic.InvalidInputError,
        "'amount'",
    ),
    WrongCall(
        "other type",
        lambda w: write(w, [{**ROW, "name": 3}], schema=typed("name", pa.int32())),
        arctic.InvalidInputError,
        "'name'",
    ),
    WrongCall(
        "delete without the key",
        lambda w: write(w, [ROW], schema=SCHEMA.remove(0), mode="delete"),
        arctic.InvalidInputError,
        "'id'",
    ),
    WrongCall(
        "unknown action letter",
        lambda w: write(
            w,
            [{**ROW, "op": "X"}],
            schema=pa.schema([*SCHEMA, ("op", pa.string())]),
            options={"action-column": "op"},
        ),
        arctic.InvalidInputError,
        "'X'",
    ),
    WrongCall(
        "unknown action column",
        lambda w: write(w, [ROW], options={"action-column": "op"}),
        arctic.InvalidInputError,
        "'op'",
    ),
    WrongCall(
        "data that is not Arrow",
        lambda w: arctic.write("shop.orders", [ROW], mode="upsert", warehouse=w),
        arctic.InvalidInputError,
        "'list'",
    ),
    WrongCall(
        "unknown column in a read",
        lambda w: read(w, columns=["id", "nme"]),
        arctic.NotFoundError,
        "'nme'",
    ),
    WrongCall(
        "unknown column in a filter",
        lambda w: read(w, filter="amnt > 1"),
        arctic.InvalidInputError,
        "amnt",
    ),
    WrongCall(
        "filter that cannot be parsed",
        lambda w: read(w, filter="amount >"),
        arctic.InvalidInputError,
        "amount >",
    ),
    WrongCall(
        "unknown snapshot",
        lambda w: read(w, options={"snapshot-id": "17"}),
        arctic.NotFoundError,
        "17",
    ),
    WrongCall(
        "time before the table",
        lambda w: read(w, options={"as-of-timestamp": "1000"}),
        arctic.NotFoundError,
        "1000",
    ),
    WrongCall(
        "unknown store",
        lambda w: read(w, options={"store": "main"}),
        arctic.InvalidInputError,
        "store = 'main'",
    ),
    WrongCall(
        "the change store by its own name",
        lambda w: arctic.read("shop.orders_change_", warehouse=w),
        arctic.InvalidInputError,
        "shop.orders",
    ),
    WrongCall(
        "write to a metadata table",
        lambda w: arctic.write(
            "shop.orders.snapshots", pa.Table.from_pylist([ROW]), mode="append", warehouse=w
        ),
        arctic.InvalidInputError,
        "snapshots",
    ),
]


def nullable(field: pa.Field) -> pa.Field:
    """Return a field that takes nulls."""
    return field.with_nullable(True)


@pytest.mark.parametrize("wrong", CALLS, ids=lambda wrong: wrong.id)
def test_a_wrong_call_names_its_fault(shop: str, wrong: WrongCall) -> None:
    """The error is of the class whose remedy is true, names the fault, and nothing changed."""
    before = state(shop)

    with pytest.raises(wrong.error) as raised:
        wrong.call(shop)

    assert wrong.names in raised.value.message
    assert before == state(shop)
    assert read(shop) == [ROW]


def test_an_unkeyed_table_takes_no_upsert(tmp_path: Path) -> None:
    """Without a key there is nothing to match rows by."""
    arctic.create_table("shop.orders", SCHEMA, warehouse=str(tmp_path))

    with pytest.raises(arctic.InvalidInputError, match="no primary key"):
        write(str(tmp_path), [ROW])

    assert state(str(tmp_path)) == (["shop.orders"], [])


def store(warehouse: str, name: str) -> IcebergTable:
    """Load one of the two Iceberg tables as anybody could."""
    options = {"warehouse": warehouse}
    return open_catalog(CatalogConfig.from_options(options)).load_table(f"shop.{name}")


def commit_foreign_file(
    table: IcebergTable, name: str, content: DataFileContent = DataFileContent.DATA
) -> None:
    """Add a file to a store past all of our checks."""
    path = f"{table.location()}/data/{name}"
    local = Path(unquote(urlparse(path).path))
    local.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [2], "name": ["b"], "amount": [1]}), local)
    file = DataFile.from_args(
        content=content,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=local.stat().st_size,
    )
    file.spec_id = table.spec().spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


@pytest.mark.parametrize(
    ("table", "name", "content", "error", "names"),
    [
        pytest.param(
            "orders_change_", "0-I-0-00000-0-1-00001.parquet", DataFileContent.DATA,
            arctic.FormatError, "0-I-0", id="node id 0",
        ),
        pytest.param(
            "orders_change_", "1-IED-0-00000-0-1-00001.parquet", DataFileContent.DATA,
            arctic.FormatError, "'IED'", id="unknown kind in change",
        ),
        pytest.param(
            "orders", "1-ED-0-00000-0-1-00001.parquet", DataFileContent.DATA,
            arctic.FormatError, "'ED'", id="change delete in base",
        ),
        pytest.param(
            "orders", "x.parquet", DataFileContent.EQUALITY_DELETES,
            arctic.UnsupportedError, "equality deletes", id="equality delete in base",
        ),
    ],
)  # fmt: skip
def test_unknown_content_is_refused_while_planning(
    shop: str,
    table: str,
    name: str,
    content: DataFileContent,
    error: type[arctic.ArcticError],
    names: str,
) -> None:
    """What is not understood is never skipped: no row is read, and the file is named."""
    commit_foreign_file(store(shop, table), name, content)

    with pytest.raises(error, match=name) as raised:
        arctic.explain("shop.orders", warehouse=shop)

    assert names in raised.value.message


def insert_file(warehouse: str) -> Path:
    """Return the one insert file of the table."""
    files = arctic.read("shop.orders.files", warehouse=warehouse).read_all().to_pylist()
    (path,) = [file["path"] for file in files if file["kind"] == "I"]
    return Path(unquote(urlparse(path).path))


def test_a_corrupt_file_is_named(shop: str) -> None:
    """Bytes that are not Parquet end the read, with the path."""
    damaged = insert_file(shop)
    damaged.write_bytes(b"PAR1" + bytes(200))

    with pytest.raises(arctic.FormatError, match=damaged.name):
        read(shop)


def test_a_missing_file_is_named(shop: str) -> None:
    """A file that somebody deleted ends the read, with the path."""
    lost = insert_file(shop)
    lost.unlink()

    with pytest.raises(arctic.StorageError, match=lost.name):
        read(shop)


def test_a_store_two_schema_versions_ahead_is_refused(shop: str) -> None:
    """One version ahead is completed by the next write; two are a table that nobody understands."""
    base = store(shop, "orders")
    for name in ("extra", "more"):
        with base.update_schema() as update:
            update.add_column(name, LongType())

    before = store(shop, "orders_change_").metadata_location
    with pytest.raises(arctic.FormatError, match="schema"):
        write(shop, [ROW])

    assert before == store(shop, "orders_change_").metadata_location
