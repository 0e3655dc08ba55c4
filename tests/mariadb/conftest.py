"""One server for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mariadb.server import running_server


@pytest.fixture(scope="session")
def socket() -> Iterator[Path]:
    """Start a server."""
    with running_server() as socket:
        yield socket
