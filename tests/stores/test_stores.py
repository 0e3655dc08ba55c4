"""A keyed table in Azure's and in Google's object store, each a real server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import arctic
from tests.catalogs.verbs import SCHEMA, Shop, pairs
from tests.stores.servers import running_azure, running_google

_AT_ONCE = {"clean-orphan-file.min-existing-time-minutes": "0"}
Started = Callable[[], AbstractContextManager[Mapping[str, str]]]


@pytest.mark.parametrize("started", [running_azure, running_google])
def test_a_keyed_table_lives_in_another_store_than_s3(started: Started, tmp_path: Path) -> None:
    """Written, merged, followed, published and listed there: its rows are those of a dict."""
    with started() as properties:
        catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", **properties}
        shop = Shop(catalog)
        arctic.create_table(shop.name, SCHEMA, primary_key=["id"], catalog=catalog)
        shop.upsert(range(50), "Rome")
        shop.upsert(range(40, 60), "Oslo")
        shop.delete(range(5, 15))
        shop.check()
        changes = arctic.read_changes(shop.name, catalog=catalog).read_all()
        assert pairs(changes) == sorted(shop.rows.items())

        arctic.optimize(shop.name, type="full", catalog=catalog)
        shop.check()
        arctic.evolve_schema(shop.name, add={"paid": pa.bool_()}, catalog=catalog)
        shop.upsert(range(58, 62), "Lima")
        shop.check()
        arctic.publish(shop.name, into="shop.fresh", catalog=catalog)
        plain = load_catalog("arctic", **catalog)
        seen = plain.load_table("shop.fresh").scan().to_arrow()
        assert pairs(seen) == sorted(shop.rows.items())
        plain.close()

        # Lists the folders of the table: every file that it finds is somebody's.
        assert (
            not arctic.open_table(shop.name, catalog=catalog).clean_orphans(options=_AT_ONCE).items
        )
        shop.check()
