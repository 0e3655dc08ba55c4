"""Messages of wal2json as events, without a server."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa
import pytest

from arctic.cdc.engine import engine
from arctic.cdc.events import BROKEN, EVENTS
from arctic.cdc.wal2json import wal2json_events

BEGIN = '{"action":"B","lsn":"0/10","nextlsn":"0/18"}'


def test_a_look_that_finds_nothing_parses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mirror looks many times a second, and an idle log has no messages."""
    opened = []

    def noted() -> AbstractContextManager[Any]:
        opened.append(1)
        return engine()

    monkeypatch.setattr("arctic.cdc.wal2json.engine", noted)

    nothing = wal2json_events(pa.array([], pa.string()))

    assert opened == []
    found = wal2json_events(pa.array([BEGIN]))
    assert opened == [1]
    assert (nothing.events.schema, nothing.broken.schema) == (EVENTS, BROKEN)
    assert (found.events.schema, found.broken.schema) == (EVENTS, BROKEN)
    assert (nothing.events.num_rows, nothing.broken.num_rows) == (0, 0)
    assert (nothing.ignored, nothing.ends) == (0, 0)
    assert found.ignored == 1
