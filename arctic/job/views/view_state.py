"""Where the sources of a view stood at its last refresh, as its table remembers it.

Rules:
    - It is set in the very commit that brings the rows, under a number of its own, so a refresh
      counts once or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arctic.errors import FormatError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import STREAM_POSITION_PREFIX, STREAM_PREFIX
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.stream_position import StreamPosition

_COLUMNS, _REFRESHED, _RAISED = "columns", "refreshed", "raised"
"""Beside the positions, by the names of sources; no table is called so, without a namespace."""
_WRITER = "view"
"""What a refresh calls itself as a writer of batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the sources of a view stood at its last refresh."""

    number: int
    """Of the refresh; -1: there was none."""
    positions: Mapping[str, StreamPosition]
    """By the name of the source."""
    columns: Mapping[str, Mapping[str, str]]
    """What the columns were that the view reads, by the name of the source."""
    refreshed_ms: int | None = None
    """When that was: milliseconds since 1970-01-01 UTC; None: not told."""
    raised: Mapping[str, int] = field(default_factory=dict)
    """What a history adds to the numbers of a source's versions, by its name; absent: nothing."""

    @classmethod
    def of(cls, opened: OpenTable) -> Standing:
        """Read it from a view's table.

        Raises:
            FormatError: it is not readable.
        """
        return cls.told((opened.change or opened.base).properties, opened.table.name)

    @classmethod
    def told(cls, properties: Mapping[str, str], name: str) -> Standing:
        """Read it from the properties of the store that the rows of the view arrive in.

        Raises:
            FormatError: it is not readable.
        """
        text = properties.get(f"{STREAM_POSITION_PREFIX}{_WRITER}")
        if text is None:
            return cls(number=-1, positions={}, columns={})
        try:
            number = int(properties[f"{STREAM_PREFIX}{_WRITER}"])
            told = json.loads(text)
            refreshed_ms = told.pop(_REFRESHED, None)
            columns = {source: dict(each) for source, each in told.pop(_COLUMNS, {}).items()}
            raised = {source: int(each) for source, each in told.pop(_RAISED, {}).items()}
            positions = {source: StreamPosition.from_json(each) for source, each in told.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(
                f"table {name!r}: {STREAM_POSITION_PREFIX}{_WRITER} = {text!r}: "
                "expected where the sources of the view stand; drop the view and make it anew"
            ) from error
        return cls(
            number=number,
            positions=positions,
            columns=columns,
            refreshed_ms=refreshed_ms,
            raised=raised,
        )

    def raised_for(self, ends: Mapping[str, StreamPosition]) -> dict[str, int]:
        """Return what is to be added to the numbers of versions from now on, so that they rise.

        Args:
            ends: where the sources stand now.
        """
        found = dict(self.raised)
        for name, known in self.positions.items():
            if name in ends and _is_set_back(known, ends[name]):
                # No version up to there has a greater number than the sum of both.
                last = known.sequence_number + known.base_sequence_number
                found[name] = found.get(name, 0) + last + 1
        return found

    def next(
        self,
        positions: Mapping[str, StreamPosition],
        columns: Mapping[str, Mapping[str, str]],
        *,
        now_ms: int,
    ) -> StreamBatch:
        """Return the standing that the next refresh commits with its rows."""
        told: dict[str, Any] = {name: each.to_json() for name, each in positions.items()}
        told |= {_COLUMNS: columns, _REFRESHED: now_ms}
        if self.raised:
            told[_RAISED] = self.raised
        return StreamBatch(
            query_id=_WRITER,
            batch_id=self.number + 1,
            position=json.dumps(told, separators=(",", ":")),
            moves=True,
        )


def _is_set_back(known: StreamPosition, now: StreamPosition) -> bool:
    """Say whether a source is another table of the same name, or was rolled back."""
    return (
        now.table_uuid != known.table_uuid
        or now.sequence_number < known.sequence_number
        or now.base_sequence_number < known.base_sequence_number
    )
