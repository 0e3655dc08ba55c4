"""Where a reader of changes stands, as a value that survives a restart.

A position says what is done: everything of the stream's store up to a sequence number. While the
rows that were there at the beginning are still being read, it also names the pinned snapshots they
come from. Between two positions lie the same rows at any time.

Must not know: Spark's offset log, catalogs.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arctic.errors import InvalidInputError

_VERSION = 1
_NO_SNAPSHOT = -1
_CHECKSUM = "checksum"
_NAMES = {"version", "table", "sequence", "base_sequence", "pin", _CHECKSUM}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPin:
    """The state of the table that a stream begins with."""

    base_snapshot_id: int | None
    """None: the base store had no snapshot."""
    change_snapshot_id: int | None
    """None: no change store, or it had no snapshot."""
    files_done: int
    """How many data files of the merged view are done, in planning order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPosition:
    """A place between two commits, or between two data files at the beginning."""

    table_uuid: str
    """Of the base store: a table of the same name made anew has other commits."""
    sequence_number: int
    """Of the stream's store: the change store, or the base store of an unkeyed table. Commits up
    to this one are done, inclusive; while there is a pin, they are in what it names."""
    base_sequence_number: int
    """Base commits up to this one, inclusive, are known not to have replaced rows unseen."""
    pin: StreamPin | None = None
    """None: the beginning is done."""

    def __post_init__(self) -> None:
        """Refuse numbers that no reader reaches."""
        if self.sequence_number < 0 or self.base_sequence_number < 0:
            raise InvalidInputError(
                f"stream position {self.sequence_number}, {self.base_sequence_number}: expected "
                "sequence numbers, 0 or more"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the position as primitive values.

        >>> StreamPosition(table_uuid="u", sequence_number=3, base_sequence_number=1).to_json()
        {'version': 1, 'table': 'u', 'sequence': 3, 'base_sequence': 1, 'checksum': '0a29d17e'}
        """
        values: dict[str, Any] = {
            "version": _VERSION,
            "table": self.table_uuid,
            "sequence": self.sequence_number,
            "base_sequence": self.base_sequence_number,
        }
        if self.pin is not None:
            values["pin"] = {
                "base": _number(self.pin.base_snapshot_id),
                "change": _number(self.pin.change_snapshot_id),
                "files": self.pin.files_done,
            }
        return {**values, _CHECKSUM: _checksum(values)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> StreamPosition:
        """Return the position that ``to_json`` wrote.

        Raises:
            InvalidInputError: something else.
        """
        try:
            if values["version"] != _VERSION:
                raise ValueError(f"version {values['version']!r}")
            unknown = values.keys() - _NAMES
            if unknown:
                raise ValueError(f"{sorted(unknown)} are unknown")
            # Versions of Arctic before this one wrote none.
            if values.get(_CHECKSUM, _checksum(values)) != _checksum(values):
                raise ValueError("its checksum does not match, so it was damaged")
            pin = values.get("pin")
            return cls(
                table_uuid=values["table"],
                sequence_number=int(values["sequence"]),
                base_sequence_number=int(values["base_sequence"]),
                pin=None if pin is None else _pin(pin),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidInputError(
                f"stream offset {dict(values)!r}: {error}; expected one of this format, version "
                f"{_VERSION}, so begin a new checkpoint"
            ) from error


def _checksum(values: Mapping[str, Any]) -> str:
    covered = {name: value for name, value in values.items() if name != _CHECKSUM}
    return f"{zlib.crc32(json.dumps(covered, sort_keys=True).encode()):08x}"


def _pin(values: Mapping[str, Any]) -> StreamPin:
    return StreamPin(
        base_snapshot_id=_snapshot_id(values["base"]),
        change_snapshot_id=_snapshot_id(values["change"]),
        files_done=int(values["files"]),
    )


def _number(snapshot_id: int | None) -> int:
    # Spark takes integers, texts and booleans only.
    return _NO_SNAPSHOT if snapshot_id is None else snapshot_id


def _snapshot_id(number: Any) -> int | None:
    return None if int(number) == _NO_SNAPSHOT else int(number)
