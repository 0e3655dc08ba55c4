"""What every catalog must carry: each verb once, the rows compared with a dict after every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

import arctic
from tests.job.adopt.test_repair_job import Plain as Sink
from tests.job.adopt.test_repair_job import row

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
_AS_GIVEN = {"missing-columns": "null"}
_AT_ONCE = {
    "clean-orphan-file.min-existing-time-minutes": "0",
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0min",
}


def use_every_verb(catalog: Mapping[str, str]) -> None:
    """From the first table to the last, rows are those of a dict."""
    shop = write_and_merge(catalog)
    name_and_copy(shop)
    publish_and_rename(shop)
    adopt_and_release(catalog)
    repair(catalog)


class Shop:
    """A table ``shop.orders`` in a catalog, and the rows that it must hold."""

    def __init__(self, catalog: Mapping[str, str]) -> None:
        self.catalog = catalog
        self.name = "shop.orders"
        self.rows: dict[int, str] = {}

    def upsert(self, ids: range, city: str, *, mode: str = "upsert") -> None:
        """Write rows."""
        rows = rows_of(ids, city)
        arctic.write(self.name, rows, mode=mode, options=_AS_GIVEN, catalog=self.catalog)
        self.rows.update(dict.fromkeys(ids, city))

    def delete(self, ids: range) -> None:
        """Delete keys."""
        arctic.write(
            self.name, rows_of(ids, "").select(["id"]), mode="delete", catalog=self.catalog
        )
        for each in ids:
            self.rows.pop(each, None)

    def check(self) -> None:
        """Compare all rows."""
        found = arctic.read(self.name, columns=["id", "city"], catalog=self.catalog).read_all()
        assert pairs(found) == sorted(self.rows.items())


def rows_of(ids: range, city: str) -> pa.Table:
    """Return rows of these keys."""
    return pa.table({"id": list(ids), "city": [city] * len(ids)}, schema=SCHEMA)


def pairs(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows as sorted pairs: one that is doubled shows."""
    return sorted(zip(table["id"].to_pylist(), table["city"].to_pylist(), strict=True))


def changed_shop(catalog: Mapping[str, str]) -> Shop:
    """Create, write, read, follow, optimize and evolve a table; return it."""
    shop = Shop(catalog)
    arctic.create_table(shop.name, SCHEMA, primary_key=["id"], catalog=catalog)
    assert arctic.list_tables(catalog=catalog) == [shop.name]
    shop.upsert(range(50), "Rome")
    shop.upsert(range(40, 60), "Oslo")
    shop.delete(range(5, 15))
    shop.check()
    found = arctic.read(shop.name, filter="id = 45", catalog=catalog).read_all()
    assert found.to_pylist() == [{"id": 45, "city": "Oslo"}]
    changes = arctic.read_changes(shop.name, catalog=catalog).read_all()
    assert pairs(changes) == sorted(shop.rows.items())

    arctic.optimize(shop.name, type="full", catalog=catalog)
    shop.check()
    arctic.evolve_schema(shop.name, add={"paid": pa.bool_()}, catalog=catalog)
    shop.upsert(range(58, 62), "Lima")
    shop.check()
    return shop


def write_and_merge(catalog: Mapping[str, str]) -> Shop:
    """Live so, then optimize, expire and overwrite the table; return it."""
    shop = changed_shop(catalog)
    arctic.optimize(shop.name, type="minor", catalog=catalog)
    assert arctic.expire(shop.name, options=_AT_ONCE, catalog=catalog).items
    shop.check()
    shop.upsert(range(3), "Bern", mode="overwrite")
    shop.rows = dict.fromkeys(range(3), "Bern")
    shop.check()
    return shop


