"""Files of two states that go to one task, and those that nobody has to read."""

from __future__ import annotations

from arctic.scan.changes.difference_tasks import DifferenceTask, plan_difference
from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import TableFile
from arctic.table.merge_engine import MergeEngine
from tests.factories.files import KEY_ID
from tests.scan.changes.test_change_tasks import OPTIONS, base, delete, insert


def state(*data: FileTask, deletes: tuple[TableFile, ...] = ()) -> FilesToRead:
    """Return the files of a state."""
    return FilesToRead(data=data, change_deletes=deletes)


def plan(before: FilesToRead, after: FilesToRead, *, keys_move: bool = False) -> list[set[str]]:
    """Return the names of the files of each task."""
    groups = plan_difference(
        before,
        after,
        key_ids=(KEY_ID,),
        ordering_ids=(),
        engine=MergeEngine.LAST_ROW,
        keys_move=keys_move,
        options=OPTIONS,
    )
    return [names(task) for group in groups for task in group]


def names(task: DifferenceTask) -> set[str]:
    """Return the names of a task's data files, those of before with a minus."""

    def of(nodes: tuple[NodeTask, ...]) -> list[str]:
        return [each.file.path.rsplit("/", 1)[-1] for node in nodes for each in node.data]

    return {f"-{name}" for name in of(task.before)} | set(of(task.after))


def name(task: FileTask) -> str:
    """Return the name of a file."""
    return task.file.path.rsplit("/", 1)[-1]


def test_files_that_both_states_have_are_left_out() -> None:
    """Unless a delete of their node is in one of them alone."""
    old, new, both, other = base(1), base(1, 2), base(1, 3), base(1, 4, ("eu",))

    assert plan(state(old, both, other), state(new, both, other)) == [{f"-{name(old)}", name(new)}]
    assert plan(state(both), state(both)) == []
    killed = state(FileTask(file=insert(1, 1)), deletes=(delete(1, 2),))
    assert len(plan(state(FileTask(file=insert(1, 1))), killed)) == 1
    assert plan(killed, killed) == []


def test_nodes_that_may_hold_the_same_keys_go_together() -> None:
    """Across partitions too, where keys can move between them."""
    above, below, aside = base(1), base(2, 2), base(3, 3)
    assert plan(state(above), state(below, aside)) == [
        {f"-{name(above)}", name(below), name(aside)}
    ]
    assert sorted(map(len, plan(state(below), state(aside)))) == [1, 1]

    eu, us = base(1, 1, ("eu",)), base(1, 2, ("us",))
    assert sorted(map(len, plan(state(eu), state(us)))) == [1, 1]
    assert plan(state(eu), state(us), keys_move=True) == [{f"-{name(eu)}", name(us)}]
