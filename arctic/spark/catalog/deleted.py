"""Rows of a table that go without being read, because a condition covers their files.

Must not know: statements.
"""

from __future__ import annotations

from arctic.errors import InvalidInputError
from arctic.job.edit.delete_job import covers, delete_where
from arctic.job.write.asked_write import AskedWrite
from arctic.options import Scope
from arctic.spark.base.catalog_protocol import DoneAnswer
from arctic.spark.base.catalog_questions import DeleteQuestion
from arctic.spark.read.hints import exact_filter
from arctic.spark.source import relevant_options


def deleted(asked: DeleteQuestion) -> DoneAnswer:
    """Remove rows in one commit, or say whether metadata is enough for that.

    Should it not be any more when they are removed, they are looked for.

    Raises:
        ArcticError: as ``delete_where``.
    """
    reference = AskedWrite.of(relevant_options(asked.options, Scope.WRITE)).reference
    try:
        where = exact_filter(asked.where, reference.open().table)
    except InvalidInputError:
        if asked.only_asks:
            return DoneAnswer(found=False)
        raise
    if asked.only_asks:
        return DoneAnswer(found=covers(reference, where))
    delete_where(reference, where)
    return DoneAnswer(found=True)
