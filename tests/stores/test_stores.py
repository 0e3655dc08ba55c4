"""A keyed table in Azure's, Google's and Hadoop's store, each a real server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.io import PY_IO_IMPL

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.storage.file_io import ArrowIO
from arctic.iceberg.tables.open_table import open_table
from tests.catalogs.verbs import adopt_and_release, changed_shop, pairs, repair
from tests.stores.servers import running_azure, running_google, running_hadoop

_AT_ONCE = {"clean-orphan-file.min-existing-time-minutes": "0"}
Started = Callable[[], AbstractContextManager[Mapping[str, str]]]


@pytest.mark.slow
@pytest.mark.parametrize("started", [running_azure, running_google, running_hadoop])
def test_a_keyed_table_lives_in_another_store_than_s3(started: Started, tmp_path: Path) -> None:
    """Written, merged, followed, published, adopted, repaired, listed: rows are those of a dict."""
    with started() as properties:
        catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake.db", **properties}
        shop = changed_shop(catalog)
        arctic.publish(shop.name, into="shop.fresh", catalog=catalog)
        # PyIceberg's own way to Hadoop needs a library of the machine.
        other = {PY_IO_IMPL: f"{ArrowIO.__module__}.ArrowIO"} if started is running_hadoop else {}
        plain = load_catalog("arctic", **catalog, **other)
        seen = plain.load_table("shop.fresh").scan().to_arrow()
        assert pairs(seen) == sorted(shop.rows.items())
        plain.close()
        adopt_and_release(catalog, **other)
        repair(catalog, **other)

        # Lists the folders of the table: every file that it finds is somebody's, but this.
        given = {f"catalog.{name}": text for name, text in catalog.items()}
        opened = open_table(CatalogConfig.from_options(given), shop.name)
        stray = f"{opened.base.location()}/data/9-I-0-00001-0-2889679053109490213-00001.parquet"
        with opened.io.create_output(stray) as sink:
            sink.write(b"x")
        cleaned = arctic.open_table(shop.name, catalog=catalog).clean_orphans(options=_AT_ONCE)
        assert [item.name for item in cleaned.items] == [stray]
        shop.check()
