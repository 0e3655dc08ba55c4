"""A Glue catalog and the S3 store of its tables: moto's, with the lock that Glue has.

Moto takes every update of a table. Glue compares the version that an update says it is made on, and
refuses one that is not the newest: a commit to Glue rests on it alone. Here that is put before
moto's own update. Answers to updates in two of the databases are lost, as a network loses them.

Source: `UpdateTable` in the reference of AWS Glue's web API.
"""

from __future__ import annotations

import threading
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.glue.responses import GlueResponse

from benchmarks.requests import server

MADE, UNMADE = "made", "unmade"
"""Databases where the first call of each update is answered by an error, made or not."""

_LOCK = threading.Lock()
_lost: set[tuple[str, str, str]] = set()
_update = GlueResponse.update_table


class _RefusedError(JsonRESTError):
    code = 400

    def __init__(self) -> None:
        super().__init__("ConcurrentModificationException", "Update table failed")


class _BrokenError(JsonRESTError):
    code = 500

    def __init__(self) -> None:
        super().__init__("InternalServiceException", "broken")


def _locked_update(self: GlueResponse) -> Any:
    database, version = self.parameters["DatabaseName"], self.parameters["VersionId"]
    name = self.parameters["TableInput"]["Name"]
    with _LOCK:
        if self.glue_backend.get_table(database, name).as_dict()["VersionId"] != version:
            raise _RefusedError
        call = (database, name, version)
        is_lost = database in (MADE, UNMADE) and call not in _lost
        _lost.add(call)
        answer = None if is_lost and database == UNMADE else _update(self)
        if is_lost:
            raise _BrokenError
        return answer


if __name__ == "__main__":
    GlueResponse.update_table = _locked_update  # type: ignore[method-assign]
    server.main()
