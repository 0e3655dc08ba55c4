"""The log of a database as a mirror reads it: the next transactions of a slot, all values exact.

Known to wal2json from 2.6 on, an option has numbers written as texts; before, NaN and infinities
come as null, and whoever follows the log has to fetch them from the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arctic.cdc.events import Events
from arctic.cdc.wal2json import OPTIONS, wal2json_events
from arctic.errors import StorageError
from arctic.job.mirror.mirror_state import MirrorState
from arctic.postgres.slot import advance, log_end, peek

_EXACT_NUMBERS = {"numeric-data-types-as-string": "true"}
_SPECIAL_TYPES = ("real", "double precision", "numeric")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """The next piece of the log: whole transactions."""

    found: Events
    reached: int
    """Where of the log everything is known then."""
    is_empty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorLog:
    """The slot of a mirror, while one process has it to itself."""

    connection: Any
    slot: str
    sources: Sequence[str]
    max_changes: int
    plugin_options: Mapping[str, str]

    @classmethod
    def open(
        cls, connection: Any, slot: str, sources: Sequence[str], *, max_changes: int
    ) -> MirrorLog:
        """Return the log with the options that the server's plug-in knows."""
        for options in ({**OPTIONS, **_EXACT_NUMBERS}, dict(OPTIONS)):
            try:
                peek(connection, slot, options, sources, 1)
            except StorageError as error:
                if "is unknown" not in str(error) or options == OPTIONS:
                    raise
                continue
            break
        return cls(
            connection=connection,
            slot=slot,
            sources=sources,
            max_changes=max_changes,
            plugin_options=options,
        )

    @property
    def is_exact(self) -> bool:
        """Whether it shows each number as it is."""
        return _EXACT_NUMBERS.items() <= self.plugin_options.items()

    def end(self) -> int:
        """Return how far the log is written and safe."""
        return log_end(self.connection)

    def read(self) -> LogPiece:
        """Return the next transactions, without confirming them."""
        before = log_end(self.connection)
        messages = peek(
            self.connection, self.slot, self.plugin_options, self.sources, self.max_changes
        )
        found = wal2json_events(messages)
        is_all = len(messages) < self.max_changes
        return LogPiece(
            found=found,
            reached=max(found.ends, before) if is_all else found.ends,
            is_empty=not len(messages),
        )

    def confirm(self, reached: int) -> None:
        """Let the server forget the log up to a place, inclusive."""
        advance(self.connection, self.slot, reached)


def special_columns(state: MirrorState) -> frozenset[str]:
    """Return the columns whose numbers an old plug-in may show as null."""
    return frozenset(each.name for each in state.columns if each.type.startswith(_SPECIAL_TYPES))
