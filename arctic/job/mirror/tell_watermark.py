"""Mirrors are told up to which time of their source they are complete, whether rows came or not.

Rules:
    - A table is told after it holds everything, never before; one that waits for a copy is not.
    - The commits of its rows repeat what it was told, in place of what the rows would tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from arctic import options as opt
from arctic.iceberg.commits.move_watermark import advance_watermark
from arctic.job.mirror.mirror_table import MirrorTable
from arctic.job.mirror.source_clock import Moment, SourceClock
from arctic.table.streams.watermark import Watermark

_TELL_SECONDS = 10.0
"""Each telling is a commit of metadata."""


class WatermarkTeller:
    """Tells the tables of one mirror."""

    def __init__(self, writer: str, look: Callable[[], Moment]) -> None:
        """Begin to look at the source's clock.

        Args:
            writer: whose watermark it is.
            look: asks the source.
        """
        self._writer = writer
        self._clock = SourceClock(look)
        self._told_ms: dict[str, int] = {}
        self._next_after = 0.0

    @property
    def first_place(self) -> int:
        """Where a mirror has to come to know any time."""
        return self._clock.first_place

    def tick(self) -> None:
        """Look at the clock, if it is time; before the log is read."""
        self._clock.tick()

    def options(self, source: str) -> dict[str, str]:
        """Return the options of a write that say no more than the table was told."""
        told_ms = self._told_ms.get(source, 0)
        return {opt.WRITER_ID.name: self._writer, opt.TOLD_WATERMARK.name: str(told_ms)}

    def tell(self, tables: Mapping[str, MirrorTable], reached: int, *, at_once: bool) -> None:
        """Tell tables that hold everything up to a place of the log.

        Args:
            tables: source -> its mirror.
            reached: the place.
            at_once: however short ago they were told.
        """
        ms = self._clock.at(reached)
        if ms is None or not (at_once or time.monotonic() >= self._next_after):
            return
        for source, mirror in tables.items():
            is_whole = mirror.state.is_complete and mirror.state.copy_after is None
            if is_whole and ms > self._told_ms.get(source, 0):
                opened = mirror.reopened().opened
                advance_watermark(opened, Watermark(ms=ms, writer=self._writer))
                self._told_ms[source] = ms
        self._next_after = time.monotonic() + _TELL_SECONDS
