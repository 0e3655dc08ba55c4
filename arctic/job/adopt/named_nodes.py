"""Whether rows are in the tree nodes that the names of their files say, by a key.

Readers believe the name of a file, which a writer gave it by the key that the table had. A table
that is adopted may have another one: it was released, or was given files of another table.

Memory: a few row groups of the key columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.plan_rows import merge_request
from arctic.job.tasks.open_ahead import opened_in_order
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.touched import Touched
from arctic.table.files import TableFile
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import ROOT


def check_named_nodes(
    opened: OpenTable, asked: AskedRead, key: Sequence[str], files: Iterable[TableFile]
) -> None:
    """Refuse a key by which rows are not where the names of their files say.

    Only files that name a node below the root are opened.

    Args:
        opened: the table, without a key.
        asked: how it is read.
        key: the columns.
        files: its live data files.

    Raises:
        InvalidInputError: naming a file.
        FormatError: a file that cannot be parsed.
        StorageError: a file is missing or cannot be read.
    """
    named = [file for file in files if file.node != ROOT]
    if not named:
        return
    fields = [opened.arrow_schema.field(name) for name in key]
    by_name = {column.name: str(column.field_type) for column in opened.base.schema().columns}
    types = [by_name[name] for name in key]
    request = merge_request(opened, asked.settings(opened), schema=pa.schema([]), row_filter=None)
    with opened_in_order(opened.io, [file.path for file in named]) as open_file:
        for file in named:
            with DataFileReader(file, request, open_file, Touched()) as reader:
                for batch in reader.every_row(fields, reader.row_groups):
                    places = hash_arrays(batch.columns, types) & file.node.mask
                    if np.any(places != file.node.index):
                        raise _misplaced(opened.table.name, key, file)


def _misplaced(name: str, key: Sequence[str], file: TableFile) -> InvalidInputError:
    return InvalidInputError(
        f"table {name!r}: file {file.path!r} says by its name that its rows are in node "
        f"{file.node.node_id}, but by the primary key {list(key)} they are elsewhere, so it was "
        "written for another key, or for the same columns in another order; adopt the table with "
        "that key, or let another engine write its files anew before, as Spark's "
        "rewrite_data_files does with rewrite-all"
    )
