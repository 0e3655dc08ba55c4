"""How far event time has come in a table that several writers feed.

A store remembers of each writer that has a name how far it has come, in a table property. The
watermark of the table is the least of them: nothing is complete that a slower writer still brings.

Rules:
    - A writer's own watermark never goes back. That of the table goes back only where a writer
      joins that is behind.
    - A save without a name is nobody's feed: it moves the watermark only while nobody has a name.
    - A writer counts until it is retired, and counts again once it writes again.

Must not know: catalogs, snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import FormatError, InvalidInputError
from arctic.table.property_names import WATERMARK, WRITER_PREFIX

MAX_WRITERS = 1_000
"""Of one store: table metadata is read by every open."""

_WRITER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """How far event time has come with a write."""

    ms: int
    writer: str | None
    """Who feeds the table; None: a save without a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermarks:
    """What is known of a store, or of both stores of a table."""

    table_ms: int | None
    writers: Mapping[str, int]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Watermarks:
        """Read what a store remembers.

        Raises:
            FormatError: a property that is not a number.
        """
        writers = {
            name.removeprefix(WRITER_PREFIX): _milliseconds(name, text)
            for name, text in properties.items()
            if name.startswith(WRITER_PREFIX)
        }
        return cls(table_ms=watermark_in(properties), writers=writers)

    def beside(self, other: Watermarks) -> Watermarks:
        """Return what both stores of a table know together.

        >>> base = Watermarks(table_ms=5, writers={"a": 5})
        >>> base.beside(Watermarks(table_ms=9, writers={"a": 9, "b": 8})).table_ms
        8
        """
        writers = dict(self.writers)
        for writer, ms in other.writers.items():
            writers[writer] = max(ms, writers.get(writer, ms))
        told = [each for each in (self.table_ms, other.table_ms) if each is not None]
        table_ms = min(writers.values()) if writers else max(told, default=None)
        return Watermarks(table_ms=table_ms, writers=writers)

    def after(self, watermark: Watermark, *, other: Mapping[str, int]) -> Watermarks:
        """Return what a store knows once a write is committed to it.

        Args:
            watermark: of the write.
            other: the writers of the other store.

        Raises:
            InvalidInputError: one writer more than a store remembers.
        """
        ms, writer = watermark.ms, watermark.writer
        if writer is None:
            if self.writers or other:
                return self
            table_ms = ms if self.table_ms is None else max(ms, self.table_ms)
            return Watermarks(table_ms=table_ms, writers={})
        writers = {**self.writers, writer: max(ms, self.writers.get(writer, ms))}
        if len(writers) > MAX_WRITERS:
            raise InvalidInputError(
                f"writer {writer!r}: {MAX_WRITERS} others have a watermark in this table already; "
                "retire those that no longer write with arctic.retire_writer(table, writer)"
            )
        both = Watermarks(table_ms=None, writers=writers).beside(
            Watermarks(table_ms=None, writers=other)
        )
        return Watermarks(table_ms=both.table_ms, writers=writers)

    def merged(self, ms: int, *, other: Mapping[str, int]) -> Watermarks:
        """Return what base knows once changes are merged into it.

        Args:
            ms: the watermark of the changes that are merged.
            other: the writers of the change store.
        """
        if not self.writers and not other:
            table_ms = ms if self.table_ms is None else max(ms, self.table_ms)
        else:
            table_ms = min([ms, *self.writers.values()])
        return Watermarks(table_ms=table_ms, writers=self.writers)

    def without(self, writer: str, *, other: Mapping[str, int]) -> Watermarks:
        """Return what a store knows once a writer is retired; without any, it stays as it was."""
        writers = {name: ms for name, ms in self.writers.items() if name != writer}
        left = Watermarks(table_ms=None, writers=writers).beside(
            Watermarks(table_ms=None, writers={n: ms for n, ms in other.items() if n != writer})
        )
        table_ms = self.table_ms if left.table_ms is None else left.table_ms
        return Watermarks(table_ms=table_ms, writers=writers)


def check_writer(writer: str) -> str:
    """Return a writer's name.

    Raises:
        InvalidInputError: what a table property could not carry.
    """
    if not _WRITER.fullmatch(writer):
        raise InvalidInputError(
            f"writer {writer!r}: expected up to 128 letters, digits, '.', '_' or '-', the first a "
            "letter or digit"
        )
    return writer


def watermark_in(texts: Mapping[str, str | None]) -> int | None:
    """Return the watermark in table properties or in a summary; None: there is none.

    Raises:
        FormatError: it is not a number.
    """
    text = texts.get(WATERMARK)
    if text is None:
        return None
    ms = _milliseconds(WATERMARK, text)
    # Where there is none, Amoro says -1.
    return ms if ms != -1 else None


def _milliseconds(name: str, text: str) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise FormatError(f"table property {name} = {text!r}: expected milliseconds")
    return int(text)
