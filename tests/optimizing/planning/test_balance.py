"""How many groups the tasks of a run make, and which tasks go together."""

from __future__ import annotations

import pytest

from arctic.optimizing.optimize_task import OptimizeTask
from arctic.optimizing.planning.balance import balance
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.tree.node import ROOT
from tests.factories.files import name_of, named_file
from tests.optimizing.lake import settings_of


def groups(*costs: int, parallelism: int = 1) -> list[list[int]]:
    """Balance tasks of these costs; 600 bytes are the most that a task has."""
    data = FileTask(file=named_file(FileKind.BASE, name_of(FileKind.BASE)))
    tasks = [
        OptimizeTask(
            partition=(),
            node=ROOT,
            rewrite=(data,),
            mark=(),
            change_deletes=(),
            row_range=None,
            target_bytes=400,
            base_nodes=(1,),
            cost_bytes=cost,
        )
        for cost in costs
    ]
    found = balance(tasks, settings=settings_of(), parallelism=parallelism)

    assert [group.number for group in found] == list(range(len(found)))
    assert [group.cost_bytes for group in found] == [
        sum(task.cost_bytes for task in group.tasks) for group in found
    ]
    return [[task.cost_bytes for task in group.tasks] for group in found]


@pytest.mark.parametrize(
    ("costs", "parallelism", "number"),
    [
        ([1] * 3, 1, 3),
        ([1] * 4, 1, 4),
        ([1] * 5, 1, 4),
        ([1] * 9, 2, 8),
        ([300] * 8, 1, 4),
        ([300] * 9, 1, 5),
        ([300] * 10, 1, 5),
        ([300] * 11, 1, 6),
        ([300] * 11, 2, 8),
    ],
)
def test_groups_are_four_for_each_core_or_as_many_as_there_are_full_tasks(
    costs: list[int], parallelism: int, number: int
) -> None:
    """Whichever is more, and never more than tasks."""
    assert len(groups(*costs, parallelism=parallelism)) == number


def test_the_heaviest_task_is_dealt_first() -> None:
    """Each to the lightest group; the heaviest group begins, of equal ones the earlier."""
    assert groups(10, 90, 20, 60, 50, 30) == [[90], [60], [50, 10], [30, 20]]
    assert groups(5, 5, 5, 5, 5) == [[5, 5], [5], [5], [5]]
    assert groups() == []
