"""One Java for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.java.plain_java import PlainIceberg, running_java


@pytest.fixture(scope="session")
def java() -> Iterator[PlainIceberg]:
    """Start it."""
    with running_java() as jvm:
        yield PlainIceberg(jvm)
