"""One broker for all tests of topics in a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.broker import running_broker


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """Start a broker."""
    with running_broker() as address:
        yield address
