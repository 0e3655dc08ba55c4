"""Tables of PostgreSQL, mirrored: copied once, then followed through a replication slot."""

from __future__ import annotations

import time
from collections.abc import Callable

from arctic.job.mirror.mirror_session import MirrorSession
from arctic.job.mirror.mirror_settings import MirrorReport, MirrorSettings
from arctic.job.mirror.write_changes import WriteRows
from arctic.postgres.connect import connect
from arctic.postgres.slot import log_end, sole_use

__all__ = ["MirrorReport", "MirrorSettings", "run_mirror"]


def run_mirror(
    settings: MirrorSettings,
    *,
    write: WriteRows,
    once: bool,
    interval_seconds: float,
    stop: Callable[[], bool] = lambda: False,
) -> MirrorReport:
    """Copy what is not copied yet, then follow the log.

    Args:
        settings: what and where to.
        write: carries writes out.
        once: return when everything is mirrored that was committed before the call.
        interval_seconds: how long to wait when there is nothing to do.
        stop: asked between batches.

    Memory: the messages of one batch, a few times; a piece of a table while it is copied.

    Raises:
        NotFoundError: a table that PostgreSQL does not have.
        InvalidInputError: a table that cannot be followed exactly, with what mends it.
        ConflictError: another process mirrors through this slot.
        StorageError: PostgreSQL or the catalog cannot be reached; run again, nothing is lost.
    """
    with connect(settings.dsn) as connection, sole_use(connection, settings.slot):
        mirror = MirrorSession(settings, connection, write)
        target = log_end(connection)
        while not stop():
            was_busy = mirror.step()
            if once and mirror.report.place >= target and not mirror.is_behind:
                break
            if not was_busy and not once:
                time.sleep(interval_seconds)
        return mirror.report
