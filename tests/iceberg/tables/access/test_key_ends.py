"""When keys that a catalog hands out are asked for again."""

from __future__ import annotations

import pickle

import pytest

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.access.vended_keys import StoreKeys, VendedKeys

MINUTE = 60_000
ASKED = 1_000 * MINUTE


def keys(location: str = "s3://lake/a", **properties: str) -> StoreKeys:
    """Return keys that were asked for at ``ASKED``."""
    named = {name.replace("_", "-").replace("--", "."): text for name, text in properties.items()}
    return StoreKeys(table=("db", "t"), location=location, properties=named, asked_ms=ASKED)


@pytest.mark.parametrize(
    ("name", "ends", "due"),
    [
        ("s3--session-token-expires-at-ms", 60, 55),
        ("gcs--oauth2--token-expires-at", 60, 55),
        ("adls--sas-token-expires-at-ms--lake", 60, 55),
        ("s3--session-token-expires-at-ms", 3, 1),
        ("s3--access-key-id", 60, 10),
    ],
)
def test_keys_are_due_before_they_end(name: str, ends: int, due: int) -> None:
    """Five minutes before what the catalog said, else ten after it was asked, once a minute."""
    held = keys(**{name: str(ASKED + ends * MINUTE)})

    assert not held.is_due(ASKED + due * MINUTE - 1)
    assert held.is_due(ASKED + due * MINUTE)


def test_a_machine_that_does_not_reach_the_catalog_goes_on_with_its_keys() -> None:
    """It has nothing better, and is told so once where a store refuses them."""
    config = CatalogConfig(
        name="away", warehouse=None, properties={"type": "rest", "uri": "http://127.0.0.1:9"}
    )
    base, change = keys("s3://lake/a", key="base"), keys("s3://lake/a_change_", key="change")
    vended = pickle.loads(pickle.dumps(VendedKeys(config=config, stores=(base, change))))

    assert vended.properties("s3://lake/a/data/1.parquet") == {"key": "base"}
    assert vended.properties("s3://lake/a_change_/data/1.parquet") == {"key": "change"}
    assert vended.properties("s3://elsewhere/1.parquet") == {"key": "base"}
    assert vended.renewed("s3://lake/a/data/1.parquet", {"key": "base"}) is None
