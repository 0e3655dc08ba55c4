"""Rows of a merge's source as rows of its table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable
from arctic.job.edit.expressions import SOURCE
from arctic.job.edit.sql_rows import fitted, paired_values


def source_rows(
    table: EditedTable, source: pa.Table, places: np.ndarray, given: Mapping[str, str]
) -> pa.Table:
    """Return rows of the table that are made of rows of the source alone."""
    found = paired_values({SOURCE: source}, {SOURCE: places}, given)
    schema = table.opened.arrow_schema
    columns = [fitted(found[field.name], field, what="inserted value") for field in schema]
    return pa.table(columns, schema=schema)


def source_keys(table: EditedTable, source: pa.Table, key: Mapping[str, str]) -> pa.Table:
    """Return the keys of the table that a source names, in the types of the table."""
    schema = table.opened.arrow_schema
    columns = {
        ours: fitted(source.column(theirs), schema.field(ours), what="key of the source")
        for ours, theirs in key.items()
    }
    return pa.table(columns)
