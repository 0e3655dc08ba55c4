"""The tasks of one attempt at optimizing, so that an attempt that fails leaves nothing.

A task whose files have expired returns that instead of raising it: a runner tells of a failure,
but not what the other tasks had made by then, and nobody else would ever delete it.

Must not know: catalogs, Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arctic.errors import StorageError
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.optimizing.execute import OptimizeJob
from arctic.optimizing.optimize_task import OptimizeResult, OptimizeTaskGroup

Outcome = OptimizeResult | StorageError


@dataclass(frozen=True, slots=True)
class OptimizeAttempt:
    """Carries out groups; pickles."""

    job: OptimizeJob

    def run(self, group: OptimizeTaskGroup) -> Outcome:
        """Return what a group made, or which of its files is gone; raises as ``OptimizeJob``."""
        try:
            return self.job.run(group)
        except StorageError as error:
            if not is_file_gone(error):
                raise
            return StorageError(error.message)


def all_done(job: OptimizeJob, outcomes: Sequence[Outcome]) -> list[OptimizeResult]:
    """Return the results of all groups.

    Raises:
        StorageError: files of one were gone; what the others made is deleted.
    """
    results = [each for each in outcomes if isinstance(each, OptimizeResult)]
    gone = [each for each in outcomes if isinstance(each, StorageError)]
    if gone:
        job.target.delete_files([file.path for result in results for file in result.files])
        raise gone[0]
    return results
