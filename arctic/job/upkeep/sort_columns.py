"""Which columns optimizing sorts the rows of a node by."""

from __future__ import annotations

from arctic import options as opt
from arctic.columns.field_ids import child_fields
from arctic.columns.zorder import is_ranked
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.upkeep.asked_upkeep import AskedOptimize


def sort_columns(opened: OpenTable, asked: AskedOptimize) -> tuple[tuple[str, ...], ...]:
    """Return the sort columns of a table, most significant first; empty if it has none.

    Several in one place count alike.

    Raises:
        InvalidInputError: a name that is no column, or one that has no order.
    """
    schema = opened.arrow_schema
    terms = asked.sort_columns(opened)
    for name, is_alone in ((name, len(term) == 1) for term in terms for name in term):
        unsorted = name not in schema.names or child_fields(schema.field(name).type)
        if unsorted or not (is_alone or is_ranked(schema.field(name).type)):
            raise InvalidInputError(
                f"{opt.SORT_COLUMNS.name} of table {opened.table.name!r}: {name!r} is no column "
                f"that can be sorted by; it has {', '.join(schema.names)}"
            )
    return terms
