"""One S3 server for all tests of this folder, and a bucket that is empty before each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from benchmarks.requests.__main__ import LIBRARIES
from benchmarks.requests.object_store import ObjectStore, object_store


@pytest.fixture(scope="session")
def server() -> Iterator[ObjectStore]:
    """Return a server that takes any keys."""
    with object_store() as store:
        yield store


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """Return what chooses the library that reaches files; PyIceberg takes Arrow by itself."""
    return LIBRARIES[request.param]
