"""When keys that a catalog hands out are asked for again."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import pytest

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables import vended_keys
from arctic.iceberg.tables.vended_keys import StoreKeys, VendedKeys

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


AWAY = CatalogConfig(
    name="away", warehouse=None, properties={"type": "rest", "uri": "http://127.0.0.1:9"}
)
"""A catalog that nobody reaches."""


def test_a_machine_that_does_not_reach_the_catalog_goes_on_with_its_keys() -> None:
    """It has nothing better, and is told so once where a store refuses them."""
    base, change = keys("s3://lake/a", key="base"), keys("s3://lake/a_change_", key="change")
    vended = pickle.loads(pickle.dumps(VendedKeys(config=AWAY, stores=(base, change))))

    assert vended.properties("s3://lake/a/data/1.parquet") == {"key": "base"}
    assert vended.properties("s3://lake/a_change_/data/1.parquet") == {"key": "change"}
    assert vended.properties("s3://elsewhere/1.parquet") == {"key": "base"}
    assert vended.renewed("s3://lake/a/data/1.parquet", {"key": "base"}) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_child_of_a_fork_asks_though_a_thread_of_its_parent_did() -> None:
    """It does not have the thread, and would wait for it for ever."""
    vended = VendedKeys(config=AWAY, stores=(keys(key="old"),))
    asks, is_over = threading.Event(), threading.Event()

    def ask() -> None:
        with vended_keys._asking():
            asks.set()
            is_over.wait(30)

    thread = threading.Thread(target=ask)
    thread.start()
    asks.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(20)
        found = vended.properties("s3://lake/a/data/1.parquet")
        os._exit(0 if found == {"key": "old"} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    is_over.set()
    thread.join()
