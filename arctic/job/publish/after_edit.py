"""Rows of a table edited by conditions, and what a call asks for once that is committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.job.edit.delete_job import delete_where
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.update_job import update_where
from arctic.job.publish.after_write import after_write
from arctic.job.write.asked_write import AskedWrite

Options = Mapping[str, str] | None
_TAKEN = (opt.OPTIMIZE, opt.PUBLISH, opt.PUBLISH_EVERY)


def asked_edit(base: Mapping[str, str], options: Options) -> AskedWrite:
    """Return what a call asks for.

    Args:
        base: options that name the table.
        options: of the edit.

    Raises:
        InvalidInputError: one that an edit does not go by.
    """
    given = options or {}
    known = {option.name.lower() for option in _TAKEN}
    for name in given:
        if name.lower() not in known:
            raise InvalidInputError(
                f"option {name!r}: an edit does not go by it; expected one of "
                f"{', '.join(sorted(known))}"
            )
    return AskedWrite.of({**base, **given})


def delete(base: Mapping[str, str], where: Any, options: Options) -> EditReport:
    """Delete rows; as ``Table.delete``."""
    asked = asked_edit(base, options)
    return committed(asked, delete_where(asked.reference.whole(), where))


def update(
    base: Mapping[str, str], set: Mapping[str, Any], where: Any, options: Options
) -> EditReport:
    """Set columns of rows; as ``Table.update``."""
    asked = asked_edit(base, options)
    return committed(asked, update_where(asked.reference.whole(), set, where))


def committed(asked: AskedWrite, done: DoneEdit) -> EditReport:
    """Do what was asked for, where anything was committed; return what the edit did."""
    if done.report.snapshot_id is not None:
        after_write(asked, done.properties, None, optimizes=asked.optimizes)
    return done.report
