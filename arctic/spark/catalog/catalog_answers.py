"""Every question of a catalog, and who answers it.

Rules:
    - A failure is answered, never raised: the JVM throws it as Spark's contract says. An error of
      Spark's own goes back as the object that it is, with its condition and its state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from arctic.errors import ArcticError
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.spark.base.catalog_protocol import CatalogAnswer
from arctic.spark.base.catalog_questions import (
    AlterTableQuestion,
    CallQuestion,
    CatalogQuestion,
    ChangelogQuestion,
    CreateTableQuestion,
    DeleteQuestion,
    DropTableQuestion,
    PartitionsQuestion,
    ProcedureQuestion,
    ProceduresQuestion,
    RenameTableQuestion,
    RowLevelQuestion,
    SaveQuestion,
    SettleQuestion,
    SoughtQuestion,
    TableQuestion,
    TablesQuestion,
)
from arctic.spark.base.namespace_questions import (
    AlterNamespaceQuestion,
    CreateNamespaceQuestion,
    DropNamespaceQuestion,
    NamespaceQuestion,
    NamespacesQuestion,
)
from arctic.spark.base.private_names import java_error
from arctic.spark.base.protocol import Failure
from arctic.spark.catalog import namespace_answers, table_answers
from arctic.spark.catalog.alter_table import altered
from arctic.spark.catalog.changelog_answers import changelog
from arctic.spark.catalog.deleted import deleted
from arctic.spark.catalog.failures import failure_of
from arctic.spark.catalog.procedures import procedure_answers
from arctic.spark.catalog.row_level import changed
from arctic.spark.catalog.saved import saved
from arctic.spark.catalog.sought import sought
from arctic.spark.catalog.staged_tables import new_table, settled

_ANSWERS: Mapping[type[CatalogQuestion], Callable[[Any], CatalogAnswer]] = {
    TablesQuestion: table_answers.tables,
    TableQuestion: table_answers.table,
    ChangelogQuestion: changelog,
    CreateTableQuestion: new_table,
    SettleQuestion: settled,
    AlterTableQuestion: altered,
    DropTableQuestion: table_answers.dropped,
    RenameTableQuestion: table_answers.renamed,
    NamespacesQuestion: namespace_answers.namespaces,
    NamespaceQuestion: namespace_answers.namespace,
    CreateNamespaceQuestion: namespace_answers.new_namespace,
    AlterNamespaceQuestion: namespace_answers.changed_namespace,
    DropNamespaceQuestion: namespace_answers.dropped_namespace,
    PartitionsQuestion: table_answers.partitions,
    ProceduresQuestion: procedure_answers.procedures,
    ProcedureQuestion: procedure_answers.procedure,
    DeleteQuestion: deleted,
}

_log = logging.getLogger(__name__)


def answer_catalog(
    asked: CatalogQuestion, frame: Any | None, runner: TaskRunner
) -> CatalogAnswer | Failure | Any:
    """Return the answer to a question of a catalog, or an error that is in the JVM.

    Args:
        asked: the question.
        frame: in the JVM, beside a question that has one.
        runner: where the tasks of a call run.
    """
    try:
        if isinstance(asked, SaveQuestion):
            return saved(asked, frame)
        if isinstance(asked, RowLevelQuestion):
            return changed(asked, frame)
        if isinstance(asked, SoughtQuestion):
            return sought(asked, frame)
        if isinstance(asked, CallQuestion):
            return procedure_answers.called(asked, runner)
        return _ANSWERS[type(asked)](asked)
    except ArcticError as error:
        return failure_of(error)
    except (PySparkException, Py4JJavaError) as error:
        thrown = java_error(error)
        return Failure(error=str(error)) if thrown is None else thrown
    except Exception as error:  # noqa: BLE001 - it becomes an error of the statement
        _log.warning("a catalog's question failed", exc_info=True)
        return Failure(error=f"{type(error).__name__}: {error}")
