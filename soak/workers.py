"""What the processes of a soak do until they are told to stop."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from types import MappingProxyType

import arctic
from arctic.errors import ConflictError, NotFoundError
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table.streams.stream_position import StreamPosition
from soak.model import (
    TABLES,
    WRITERS,
    Operation,
    Replay,
    Row,
    by_writer,
    divided,
    kept_rows,
    operation,
    rows_of,
)
from soak.report import Report, Reporter

_TRIES = 20
_PAUSE_SECONDS = 0.05
_EXPIRY = (
    {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"},
    {"change.data.ttl.minutes": "1", "snapshot.keep.duration": "5s"},
    {"change.data.ttl.minutes": "1", "snapshot.keep.duration": "0"},
)
_EXPIRY_BESIDE_SPARK = ({"change.data.ttl.minutes": "1", "snapshot.keep.duration": "60s"},)
"""A batch of Spark takes seconds: with less it would be told each time to write again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a soak takes place; pickles."""

    warehouse: str
    seed: int
    spark: bool
    """Whether the stream is one of Spark."""
    tables: tuple[str, ...] = tuple(TABLES)
    kept: int = 0
    """Rows that each table has from its beginning, and that nobody changes."""
    stop: Event | None = None
    """Set, once who begins the processes has made it."""

    @property
    def is_over(self) -> bool:
        """Whether to stop: it was said, or who would say it is gone."""
        parent = multiprocessing.parent_process()
        is_told = self.stop is not None and self.stop.is_set()
        return is_told or (parent is not None and not parent.is_alive())


Work = Callable[[Place, Reporter], None]


def run(work: Work, name: str, place: Place, reports: Queue[Report]) -> None:
    """Work as one process; whatever escapes is a failure."""
    reporter = Reporter(name, reports)
    try:
        work(place, reporter)
    except Exception as error:  # noqa: BLE001 - it is told to the parent, who ends in failure
        reporter.failures.append(f"{name} ended: {type(error).__name__}: {error}")
    reporter.tell(is_last=True)


def _rounds(place: Place, reporter: Reporter, act: Callable[[str], None]) -> None:
    """Act on each table in turn until the end; what says to try again has its next round."""
    while not place.is_over:
        for table in place.tables:
            try:
                act(table)
                reporter.operations += 1
            except Exception as error:  # noqa: BLE001, PERF203 - whatever it is, it is counted
                reporter.failed(error)
        reporter.tell()
        time.sleep(_PAUSE_SECONDS)


def among(place: Place, reporter: Reporter, *, tables: tuple[str, ...], work: Work) -> None:
    """Do some work on some of the tables."""
    work(replace(place, tables=tables), reporter)


def write(
    place: Place,
    reporter: Reporter,
    *,
    writer: str,
    options: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Commit the operations of a writer, one after the other, each until it has landed."""

    def put(table: str, next_one: Operation) -> None:
        arctic.write(
            table,
            next_one.data(),
            mode=next_one.mode,
            options=dict(options),
            warehouse=place.warehouse,
        )

    _commit_all(place, reporter, writer, put)


def stream(place: Place, reporter: Reporter) -> None:
    """Commit batches that have numbers, some of them twice."""
    draw = random.Random(place.seed)

    def put(table: str, next_one: Operation) -> None:
        options = {"stream-query-id": "stream", "stream-batch-id": str(next_one.number)}
        for _ in range(draw.choice((1, 1, 1, 2))):
            arctic.write(
                table, next_one.data(), mode="upsert", options=options, warehouse=place.warehouse
            )

    _commit_all(place, reporter, "stream", put)


def _commit_all(
    place: Place, reporter: Reporter, writer: str, put: Callable[[str, Operation], None]
) -> None:
    reporter.counts = dict.fromkeys(place.tables, 0)
    while not place.is_over:
        for table in place.tables:
            next_one = operation(place.seed, table, writer, reporter.counts[table])
            for tries in range(_TRIES):
                try:
                    put(table, next_one)
                    break
                except ConflictError as error:
                    reporter.failed(error)
                    if tries == _TRIES - 1:
                        raise
            reporter.counts[table] += 1
            reporter.operations += 1
            reporter.tell()


