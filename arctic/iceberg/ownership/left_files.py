"""What is said of files of a dropped table that could not be deleted.

Nobody finds them afterwards: no table has their folder any more, so no cleaning lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from arctic.errors import StorageError

_SHOWN = 3
_log = logging.getLogger(__name__)


def check_none_left(done: str, left: Sequence[str], *, cause: Exception | None = None) -> None:
    """Refuse to end without a word where files have stayed.

    Args:
        done: what is done all the same.
        left: paths of the files, or of folders that nobody could look into.
        cause: what one of them was refused with, if that is known.

    Raises:
        StorageError: some are left. It shows the first ones, and the log all of them.
    """
    if not left:
        return
    _log.warning("%s; these files stay:\n%s", done, "\n".join(left))
    named = ", ".join(map(repr, left[:_SHOWN]))
    more = f" and {len(left) - _SHOWN} more, which the log names" if len(left) > _SHOWN else ""
    raise StorageError(
        f"{done}, but files of it could not be deleted and stay: {named}{more}; no table refers to "
        "them and no cleaning finds them, so delete them with keys that may"
    ) from cause
