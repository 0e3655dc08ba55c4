"""What a mirror asks of the database that it follows, whichever it is.

Rules:
    - Places of a log are numbers that only grow; events say where the log is once their transaction
      is complete.
    - A log is read again from where it was confirmed, or from what the tables hold: whoever follows
      it skips what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from arctic.cdc.events import Events
from arctic.cdc.source_table import Dialect, SourceTable
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.source_clock import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """The next piece of the log: whole transactions."""

    found: Events
    reached: int
    """Where of the log everything is known then."""
    is_empty: bool
    unsaid: frozenset[str] = frozenset()
    """Sources of which the log had changes without saying of which rows."""


class SourceLog(Protocol):
    """The log of a source, while one process has it to itself."""

    def read(self) -> LogPiece:
        """Return the next transactions, without confirming them."""

    def may_differ(self, state: MirrorState) -> bool:
        """Say whether a source may be another one than a mirror remembers, after the last piece."""

    def noted(self, state: MirrorState, reached: int) -> MirrorState:
        """Return what a mirror has to remember to find its place again; often what it does."""

    def shares(self, sources: Sequence[str]) -> str | None:
        """Return what the commits of the last piece say of it; None: nothing.

        Args:
            sources: those whose tables have a share of it.
        """

    def taken(self, ends: int) -> None:
        """Be told that the commits of the last piece say how far all tables are: up to ``ends``."""

    def confirm(self, reached: int) -> None:
        """Let the source forget the log up to a place, inclusive, or to where the tables know."""

    def misprinted(self, state: MirrorState) -> frozenset[str]:
        """Return the columns of which the log may show values as null that are not."""


class MirrorSource(Protocol):
    """A database whose tables are mirrored."""

    @property
    def dialect(self) -> Dialect:
        """How its events describe their columns."""

    def system(self) -> str:
        """Return what tells this database from every other one."""

    def describe(self, names: Sequence[str]) -> tuple[SourceTable, ...]:
        """Return tables that can be mirrored.

        Raises:
            NotFoundError: there is no such table.
            InvalidInputError: a table that cannot be followed exactly, with what mends it.
        """

    def find(self, name: str, state: MirrorState | None) -> SourceTable | None:
        """Return a table as it is now; None: there is none.

        Args:
            name: its full name.
            state: what its mirror remembers; None: there is no mirror yet.
        """

    def check(self, table: SourceTable) -> None:
        """Refuse a table whose changes could not be followed exactly."""

    def first_moment(self, tables: Sequence[SourceTable]) -> AbstractContextManager[None] | None:
        """Return the moment at which the log begins, to copy tables in; None: it began before."""

    def confirmed(self) -> int | None:
        """Return up to where the log may be forgotten; None: no place is remembered for a mirror.

        A place is that of all tables of a mirror, in whatever runs and by whomever it was told.
        """

    def goes_on(self, state: MirrorState, place: int) -> bool:
        """Say whether the log still has what came after a place, up to which a table is complete.

        Raises:
            InvalidInputError: the source has gone back to before that place.
        """

    def one_moment(self, name: str) -> AbstractContextManager[int]:
        """Keep a table from being altered, and let all queries see one state of it.

        Yields:
            Up to where of the log exactly the changes of the table are seen; -1: not known.
        """

    def rows(self, table: SourceTable, *, only_special: bool) -> Iterator[pa.Table]:
        """Yield the rows of a table at that moment, a column of texts for each column.

        Args:
            table: as it is at that moment.
            only_special: only rows whose numbers the log may show as null.
        """

    def log_end(self) -> int:
        """Return how far the log is written and safe."""

    def moment(self) -> Moment:
        """Return the time there, and a place of the log that all is before that was seen then."""

    def open_log(self, tables: Mapping[str, tuple[MirrorState, int]], limit: int) -> SourceLog:
        """Return the log from where the tables are.

        Args:
            tables: source -> its mirror's state and last batch.
            limit: about how many changes one piece has.
        """
