"""Deletion vectors of data files, with rows added to those that they have.

Rules:
    - A data file has one vector, so a new one names the rows of the old one too.
    - A Puffin file goes whole: every vector in it is written again.

Memory: the numbers of the dead rows of one file.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from arctic.columns.integers.distinct import distinct
from arctic.iceberg.adoption.equality_deletes import KnownVector, Repair, Repairable
from arctic.iceberg.publishing.vector_files import Rows, vector_rows, write_vectors
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.upkeep.mask_files import Dead


def write_merged(opened: OpenTable, found: Repairable, dead: Iterator[Dead]) -> Repair:
    """Write vectors that nobody refers to yet.

    Args:
        opened: the table, of format version 3.
        found: its files.
        dead: data files, each with the numbers of further dead rows, ascending.

    Raises:
        FormatError: a vector that is none.
        StorageError: a file cannot be read, created or written; none is left.
    """
    replaced: set[str] = set()
    vectors = write_vectors(opened.base, _merged(opened, found, dead, replaced))
    return Repair(vectors=vectors, replaced=frozenset(replaced))


def _merged(
    opened: OpenTable, found: Repairable, dead: Iterator[Dead], replaced: set[str]
) -> Iterator[Dead]:
    done: set[str] = set()
    for file, rows in dead:
        known = found.vectors.get(file.path)
        if known is not None:
            rows = distinct(np.concatenate([rows, _rows(opened, known)]))
            replaced.add(known.path)
        done.add(file.path)
        yield file, rows
    for file in found.data:
        known = found.vectors.get(file.path)
        if known is not None and known.path in replaced and file.path not in done:
            yield file, _rows(opened, known)


def _rows(opened: OpenTable, vector: KnownVector) -> Rows:
    return vector_rows(opened.io, vector.path, vector.place)
