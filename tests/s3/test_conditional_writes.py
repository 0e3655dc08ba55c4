"""Stores that take writes with a condition, and stores that do not: the rows are the same.

S3 can be asked to refuse a file that is there already. Others cannot, or answer that they know no
such request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.requests.object_store import BUCKET, ObjectStore
from tests.catalogs.verbs import use_every_verb
from tests.catalogs.writers import check_writers

ANSWERS = {True: "PreconditionFailed", False: "NotImplemented"}


@pytest.fixture(params=ANSWERS, ids=["taken", "refused"])
def store(server: ObjectStore, request: pytest.FixtureRequest) -> Iterator[ObjectStore]:
    """Return a store of either kind; what it says of a write with a condition shows which."""
    server.take_conditions(request.param)
    client = server.client()
    client.put_object(Bucket=BUCKET, Key="there", Body=b"x")
    with pytest.raises(client.exceptions.ClientError, match=ANSWERS[request.param]):
        client.put_object(Bucket=BUCKET, Key="there", Body=b"y", IfNoneMatch="*")
    yield server
    server.take_conditions(True)


def test_nothing_of_eight_writers_is_lost_or_doubled(
    store: ObjectStore, library: Mapping[str, str], tmp_path: Path
) -> None:
    """No file has a name that another one gives, and the catalog says whose commit is the next."""
    catalog = store.catalog(tmp_path / "writers.db", folder=tmp_path.name, **library)
    check_writers(catalog, ["c.t0"], writers=8, rounds=2)


@pytest.mark.slow
def test_every_verb_works(store: ObjectStore, library: Mapping[str, str], tmp_path: Path) -> None:
    """None of them asks a store to write only if."""
    use_every_verb(store.catalog(tmp_path / "verbs.db", folder=tmp_path.name, **library))
