"""What files weigh in planning: two formulas for two questions.

Source: amoro BasicKeyedTableScan @96a4d781a. Differs: the packing weight of a task counts its
change deletes too, because a task that must read many deletes is not a light one.
"""

from __future__ import annotations

from collections.abc import Iterable

from arctic.table.files import TableFile


def packing_weight_bytes(files: Iterable[TableFile], *, open_file_cost_bytes: int) -> int:
    """Return what reading the files costs: the sum of max(size, open-file cost).

    Answers how tasks are balanced. A tiny file is as dear as opening it.
    """
    sizes = [file.size_bytes for file in files]
    # Spelt out because planning weighs each delete for each task that it can touch.
    return sum([size if size > open_file_cost_bytes else open_file_cost_bytes for size in sizes])


def ratio_weight_bytes(files: Iterable[TableFile], *, open_file_cost_bytes: int) -> int:
    """Return what the files weigh against each other: the sum of (size + open-file cost).

    Answers whether the data of a node outweighs its deletes, which every part of it reads again.
    """
    return sum(file.size_bytes + open_file_cost_bytes for file in files)