def optimize(place: Place, reporter: Reporter) -> None:
    """Fold changes into base, in every way."""
    draw = random.Random(place.seed)
    types = ("minor", "major", "full", None)
    _rounds(
        place,
        reporter,
        lambda table: _done(
            arctic.optimize(table, type=draw.choice(types), warehouse=place.warehouse)
        ),
    )


def expire(place: Place, reporter: Reporter) -> None:
    """Take away what is old, as soon as it may go."""
    draw = random.Random(place.seed)
    choices = _EXPIRY_BESIDE_SPARK if place.spark else _EXPIRY
    _rounds(
        place,
        reporter,
        lambda table: _done(
            arctic.expire(table, options=draw.choice(choices), warehouse=place.warehouse)
        ),
    )


def read(place: Place, reporter: Reporter) -> None:
    """See of each writer what one of its operations left, never half of one or a step back."""
    replays = {
        (table, writer): Replay(seed=place.seed, table=table, writer=writer)
        for table in place.tables
        for writer in WRITERS
    }

    kept = kept_rows(place.seed, place.kept)

    def look(table: str) -> None:
        found, unchanged = divided(arctic.read(table, warehouse=place.warehouse).read_all())
        assert unchanged.equals(kept), f"{table}: not the rows that nobody changes"
        for writer, seen in by_writer(rows_of(found)).items():
            replay = replays[table, writer]
            assert replay.accepts(seen), (
                f"{table}: {len(seen)} rows of {writer} are not what its operation "
                f"{replay.done - 1} leaves"
            )

    _rounds(place, reporter, look)


class Follower:
    """A table as its changes tell it."""

    def __init__(self, table: str, warehouse: str) -> None:
        self._options = {"path": table, "warehouse": warehouse}
        self._changes = Changes(AskedChanges.of(self._options))
        self._position: StreamPosition | None = None
        self.rows: dict[int, Row] = {}

    def advance(self) -> None:
        """Apply what is new.

        Raises:
            NotFoundError: history has expired.
        """
        if self._position is None:
            self.rows = {}
            start = self._changes.beginning()
        else:
            start = self._position
        end = self._changes.advance(start, limit=ChangeLimit())
        events, _ = divided(self._changes.plan(start, end, columns=None).table())
        # Half of a range must not stay where its files expired under it: it is read first.
        for row, action in zip(rows_of(events), events["_change_action"].to_pylist(), strict=True):
            if action in ("+I", "+U"):
                self.rows[row[0]] = row
            else:
                self.rows.pop(row[0], None)
        self._position = end

    def begin_anew(self) -> None:
        """Forget everything: the next step starts with the rows that are there then."""
        self._changes = Changes(AskedChanges.of(self._options))
        self._position = None


def follow(place: Place, reporter: Reporter) -> None:
    """Follow the changes of each table, and hold what readers hold."""
    followers = {table: Follower(table, place.warehouse) for table in place.tables}

    def step(table: str) -> None:
        try:
            followers[table].advance()
        except NotFoundError:
            reporter.begun_anew += 1
            followers[table].begin_anew()
            return
        by_writer(followers[table].rows.values())

    _rounds(place, reporter, step)
    # The writers have stopped, so everything is there to be read.
    for table, follower in followers.items():
        for _ in range(_TRIES):
            try:
                follower.advance()
                break
            except (NotFoundError, ConflictError):
                follower.begin_anew()
        seen = set(follower.rows.values())
        left, _ = divided(arctic.read(table, warehouse=place.warehouse).read_all())
        there = set(rows_of(left))
        if seen != there:
            reporter.failures.append(
                f"{table}: a follower of its changes ends with {len(seen - there)} rows too many "
                f"and {len(there - seen)} too few"
            )


def _done(report: object) -> None:
    """Take what a verb returns and want nothing of it."""
