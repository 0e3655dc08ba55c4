"""Writes that are only meant for a table that is not there yet: modes ``error`` and ``ignore``.

Rules:
    - Whoever creates the table writes to it: of two such writes at a time one finds it there.

Must not know: what becomes of the table when the write fails.
"""

from __future__ import annotations

import pyarrow as pa

from arctic.errors import AlreadyExistsError, NotFoundError
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.target_table import open_or_create
from arctic.writing.write_request import WriteMode

NEW_ONLY_MODES = frozenset({"error", "errorifexists", "ignore"})
"""The first two are the same."""


def create_for_write(asked: AskedWrite, incoming: pa.Schema, *, mode: str) -> WriteMode | None:
    """Create the table of a write that is only meant for a new one.

    Args:
        asked: what the options say.
        incoming: the columns of the rows to be written.
        mode: one of ``NEW_ONLY_MODES``.

    Returns:
        The mode to write its rows in; None: the table is there, and the write does nothing.

    Raises:
        AlreadyExistsError: the table is there, and the mode is not ``ignore``; or it is not, and
            another one has a name that it needs.
        NotFoundError: no ``primaryKey`` to create it with.
        ArcticError: whatever creating refuses.
    """
    reference = asked.reference
    try:
        created = open_or_create(asked, incoming, exist_ok=False)
    except AlreadyExistsError as error:
        try:
            reference.open(suggests=False)
        except NotFoundError:
            raise error from None  # something else has a name that the table needs
        if mode == "ignore":
            return None
        raise AlreadyExistsError(
            f"table {reference.identifier!r} already exists, and mode {mode!r} "
            "(that of a save() which says none) only writes a new one; expected mode 'upsert', "
            "'append', 'delete' or 'overwrite' to write to it, or 'ignore' to leave it as it is"
        ) from error
    return asked.mode_for(created.table)
