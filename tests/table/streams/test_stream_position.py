"""Positions survive the way through JSON, and nothing else passes for one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arctic.errors import InvalidInputError
from arctic.table.streams.stream_position import StreamPin, StreamPosition

PLAIN = StreamPosition(table_uuid="u", sequence_number=7, base_sequence_number=2)
PINNED = StreamPosition(
    table_uuid="u",
    sequence_number=0,
    base_sequence_number=0,
    pin=StreamPin(base_snapshot_id=None, change_snapshot_id=2**62, files_done=3),
)


@pytest.mark.parametrize("position", [PLAIN, PINNED])
def test_a_position_comes_back_from_json(position: StreamPosition) -> None:
    """Snapshot ids of 63 bits and missing snapshots too."""
    assert position == StreamPosition.from_json(json.loads(json.dumps(position.to_json())))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**PLAIN.to_json(), "version": 2},
        {**PLAIN.to_json(), "sequence": "x"},
        {**PLAIN.to_json(), "sequence": -1},
        {**PINNED.to_json(), "pin": {}},
    ],
)
def test_anything_else_is_refused(values: dict[str, Any]) -> None:
    """An offset of another source or a later version is not guessed at."""
    with pytest.raises(InvalidInputError, match="expected"):
        StreamPosition.from_json(values)
