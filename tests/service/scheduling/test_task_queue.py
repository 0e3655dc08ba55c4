"""Processes of tasks: each done once, given back by the dead, ended by a failure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arctic.service.scheduling.task_queue import EndedTask, TaskKey, TaskQueue


def test_the_first_process_is_finished_first_its_heaviest_task_at_the_beginning() -> None:
    """Equal ones in the order they were given."""
    queue = TaskQueue()
    queue.add("a", [1, 9, 9])
    queue.add("b", [50])

    taken = [queue.take("e", 0) for _ in range(5)]

    assert [each and (each.table, each.number) for each in taken] == [
        *(("a", 1), ("a", 2), ("a", 0)),
        ("b", 0),
        None,
    ]


def test_a_failed_task_ends_its_process_once_the_others_have_ended() -> None:
    """What waits is not begun, what runs is waited for, other tables go on."""
    queue = TaskQueue()
    queue.add("a", [3, 2, 1])
    queue.add("b", [1])
    first, second = queue.take("x", 0), queue.take("y", 0)
    assert first is not None
    assert second is not None

    assert queue.end("x", first, 5, is_good=False) == EndedTask(
        table="a", used_ms=5, process_over=False, is_good=False
    )
    assert queue.take("x", 5) == TaskKey(table="b", number=0)
    assert queue.end("y", second, 7, is_good=True) == EndedTask(
        table="a", used_ms=7, process_over=True, is_good=False
    )


def test_a_task_took_no_less_than_nothing() -> None:
    """Where the clock was set back meanwhile; its table would have more than its share."""
    queue = TaskQueue()
    queue.add("a", [1, 1])
    first, second = queue.take("x", 1_000), queue.take("y", 1_000)
    assert first is not None
    assert second is not None

    ended = queue.end("x", first, 5, is_good=True)
    assert ended is not None
    assert ended.used_ms == 0
    assert [each.used_ms for each in queue.lose("y", 5)] == [0]


def test_a_task_that_cost_three_executors_fails() -> None:
    """Else it would cost all of them."""
    queue = TaskQueue()
    queue.add("a", [1])
    ended: list[EndedTask] = []
    for executor in "xyz":
        assert queue.take(executor, 0) is not None
        ended += queue.lose(executor, 4)

    assert [(each.process_over, each.is_good, each.used_ms) for each in ended] == [
        (False, True, 4),
        (False, True, 4),
        (True, False, 4),
    ]
    assert queue.waiting == 0


def test_an_executor_that_was_taken_for_dead_and_was_not_counts_for_nothing() -> None:
    """Its task is another's by then."""
    queue = TaskQueue()
    queue.add("a", [1])
    key = queue.take("x", 0)
    assert key is not None
    queue.lose("x", 1)

    assert queue.end("x", key, 2, is_good=True) is None
    assert queue.take("y", 3) == key


def test_a_process_that_is_cancelled_gives_out_nothing_more() -> None:
    """It is over at once where nothing of it runs."""
    queue = TaskQueue()
    queue.add("a", [1, 1])
    key = queue.take("x", 0)
    assert key is not None

    assert not queue.cancel("a")
    assert queue.take("y", 0) is None
    assert queue.end("x", key, 1, is_good=True) == EndedTask(
        table="a", used_ms=1, process_over=True, is_good=False
    )
    assert queue.cancel("a")


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    events=st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 9)), max_size=60),
)
def test_every_task_of_a_good_process_is_done_once_whoever_dies(
    sizes: list[int], events: list[tuple[str, int]]
) -> None:
    """Executors take, finish or die in any order; slot time is that of all tries."""
    queue, held = TaskQueue(), dict[str, TaskKey]()
    for number, size in enumerate(sizes):
        queue.add(f"t{number}", [1] * size)
    done: list[TaskKey] = []
    over: dict[str, bool] = {}
    for now, (executor, what) in enumerate([*events, *[("x", 5)] * 60]):
        if executor not in held:
            key = queue.take(executor, now)
            if key is not None:
                assert key not in done
                assert key not in held.values()
                held[executor] = key
            ended: tuple[EndedTask, ...] = ()
        elif what == 0:
            del held[executor]
            ended = queue.lose(executor, now)
        else:
            key = held.pop(executor)
            found = queue.end(executor, key, now, is_good=True)
            assert found is not None
            done.append(key)
            ended = (found,)
        over |= {each.table: each.is_good for each in ended if each.process_over}

    for executor in "yz":
        over |= {e.table: e.is_good for e in queue.lose(executor, 999) if e.process_over}
    good = {table for table, is_good in over.items() if is_good}
    assert len(done) == len(set(done))
    for number, size in enumerate(sizes):
        if f"t{number}" in good:
            assert sum(key.table == f"t{number}" for key in done) == size
