"""A chain of views over a database at work, whose processes are killed at random."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres.chain import VIEWS, run_chain

SECONDS = 9.0
SEED = 11


@pytest.mark.slow
def test_every_layer_is_what_the_database_says_at_the_end(dsn: str, tmp_path: Path) -> None:
    """Keys and partitions that move, columns that change, optimizing and expiry beside."""
    chain = run_chain(dsn, tmp_path, seconds=SECONDS, seed=SEED)

    assert sum(chain.killed.values()) > 3
    assert {view for view, _ in chain.behind} <= VIEWS.keys()
