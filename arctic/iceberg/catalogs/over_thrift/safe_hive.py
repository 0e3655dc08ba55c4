"""Hive's metastore as a catalog whose commits rest on more than a lock, and whose calls end.

PyIceberg takes an exclusive lock of the metastore, reads the table, writes new metadata and alters
the table. A metastore lets go of a lock that shows no sign of life, after five minutes unless it is
told otherwise. Who was stopped for that long would alter the table all the same, and what another
one has committed meanwhile would be lost.

Rules:
    - A table is altered only while it names the metadata that the change was made on. Metastores
      compare that since 2.3.10 and 4.0.0 (HIVE-26882); older ones do not know the question.
    - So a lock that is held is shown a sign of life right before: one that is gone is a lost race.
    - A lock that is not to be had in time is a lost race too: nothing was written.
    - A table is renamed and dropped under the same lock. PyIceberg takes none, so what was
      committed between its look at the table and a rename would be lost, or a commit that has
      looked before would alter another table, which has the name by then.
    - A thread asks in a session of its own. PyIceberg has one for all, and answers to several
      threads would come mixed. Of calls within others, all ask in the one that has the lock.
    - The module is imported where such a catalog is opened: its client is an extra.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    CheckLockRequest,
    EnvironmentContext,
    HeartbeatRequest,
    LockRequest,
    LockResponse,
    LockState,
    MetaException,
    NoSuchLockException,
    UnlockRequest,
)
from hive_metastore.ttypes import Table as HiveTable
from pyiceberg.catalog import METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, URI
from pyiceberg.catalog.hive import (
    LOCK_CHECK_MAX_WAIT_TIME,
    LOCK_CHECK_RETRIES,
    HiveCatalog,
    _HiveClient,
)
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.typedef import Identifier
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from arctic.errors import ConflictError, InvalidInputError
from arctic.iceberg.catalogs.over_thrift.refused_lock import LockRefusedError

SOCKET_TIMEOUT = "hive.metastore.client.socket.timeout"
"""Hive's own name, with Hive's units of time; seconds where there is none."""

_DEFAULT_TIMEOUT = "60s"
_MILLISECONDS = {"ms": 1, "": 1_000, "s": 1_000, "m": 60_000}
_LOCK_CHECKS = {LOCK_CHECK_RETRIES: "40", LOCK_CHECK_MAX_WAIT_TIME: "0.5"}
"""How a lock is waited for, unless the catalog says so: about 19 seconds in its queue."""

_MODIFIED = "The table has been modified"
"""How a metastore says that a table no longer names what the change was made on."""

_Changed = TypeVar("_Changed")


class SafeHiveCatalog(HiveCatalog):
    """A metastore whose tables change only from what they were seen to be."""

    property_bytes = 32_000
    """Of the copy that a metastore keeps of a property: the tables that it makes itself take 32,672
    characters, which is also where Iceberg's Java client leaves one out."""

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **{**_LOCK_CHECKS, **properties})

    @staticmethod
    def _create_hive_client(properties: dict[str, str]) -> Any:
        return _Sessions(properties)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """Commit; what the metastore compared and found changed is a lost race.

        Raises:
            CommitFailedException: it did not land.
            Exception: it may have landed.
        """
        with _LostRaces():
            return super().commit_table(table, requirements, updates)

    def rename_table(
        self, from_identifier: str | Identifier, to_identifier: str | Identifier
    ) -> Table:
        """Rename while nobody commits.

        Raises:
            CommitFailedException: nothing was renamed.
        """
        rename = partial(super().rename_table, from_identifier, to_identifier)
        return self._under_lock(from_identifier, rename)

    def drop_table(self, identifier: str | Identifier) -> None:
        """Drop while nobody commits.

        Raises:
            ConflictError: nothing was dropped.
        """
        try:
            self._under_lock(identifier, partial(super().drop_table, identifier))
        except CommitFailedException as error:
            name = ".".join(self.identifier_to_tuple(identifier))
            raise ConflictError(
                f"table {name!r}: others were committing to it and it was not dropped; drop it "
                f"again ({error})"
            ) from error

    def _under_lock(self, identifier: str | Identifier, change: Callable[[], _Changed]) -> _Changed:
        names = self.identifier_to_database_and_table(identifier, NoSuchTableError)
        with _LostRaces(), self._client as metastore:
            lock = metastore.lock(self._create_lock_request(*names))
            try:
                if lock.state != LockState.ACQUIRED:
                    self._wait_for_lock(*names, lock.lockid, metastore)
                return change()
            finally:
                metastore.unlock(UnlockRequest(lockid=lock.lockid))

    def _wait_for_lock(
        self, database_name: str, table_name: str, lockid: int, open_client: Client
    ) -> LockResponse:
        """Ask again and again, each time after twice as long, up to the longest wait."""
        wait, longest = self._lock_check_min_wait_time or 0, self._lock_check_max_wait_time or 0
        for _ in range(int(self._lock_check_retries or 0)):
            time.sleep(min(wait, longest))
            wait *= 2
            response = open_client.check_lock(CheckLockRequest(lockid=lockid))
            if response.state == LockState.ACQUIRED:
                return response
            if response.state != LockState.WAITING:
                break
        raise LockRefusedError(
            f"the metastore gave lock {lockid} on {database_name}.{table_name} to others; a lock "
            "whose holder has died ends after hive.txn.timeout, if the metastore does housekeeping"
        )