def name_and_copy(shop: Shop) -> None:
    """Name a state, make a second table of it, and bring it back."""
    table = arctic.open_table(shop.name, catalog=shop.catalog)
    table.tag("before")
    before = dict(shop.rows)
    shop.upsert(range(2, 6), "Nuuk")
    copy = Shop(shop.catalog)
    copy.name, copy.rows = "shop.copy", dict(before)
    arctic.clone(shop.name, copy.name, version="before", catalog=shop.catalog)
    copy.check()
    copy.upsert(range(1, 3), "Linz")
    copy.check()
    shop.check()
    table.restore("before")
    shop.rows = before
    shop.check()
    arctic.drop_table(copy.name, purge=True, catalog=shop.catalog)
    shop.check()


def publish_and_rename(shop: Shop) -> None:
    """Show a table to an engine that knows nothing of Arctic, and give it another name."""
    shop.upsert(range(2, 20), "Kyiv")
    shop.delete(range(1))
    plain = load_catalog("arctic", **shop.catalog)
    for _ in range(2):
        arctic.publish(shop.name, into="shop.fresh", catalog=shop.catalog)
        seen = plain.load_table("shop.fresh").scan().to_arrow()
        assert pairs(seen) == sorted(shop.rows.items())
        shop.upsert(range(15, 25), "Cork")
    arctic.publish(shop.name, into="shop.vectors", output="v3", catalog=shop.catalog)
    shop.upsert(range(17, 19), "Faro")
    arctic.publish(shop.name, into="shop.vectors", catalog=shop.catalog)
    seen = plain.load_table("shop.vectors").scan().to_arrow()
    assert pairs(seen) == sorted(shop.rows.items())
    arctic.unpublish(shop.name, "shop.vectors", catalog=shop.catalog)
    arctic.rename(shop.name, "sales.orders", catalog=shop.catalog)
    shop.name = "sales.orders"
    assert arctic.list_tables(catalog=shop.catalog) == [shop.name]
    shop.upsert(range(22, 30), "Graz")
    shop.check()
    arctic.unpublish(shop.name, "shop.fresh", catalog=shop.catalog)
    arctic.drop_table(shop.name, purge=True, catalog=shop.catalog)
    assert arctic.list_tables(catalog=shop.catalog) == []
    plain.close()


def adopt_and_release(catalog: Mapping[str, str], **access: str) -> None:
    """Take a plain table over, write to it, and give it back.

    Args:
        catalog: its properties.
        access: further ones, by which PyIceberg itself reaches files.
    """
    columns = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "city", StringType(), required=False),
    )
    plain = load_catalog("arctic", **catalog, **access)
    plain.create_namespace_if_not_exists("shop")
    plain.create_table("shop.plain", columns).append(
        rows_of(range(10), "Rome").cast(columns.as_arrow())
    )
    shop = Shop(catalog)
    shop.name, shop.rows = "shop.plain", dict.fromkeys(range(10), "Rome")
    arctic.adopt(shop.name, primary_key=["id"], catalog=catalog)
    shop.upsert(range(8, 12), "Oslo")
    shop.delete(range(2))
    shop.check()
    arctic.optimize(shop.name, type="full", catalog=catalog)
    arctic.release(shop.name, catalog=catalog)
    found = plain.load_table("shop.plain").scan().to_arrow()
    assert pairs(found) == sorted(shop.rows.items())
    plain.drop_table("shop.plain")
    plain.close()


def repair(catalog: Mapping[str, str], **access: str) -> None:
    """Name by their places the rows that another writer has deleted by their values.

    Args:
        catalog: its properties.
        access: further ones, by which PyIceberg itself reaches files.
    """
    sink = Sink(catalog=catalog)
    sink.commit([row(number) for number in range(5)], [])
    sink.commit([row(1, n=2)], [("id", [row(1), row(3)]), ("id region", [row(4)])])
    report = arctic.repair("db.t", catalog=catalog)
    assert (report.removed, report.rows) == (2, 3)
    assert arctic.repair("db.t", catalog=catalog).snapshot_id is None
    plain = load_catalog("arctic", **catalog, **access)
    found = plain.load_table("db.t").scan().to_arrow().to_pylist()
    assert sorted(found, key=repr) == sorted(sink.alive, key=repr)
    for namespace, name in plain.list_tables("db"):
        plain.drop_table((namespace, name))
    plain.close()
