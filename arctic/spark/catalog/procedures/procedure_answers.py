"""What a catalog asks of procedures, answered.

Rules:
    - All procedures are in the namespace ``system``.
    - A procedure is a verb of Python's: what it takes is checked there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
from pyspark.sql import types as st

from arctic.errors import InvalidInputError, NotFoundError
from arctic.job.reference import placed
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.options import Scope, check_known
from arctic.spark.base.catalog_protocol import NamesAnswer, ProcedureAnswer, RowsAnswer
from arctic.spark.base.catalog_questions import CallQuestion, ProcedureQuestion, ProceduresQuestion
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.catalog.procedures.consumer_procedures import CONSUMER_PROCEDURES
from arctic.spark.catalog.procedures.past_procedures import PAST_PROCEDURES
from arctic.spark.catalog.procedures.procedure import (
    NULL,
    TABLE,
    Call,
    Parameter,
    Procedure,
)
from arctic.spark.catalog.procedures.sharing_procedures import SHARING_PROCEDURES
from arctic.spark.catalog.procedures.upkeep_procedures import UPKEEP_PROCEDURES
from arctic.spark.catalog.procedures.view_procedures import VIEW_PROCEDURES

NAMESPACE = "system"
_PROCEDURES: Mapping[str, Procedure] = {
    **UPKEEP_PROCEDURES,
    **PAST_PROCEDURES,
    **CONSUMER_PROCEDURES,
    **SHARING_PROCEDURES,
    **VIEW_PROCEDURES,
}


def procedures(asked: ProceduresQuestion) -> NamesAnswer:
    """List the procedures of a namespace, or of all."""
    is_here = list(asked.name) in ([], [NAMESPACE])
    return NamesAnswer(names=[(NAMESPACE, name) for name in sorted(_PROCEDURES) if is_here])


def procedure(asked: ProcedureQuestion) -> ProcedureAnswer:
    """Describe a procedure.

    Raises:
        NotFoundError: there is none of this name.
    """
    *namespace, name = asked.name
    found = _PROCEDURES.get(name.lower())
    if found is None or namespace != [NAMESPACE]:
        raise NotFoundError(
            f"procedure {'.'.join(asked.name)!r}; there are "
            f"{', '.join(f'{NAMESPACE}.{each}' for each in sorted(_PROCEDURES))}"
        )
    fields = [
        st.StructField(each.name, each.kind, metadata={"comment": each.doc})
        for each in found.parameters
    ]
    return ProcedureAnswer(
        name=name.lower(),
        # Spark describes procedures by this alone.
        description="\n".join([found.doc, *map(_described, found.parameters)]),
        parameters=st.StructType(fields).jsonValue(),
        defaults=[each.default for each in found.parameters],
    )


def _described(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f" DEFAULT {parameter.default}"
    kind = parameter.kind.simpleString().upper()
    return f"  {parameter.name} {kind}{default}: {parameter.doc}"


def called(asked: CallQuestion, runner: TaskRunner) -> RowsAnswer:
    """Run a procedure.

    Args:
        asked: the call.
        runner: where its tasks run.

    Raises:
        InvalidInputError: an argument is null that may not be.
        ArcticError: as the verb of this name.
    """
    name = asked.name[-1]
    found = _PROCEDURES[name]
    for each in found.parameters:
        if each.default != NULL and asked.arguments[each.name] is None:
            raise InvalidInputError(
                f"procedure {name}: argument {each.name} is null; expected {each.doc}"
            )
    check_known(asked.catalog, Scope.CATALOG)
    arguments = dict(asked.arguments)
    for each in found.parameters:
        if each.names_table and arguments[each.name] is not None:
            arguments[each.name] = _without_catalog(arguments[each.name], asked.catalog_name)
    options = placed({**asked.catalog, "path": arguments[TABLE.name]})
    made = found.run(Call(options=options, arguments=arguments, runner=runner))
    rows = made if isinstance(made, pa.Table) else pa.Table.from_pylist(list(made), found.columns)
    return RowsAnswer(
        schema=spark_schema(rows.schema).jsonValue(),
        rows=_plain_rows(rows),
        changed=_changed(found, rows, arguments),
    )


def _changed(found: Procedure, rows: pa.Table, arguments: Mapping[str, Any]) -> list[str]:
    if found.changes is None:
        return []
    if found.changes in rows.column_names:
        return sorted(set(rows.column(found.changes).to_pylist()))
    return [arguments[found.changes]]


def _without_catalog(table: str, catalog: str) -> str:
    """Return the name of a table as its catalog knows it.

    >>> _without_catalog("arctic.shop.orders", "arctic"), _without_catalog("arctic.t", "arctic")
    ('shop.orders', 'arctic.t')
    """
    first, _, rest = table.partition(".")
    return rest if first == catalog and "." in rest else table


def _plain_rows(rows: pa.Table) -> list[list[Any]]:
    """Return rows as JSON has them; a time is its microseconds."""
    columns = [
        column.cast(pa.int64()) if pat.is_timestamp(column.type) else column
        for column in rows.columns
    ]
    return [list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
