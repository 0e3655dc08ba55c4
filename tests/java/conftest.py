"""One Java for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.java.plain_java import running_java


@pytest.fixture(scope="session")
def jvm() -> Iterator[Any]:
    """Start it."""
    with running_java() as running:
        yield running
