"""The write of a DELETE, UPDATE or MERGE: rows that an engine has made of the table's own.

Rules:
    - What was made of stored rows is committed only if they are the same then; see ``beside``. A
      command that looked at none is committed on top of any state.
    - The state is pinned before the engine reads: whatever it reads is that state or a later one,
      and if nobody changed until the commit what it looks at, it has read the same in all of them.
    - What nobody may decide silently is refused: one key for two rows.
    - A row that goes, or moves, goes from the partition that it is stored in: the command says
      which that is, or it is looked up, whatever a table vouches for.

Must not know: the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError
from arctic.iceberg.commits.changed_meanwhile import check_same_rows
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.job.read.locate import locate_rows
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.table.row_positions import ACTION, PLACE_COLUMNS
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import TableDescription
from arctic.writing.write_request import KeyRule, WriteMode
from arctic.writing.writer import plan_write

ORDER = "_arctic_order"
"""Column beside the table's and ``ACTION``: a number by which deletes come first."""
STORED = "_arctic_stored_"
"""Begins the names of columns that say what is stored in ``trusted_columns``, in their order."""
ACTIONS = "actions"
_MODES = {"delete": WriteMode.DELETE, "append": WriteMode.APPEND, "places": WriteMode.APPEND}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is known of the rows of a command."""

    name: str
    rows: str
    """Keys to ``delete``, whole rows to ``upsert``, or rows with ``actions``. Without a key: whole
    rows to ``append``, or rows with the ``places`` of stored ones."""
    once: str | None
    """A key is refused that several rows of the ``source`` have, or several of the ``target``
    are given; None: there are none."""
    checks_inserts: bool
    """Whether an inserted key may be stored already."""
    is_blind: bool
    """Whether no stored row was looked at."""
    tells_places: bool
    """Whether each row says in which partition the stored one is that it deletes or replaces."""


def trusted_columns(table: TableDescription) -> tuple[str, ...]:
    """Return the columns beside the key that say in which partition a stored row is.

    A command is to say what is stored there, where a write trusts what its rows say.

    Returns:
        None of a table whose writes look rows up, or whose key says it.
    """
    is_trusted = opt.CROSS_PARTITION.value({}, table.properties) == "assume-stable"
    if not table.is_keyed or table.partition_follows_key or not is_trusted:
        return ()
    names = (column.name for column in table.partition_source_columns)
    return tuple(name for name in names if name not in table.primary_key)


def begin_command(
    asked: AskedWrite,
    incoming: pa.Schema,
    command: Command,
    *,
    seen: Sequence[TableSnapshot],
) -> WriteJob:
    """Begin the write of a command, before its rows are made.

    Args:
        asked: which table is written to, and how.
        incoming: the columns of the rows.
        command: what they are.
        seen: states in which parts of the command have read the table already; those of other
            tables are not looked at.

    Raises:
        ConflictError: the table is in another state than one of these.
        ArcticError: as ``begin_write``.
    """
    has_actions = command.rows == ACTIONS
    asked = replace(
        asked,
        mode=_MODES.get(command.rows, WriteMode.UPSERT),
        action_column=ACTION if has_actions else None,
        sets_rows=True,
        # The rows of a table with ordering columns have it not: each key comes once.
        ordering_column=ORDER if has_actions and ORDER in incoming.names else None,
        stored_columns=tuple(name for name in incoming.names if name.startswith(STORED)),
    )
    if not command.tells_places:
        # What a table vouches for goes for rows that say where they are.
        asked = replace(asked, given={**asked.given, opt.CROSS_PARTITION.name: "lookup"})
    if command.rows == "places":
        job = _knowing_places(asked, incoming)
    else:
        job = begin_write(asked, incoming)
    opened, work = job.found(), job.work
    if command.checks_inserts and work.locate is None:
        work = replace(work, locate=locate_rows(opened))
    if command.once is not None:
        rule = KeyRule(
            command=command.name,
            counts_all=command.once == "source",
            checks_inserts=command.checks_inserts,
        )
        work = replace(work, request=replace(work.request, key_rule=rule))
    if command.is_blind:
        return replace(job, work=work)
    snapshot = check_seen(seen, job, what=command.name)
    is_unread = command.rows == "places" and not seen
    return replace(job, work=work, on_top_of=snapshot, is_unread=is_unread)


def _knowing_places(asked: AskedWrite, incoming: pa.Schema) -> WriteJob:
    own = pa.schema([field for field in incoming if field.name not in PLACE_COLUMNS])
    job = begin_write(asked, own)
    target, work = job.target, job.work
    request = replace(work.request, knows_places=True)
    conform = plan_write(target.table, target.schema, incoming, request=request, locates=False)
    conform = replace(conform, event_time=work.conform.event_time)
    return replace(job, work=replace(work, request=request, conform=conform))


def check_seen(seen: Sequence[TableSnapshot], job: WriteJob, *, what: str) -> TableSnapshot:
    """Return the state that a write begins in, if all of its rows were read in that state.

    Args:
        seen: the states in which something has been read, of whatever table.
        job: the write, just begun.
        what: is written, for the message.

    Raises:
        ConflictError: one of these is another state of the table.
    """
    opened = job.found()
    snapshot = pin(opened)
    for state in seen:
        _check_same(state, snapshot, opened, what)
    return snapshot


def _check_same(state: TableSnapshot, now: TableSnapshot, opened: OpenTable, what: str) -> None:
    before = (state.base_snapshot_id, state.change_snapshot_id)
    if before == (now.base_snapshot_id, now.change_snapshot_id):
        return
    known = {snapshot.snapshot_id for snapshot in opened.base.metadata.snapshots}
    if opened.change is not None:
        known |= {snapshot.snapshot_id for snapshot in opened.change.metadata.snapshots}
    # Of a state without a snapshot nobody can say whose it is: a query of this table's path has it.
    if not (all(each is None for each in before) or any(each in known for each in before)):
        return
    try:
        if opened.change is None:
            raise ConflictError(f"base is at snapshot {now.base_snapshot_id}")
        keys = partition_keys(opened.table)
        check_same_rows(opened.base, opened.change, state, keys=keys)
    except ConflictError as error:
        raise ConflictError(
            f"{what} of table {opened.table.name!r}: another commit came after a subquery "
            f"of it had read the table ({error.message}); run it again"
        ) from error
