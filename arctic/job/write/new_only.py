"""Writes that are only meant for a table that is not there yet: modes ``error`` and ``ignore``.

Rules:
    - Whoever creates the table writes to it: of two such writes at a time one finds it there.

Must not know: what becomes of the table when the write fails.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from arctic import options as opt
from arctic.errors import AlreadyExistsError, NotFoundError
from arctic.iceberg.tables.open_table import open_table
from arctic.job.reference import parse_reference
from arctic.job.write.asked_write import needs_key
from arctic.job.write.target_table import open_or_create
from arctic.writing.target import WriteMode

NEW_ONLY_MODES = frozenset({"error", "errorifexists", "ignore"})
"""The first two are the same."""


def create_for_write(
    options: Mapping[str, str], incoming: pa.Schema, *, mode: str
) -> dict[str, str] | None:
    """Create the table of a write that is only meant for a new one.

    Args:
        options: ``path``, catalog and write options.
        incoming: the columns of the rows to be written.
        mode: one of ``NEW_ONLY_MODES``.

    Returns:
        The options to write with; None: the table is there, and the write does nothing.

    Raises:
        AlreadyExistsError: the table is there, and the mode is not ``ignore``; or it is not, and
            another one has a name that it needs.
        NotFoundError: no ``primaryKey`` to create it with.
        ArcticError: whatever creating refuses.
    """
    given = opt.WRITE_MODE.value(options)
    asked = None if given is None else WriteMode(given)
    try:
        created = open_or_create(
            options, incoming, needs_key=needs_key(asked, options), exist_ok=False
        )
    except AlreadyExistsError as error:
        reference = parse_reference(options)
        try:
            open_table(reference.config, reference.identifier, suggests=False)
        except NotFoundError:
            raise error from None  # something else has a name that the table needs
        if mode == "ignore":
            return None
        raise AlreadyExistsError(
            f"table {reference.identifier!r} already exists, and mode {mode!r} "
            "(that of a save() which says none) only writes a new one; expected mode 'upsert', "
            "'append', 'delete' or 'overwrite' to write to it, or 'ignore' to leave it as it is"
        ) from error
    mode_of_rows = given or ("upsert" if created.table.is_keyed else "append")
    return {**options, opt.WRITE_MODE.name: mode_of_rows}
