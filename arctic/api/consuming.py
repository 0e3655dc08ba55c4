"""A consumer of a table's changes: a named place in them, kept with the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic.api import calls
from arctic.errors import InvalidInputError
from arctic.iceberg.snapshots.consumers import ConsumerState
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.consumer_job import ConsumerJob, NextChanges, list_consumers
from arctic.job.past_state import Moment, moment_options
from arctic.job.reference import Catalog, as_names, call_options, table_reference
from arctic.options import START_SNAPSHOT_ID, START_TIMESTAMP, Scope
from arctic.table.streams.stream_position import StreamPosition


class Consumer:
    """A named place in the changes of a table: read what comes next, then commit it.

    What is read and not committed is read again.
    """

    def __init__(self, job: ConsumerJob, state: ConsumerState) -> None:
        self._job = job
        self._state = state
        self._next: NextChanges | None = None

    def __repr__(self) -> str:
        return f"<arctic.Consumer {self.name!r} at commit {self.position.sequence_number}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._job.name

    @property
    def position(self) -> StreamPosition:
        """Where it stood when it was begun, read or committed last."""
        return self._state.position

    def read(self, columns: str | Sequence[str] | None = None) -> pa.RecordBatchReader | None:
        """Read what comes after its place; None: there is nothing new.

        Args:
            columns: columns to read, in this order; all if None.

        Raises:
            NotFoundError: it was dropped, or what it had not read has expired.
            UnsupportedError: content that would be read wrongly.
        """
        found = self._job.next(None if columns is None else as_names(columns))
        self._next, self._state = found, found.begun
        return None if found.job is None else calls.reader(found.job)

    def commit(self) -> None:
        """Move behind what was read last.

        Raises:
            InvalidInputError: nothing was read since the last commit.
            ConflictError: others moved it meanwhile; read again.
            NotFoundError: others dropped it.
        """
        if self._next is None:
            raise InvalidInputError(
                f"consumer {self.name!r}: commit without a read; read what comes next first"
            )
        self._state = self._job.move(self._next.begun, self._next.end)
        self._next = None

    def drop(self) -> None:
        """Forget it, so that expiry may take what only it held back.

        Raises:
            NotFoundError: it was dropped.
        """
        self._job.drop()


def consumer(
    identifier: str,
    name: str,
    *,
    start: Moment | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Consumer:
    """Return the consumer of this name of a table's changes, and begin it if there is none.

    Args:
        identifier: ``namespace.table``.
        name: of the consumer.
        start: the moment after which a new one begins, as for ``read_changes``; None: where the
            options of streams say, and if they say nothing, with the rows that are there now.
        options: options of streams, such as ``{"change-rows": "net"}``; limits of micro-batches are
            limits of a read.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: a name or option that cannot be understood.
        NotFoundError: no such table, or a start whose history has expired.
    """
    base = call_options(identifier, warehouse, catalog)
    return begin_consumer(base, name, start=start, options=options)


def begin_consumer(
    base: Mapping[str, str],
    name: str,
    *,
    start: Moment | None = None,
    options: Mapping[str, str] | None = None,
) -> Consumer:
    """Return a consumer of the table that options name."""
    moment = moment_options("start", start, START_SNAPSHOT_ID, START_TIMESTAMP)
    asked = AskedChanges.of(calls.joined({**base, **moment}, options), Scope.STREAM)
    job = ConsumerJob(asked, name)
    return Consumer(job, job.begin())


def consumers(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> pa.Table:
    """Return the consumers of a table by name, with how far they are behind.

    Args:
        identifier: ``namespace.table``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
    """
    return list_consumers(table_reference(call_options(identifier, warehouse, catalog)))


def drop_consumer(
    identifier: str, name: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> None:
    """Forget a consumer of a table, so that expiry may take what only it held back.

    Args:
        identifier: ``namespace.table``.
        name: of the consumer.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table or consumer.
    """
    forget_consumer(call_options(identifier, warehouse, catalog), name)


def forget_consumer(base: Mapping[str, str], name: str) -> None:
    """Forget a consumer of the table that options name."""
    ConsumerJob(AskedChanges.of(base, Scope.STREAM), name).drop()