class _LostRaces:
    """Says of what a metastore refused, because others were faster, that nothing landed.

    A class, because a generator's context manager sets what Thrift's exceptions do not let be set.
    """

    def __enter__(self) -> None:
        """Wait for an error."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raise what it means in its place; others go on."""
        if isinstance(error, NoSuchLockException):
            text = "the metastore took the lock back before the table was altered"
            raise LockRefusedError(f"{text}: {error.message}") from error
        if isinstance(error, MetaException) and _MODIFIED in (error.message or ""):
            raise CommitFailedException(error.message) from error


class _Sessions(threading.local):
    """The metastore, as what every call opens: a session of the thread, closed after it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._milliseconds = _milliseconds(properties)
        self._opened = 0
        """How often, by calls that contain one another."""

    def __enter__(self) -> Client:
        if not self._opened:
            self._session, self._metastore = self._begun()
        self._opened += 1
        return self._metastore

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened -= 1
        if self._opened:
            return
        if isinstance(error, TApplicationException) and error.type == error.UNKNOWN_METHOD:
            with suppress(Exception):  # whatever it says, it does not know the call
                error.message += f" in Hive {self._metastore.getVersion()}"
        elif isinstance(error, TTransportException) and error.type == error.TIMED_OUT:
            error.args = (
                f"no answer within {self._milliseconds / 1_000:g} seconds; look whether the "
                f"metastore is at work, or give it more time: catalog.{SOCKET_TIMEOUT}",
            )
        self._session.__exit__(kind, error, trace)

    def _begun(self) -> tuple[_HiveClient, Client]:
        failed: TTransportException | None = None
        for uri in self._properties[URI].split(","):
            session = self._session_with(uri.strip())
            try:
                return session, _Metastore(session.__enter__()._iprot)
            except TTransportException as error:
                failed = failed or error
        raise failed or TTransportException(message="no metastore is named")

    def _session_with(self, uri: str) -> _HiveClient:
        session = HiveCatalog._create_hive_client({**self._properties, URI: uri})
        if not session._kerberos_auth:
            place = urlsplit(uri)
            connection = TSocket(place.hostname, place.port)
            connection.setTimeout(self._milliseconds)
            session._transport = TBufferedTransport(connection)
        return session


class _Metastore(Client):  # type: ignore[misc]  # of generated code without types
    """The calls of one session; of a commit, all of them."""

    _held: int | None = None
    """The lock that it asked for and has not given back."""

    def lock(self, rqst: LockRequest) -> LockResponse:
        """Ask for a lock; without an answer, nothing of a commit was sent."""
        try:
            response = super().lock(rqst)
        except (MetaException, TTransportException) as error:
            said = f"the metastore gave no lock: {type(error).__name__}: {error.message}"
            raise LockRefusedError(said) from error
        self._held = response.lockid
        return response

    def unlock(self, rqst: UnlockRequest) -> None:
        """Give a lock back, unless the metastore has it already."""
        self._held = None
        with suppress(NoSuchLockException):
            super().unlock(rqst)

    def alter_table_with_environment_context(
        self,
        dbname: str,
        tbl_name: str,
        new_tbl: HiveTable,
        environment_context: EnvironmentContext,
    ) -> None:
        """Change or rename a table that names the metadata which the change was made on."""
        self._look_for_lock()
        named = (new_tbl.dbName.lower(), new_tbl.tableName.lower())
        is_renamed = named != (dbname.lower(), tbl_name.lower())
        seen = new_tbl.parameters[METADATA_LOCATION if is_renamed else PREVIOUS_METADATA_LOCATION]
        environment_context.properties = {
            **environment_context.properties,
            "expected_parameter_key": METADATA_LOCATION,
            "expected_parameter_value": seen,
        }
        super().alter_table_with_environment_context(dbname, tbl_name, new_tbl, environment_context)

    def drop_table(self, dbname: str, name: str, deleteData: bool) -> None:
        """Drop a table, if it is still locked."""
        self._look_for_lock()
        super().drop_table(dbname, name, deleteData)

    def _look_for_lock(self) -> None:
        """Show the metastore a sign of life, if it has not taken the lock back."""
        if self._held is not None:
            self.heartbeat(HeartbeatRequest(lockid=self._held))


def _milliseconds(properties: Mapping[str, str]) -> int:
    """Read how long an answer is waited for.

    Raises:
        InvalidInputError: no time above 0.
    """
    text = str(properties.get(SOCKET_TIMEOUT, _DEFAULT_TIMEOUT)).strip()
    found = re.fullmatch(r"(\d+)(ms|s|m|)", text)
    time_ms = 0 if found is None else int(found[1]) * _MILLISECONDS[found[2]]
    if not time_ms:
        raise InvalidInputError(
            f"{SOCKET_TIMEOUT} = {text!r}; expected a time above 0, as 60s, 500ms or 2m"
        )
    return time_ms
