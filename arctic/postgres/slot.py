"""A replication slot: the place in PostgreSQL's log that a mirror has reached.

Rules:
    - Changes are looked at (``peek``) and only confirmed (``advance``) once they are committed
      here, so whatever fails in between is read again.
    - A batch is made of whole transactions, in the order of their commits.
    - The log is not followed beyond what queries see: what is asked of the tables and the catalog
      after a batch is never older than the batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arctic.errors import ConflictError, InvalidInputError, StorageError
from arctic.postgres.connect import connect, fetch
from arctic.retry import RetryPolicy

PLUGIN = "wal2json"
_FRAME = r'^\{"action":"[BCM]"'
_BYTES_PER_ROW = 8 << 20
"""Messages of about so many bytes come as one: the server keeps no value beyond a gigabyte."""
_PATIENCE = RetryPolicy(retries=1_000, min_wait_ms=100, max_wait_ms=100, total_ms=3_000)
_SHOWN_SOON = RetryPolicy(retries=1_000, min_wait_ms=1, max_wait_ms=100, total_ms=1_000)
# A message of no transaction has the place at which it begins, and no other place is in it.
_PEEK = """
SELECT string_agg(data, E'\\n' ORDER BY place),
       coalesce(max(lsn - '0/0'::pg_lsn + 1) FILTER (WHERE starts_with(data, '{"action":"M"')), -1),
       array_agg(DISTINCT xid::text::bigint) FILTER (WHERE xid::text <> '0')
FROM (
  SELECT lsn, xid, data, place, sum(octet_length(data)) OVER (ORDER BY place) / %s AS part
  FROM pg_logical_slot_peek_changes(%s, NULL, %s, VARIADIC %s::text[])
    WITH ORDINALITY AS c(lsn, xid, data, place)) AS each
GROUP BY part ORDER BY part
"""
# The log cuts ids to 32 bits: the full one is that which is nearest to the snapshot's.
_ARE_SHOWN = """
SELECT bool_and(txid_visible_in_snapshot(
         newest + ((id - newest + 2147483648) & 4294967295) - 2147483648, now))
FROM unnest(%s::bigint[]) AS ids(id),
     LATERAL (SELECT txid_current_snapshot() AS now) AS one,
     LATERAL (SELECT txid_snapshot_xmax(now) AS newest) AS two
