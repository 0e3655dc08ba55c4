"""One cluster for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve import SERVERS


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the cluster's master; its workers are there."""
    with SERVERS["spark"](tmp_path_factory.mktemp("cluster")) as properties:
        yield properties["spark.master"]
