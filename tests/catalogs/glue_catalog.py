"""The Glue catalog of ``glue_server``, while a test needs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.requests.object_store import (
    ACCESS_KEY,
    BUCKET,
    REGION,
    SECRET_KEY,
    object_store,
)


@contextmanager
def running_glue() -> Iterator[dict[str, str]]:
    """Start it; yield the properties of a client."""
    with object_store("tests.catalogs.glue_server") as store:
        yield {
            "type": "glue",
            "warehouse": f"s3://{BUCKET}/glue",
            "glue.endpoint": store.endpoint,
            "client.region": REGION,
            "client.access-key-id": ACCESS_KEY,
            "client.secret-access-key": SECRET_KEY,
            "s3.endpoint": store.endpoint,
        }
