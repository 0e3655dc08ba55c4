from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from arctic.iceberg.metadata import gc_pause
from arctic.iceberg.metadata.gc_pause import collector_paused


@pytest.fixture(autouse=True)
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin as an application that freezes nothing does; this process of tests does."""
    monkeypatch.setattr(gc_pause, "_has_frozen", False)
    gc.unfreeze()
    yield
    gc.freeze()


def test_what_is_made_meanwhile_is_old_when_the_collector_starts_again() -> None:
    """It is never gone over while it is young."""
    with collector_paused():
        assert not gc.isenabled()
        made: list[object] = [[number] for number in range(100)]

    assert gc.isenabled()
    old = {id(each) for each in gc.get_objects(generation=2)}
    assert all(id(each) in old for each in made)


def test_what_the_application_froze_stays_frozen() -> None:
    """Servers freeze what their processes share before they fork."""
    mine: list[object] = [[]]
    gc.freeze()
    try:
        with collector_paused():
            pass

        # Of what is frozen the collector knows nothing.
        assert id(mine) not in {id(each) for each in gc.get_objects()}
    finally:
        gc.unfreeze()
    assert id(mine) in {id(each) for each in gc.get_objects()}


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count goes through all of them: by each commit it would cost more than it spares."""
    counts: list[int] = []

    def counted() -> int:
        counts.append(1)
        return 7

    monkeypatch.setattr("arctic.iceberg.metadata.gc_pause.gc.get_freeze_count", counted)
    for _ in range(3):
        with collector_paused():
            pass

    assert len(counts) == 1