"""


def has_slot(connection: Any, name: str) -> bool:
    """Say whether this database has a slot of a name.

    Raises:
        InvalidInputError: it belongs to another database or another plugin.
    """
    rows = fetch(
        connection,
        f"look for slot {name}",
        "SELECT plugin, database = current_database() FROM pg_replication_slots "
        "WHERE slot_name = %s",
        name,
    )
    if not rows:
        return False
    plugin, is_here = rows[0]
    if plugin != PLUGIN or not is_here:
        raise InvalidInputError(
            f"slot {name!r} uses plugin {plugin!r}, or belongs to another database; choose another "
            "name"
        )
    return True


@contextmanager
def created_slot(dsn: str, name: str) -> Iterator[str]:
    """Create a slot, and yield the id of a snapshot of exactly the moment it begins at.

    The snapshot can be used while the context lasts; the slot stays.

    Raises:
        StorageError: the server refused, for example without ``wal_level = logical``.
    """
    with connect(dsn, replication=True) as connection:
        result = connection.pgconn.exec_(
            f'CREATE_REPLICATION_SLOT "{name}" LOGICAL {PLUGIN} EXPORT_SNAPSHOT'.encode()
        )
        if not result.ntuples:
            message = (result.error_message or b"").decode(errors="replace").strip()
            raise StorageError(f"create slot {name!r}: {message}")
        yield result.get_value(0, 2).decode()


@contextmanager
def sole_use(connection: Any, name: str) -> Iterator[None]:
    """Keep other mirrors away from a slot for as long as this session lasts.

    The server notices a mirror's death a moment later than whoever starts the next one, so the
    slot is asked for again for some seconds.

    Raises:
        ConflictError: another one is at work.
    """
    query = "SELECT pg_try_advisory_lock(hashtext('arctic'), hashtext(%s))"
    for _ in _PATIENCE.tries():
        if fetch(connection, f"lock slot {name}", query, name)[0][0]:
            break
    else:
        raise ConflictError(f"slot {name!r} is being mirrored by another process; stop one of them")
    yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeked:
    """What comes next in a slot."""

    messages: pa.ChunkedArray
    """Texts of whole transactions."""
    after: int
    """Where the log is after the last message that is of no transaction; -1: there is none."""
    unsaid: frozenset[str]
    """Tables with changes that the plug-in left out: the log does not say of which rows."""
    transactions: frozenset[int]
    """Their ids, of 32 bits."""

    @property
    def has_changes(self) -> bool:
        """Whether a message is more than the frame of a transaction, or of none."""
        is_frame = pc.match_substring_regex(self.messages, _FRAME)
        return not pc.all(is_frame, min_count=0).as_py()


def peek(
    connection: Any, name: str, plugin_options: Mapping[str, str], tables: Sequence[str], limit: int
) -> Peeked:
    """Return the messages of the next transactions, without confirming them.

    Args:
        connection: to the slot's database.
        name: of the slot.
        plugin_options: of its plug-in.
        tables: whose changes are wanted, as ``schema.table``.
        limit: transactions are added until there are so many messages.

    Memory: the messages; a single transaction may have more than ``limit``.
    """
    given = {**plugin_options, "add-tables": ",".join(_escaped(table) for table in tables)}
    flat = [text for pair in given.items() for text in pair]
    with _notices(connection) as notices:
        rows = fetch(connection, f"read slot {name}", _PEEK, _BYTES_PER_ROW, name, limit, flat)
    # No document holds a line break: inside its texts they are escaped.
    parts = [
        pc.list_flatten(pc.split_pattern(pa.array([text], pa.large_string()), "\n"))
        for text, *_ in rows
    ]
    return Peeked(
        messages=pa.chunked_array(parts, pa.large_string()).cast(pa.string()),
        after=max((int(after) for _, after, _ in rows), default=-1),
        unsaid=frozenset(table for table in tables if _is_unsaid(table, notices)),
        transactions=frozenset(number for *_, ids in rows for number in ids or ()),
    )


def are_shown(connection: Any, transactions: Collection[int]) -> bool:
    """Say whether every query sees transactions of the log from now on; wait a moment for them.

    The log has a commit before queries see it: for as long as it waits for a synchronous standby.
    """
    return not transactions or any(
        fetch(connection, "look at transactions", _ARE_SHOWN, sorted(transactions))[0][0]
        for _ in _SHOWN_SOON.tries()
    )


@contextmanager
def _notices(connection: Any) -> Iterator[set[str]]:
    """Yield a set that gets what the server says besides its answers."""
    said: set[str] = set()

    def note(diagnostic: Any) -> None:
        said.add(diagnostic.message_primary or "")

    connection.add_notice_handler(note)
    try:
        yield said
    finally:
        connection.remove_notice_handler(note)


def _is_unsaid(table: str, notices: Iterable[str]) -> bool:
    """Say whether the plug-in left changes of a table out."""
    schema, _, name = table.partition(".")
    return any(
        said.startswith("no ") and said.endswith(f'in table "{schema}"."{name}"')
        for said in notices
    )


def advance(connection: Any, name: str, place: int) -> None:
    """Confirm everything up to a place of the log, inclusive; going back is no change."""
    fetch(
        connection,
        f"confirm slot {name}",
        "SELECT pg_replication_slot_advance(%s, '0/0'::pg_lsn + %s::numeric) "
        "FROM pg_replication_slots WHERE slot_name = %s "
        "AND confirmed_flush_lsn < '0/0'::pg_lsn + %s::numeric",
        name, place, name, place,
    )  # fmt: skip


def confirmed(connection: Any, name: str) -> int:
    """Return up to where of the log a slot has no changes any more."""
    query = """SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots
               WHERE slot_name = %s"""
    return int(fetch(connection, f"look at slot {name}", query, name)[0][0])


def log_end(connection: Any) -> int:
    """Return how far the server's log is written and safe."""
    query = "SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn"
    return int(fetch(connection, "look at the log", query)[0][0])


def log_written(connection: Any) -> int:
    """Return how far the log goes, what is not safe yet included: others may have seen it."""
    # Where nothing is on a page but its header, no record has ended: the log does not come there.
    query = """
        SELECT place - CASE
          WHEN place % pg_size_bytes(current_setting('wal_segment_size')) = 40 THEN 40
          WHEN place % current_setting('wal_block_size')::bigint = 24 THEN 24 ELSE 0 END
        FROM (SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS place) AS log"""
    return int(fetch(connection, "look at the log", query)[0][0])


def now_ms(connection: Any) -> int:
    """Return the server's time in milliseconds since 1970-01-01 UTC."""
    query = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)"
    return int(fetch(connection, "look at the clock", query)[0][0])


def system_of(connection: Any) -> str:
    """Return what tells this database from every other one."""
    query = """SELECT system_identifier::text || '/' || (SELECT oid FROM pg_database
               WHERE datname = current_database()) FROM pg_control_system()"""
    return str(fetch(connection, "identify the database", query)[0][0])


def _escaped(table: str) -> str:
    """Escape what separates the names in wal2json's list."""
    return "".join(f"\\{each}" if each in " ,*\\" else each for each in table)
