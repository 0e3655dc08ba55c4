"""Tables of a database, mirrored: copied once, then followed through its log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from arctic.job.mirror.mirror_session import MirrorSession
from arctic.job.mirror.mirror_settings import MirrorReport, MirrorSettings
from arctic.job.mirror.mirror_source import MirrorSource
from arctic.job.mirror.sources.mysql_source import mysql_source
from arctic.job.mirror.sources.postgres_source import postgres_source
from arctic.job.mirror.write_changes import WriteRows

_SOURCES: Mapping[str, Callable[[MirrorSettings], AbstractContextManager[MirrorSource]]] = {
    "mysql": mysql_source,
    "postgres": postgres_source,
}


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
        NotFoundError: a table that the source does not have.
        InvalidInputError: a table that cannot be followed exactly, with what mends it.
        ConflictError: another process mirrors under this name.
        StorageError: the source or the catalog cannot be reached; run again, nothing is lost.
    """
    with _SOURCES[settings.database](settings) as source:
        mirror = MirrorSession(settings, source, write)
        target = max(source.log_end(), mirror.first_place)
        while not stop():
            was_busy = mirror.step()
            if once and mirror.report.place >= target and not mirror.is_behind:
                break
            if not was_busy and not once:
                time.sleep(interval_seconds)
        mirror.tell(at_once=True)
        return mirror.report
