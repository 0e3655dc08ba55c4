"""A process is killed at every step of a write, an optimizing or a cleaning: nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import arctic
from tests.processes import forked
from tests.property.crash_steps import in_child, killed_at, kinds_of_steps
from tests.property.crash_table import (
    OPERATIONS,
    State,
    expire,
    look,
    on_disk,
    prepare,
    reachable,
    run,
    shape,
)

CI_STRIDE = 15
"""Odd, so that leftovers are cleaned up before the next write in half of the cases."""


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the steps of one operation did to its table."""

    operation: str
    steps: int
    killed: int = 0
    lost: int = 0
    doubled: int = 0
    faults: list[str] = field(default_factory=list)
    leaves: tuple[int, int] = (0, 0)
    """Of the trees, before and after an operation that nobody kills."""
    is_sorted: bool = False
    """Whether that leaves base files in the order of the sort column."""


class Inquest:
    """Looks at a table whose writer was killed."""

    def __init__(
        self,
        lake: str,
        operation: Callable[[arctic.Table], None],
        before: State,
        after: State,
        findings: Findings,
        step: int,
    ) -> None:
        self._lake = lake
        self._operation = operation
        self._before = before
        self._after = after
        self.findings = findings
        self._step = step

    def hold(self) -> Findings:
        """Check everything; return what was found, because this runs in a child."""
        self._check(look(self._lake), self._before, self._after)
        # Every other time the leftovers are cleaned up before anybody writes again.
        if self._step % 2:
            self._check_cleaning(self._before, self._after)
        run(self._operation, self._lake)
        self._check(look(self._lake), self._after)
        self._check_cleaning(self._after)
        return self.findings

    def _check_cleaning(self, *allowed: State) -> None:
        run(expire, self._lake)
        self._check(look(self._lake), *allowed)
        found, needed = on_disk(self._lake), reachable(self._lake)
        for what, paths in (("left", found - needed), ("missing", needed - found)):
            if paths:
                self.fault(f"{len(paths)} files are {what}, such as {min(paths)}")

    def _check(self, state: State, *allowed: State) -> None:
        if state in allowed:
            return
        numbers = Counter(row[0] for row in state.rows)
        nearest = min(allowed, key=lambda each: len(set(each.rows) - set(state.rows)))
        self.findings.lost += len(set(nearest.rows) - set(state.rows))
        self.findings.doubled += sum(count - 1 for count in numbers.values())
        self.fault(f"{state} is none of {allowed}")

    def fault(self, text: str) -> None:
        """Note what is wrong."""
        self.findings.faults.append(
            f"{self.findings.operation} killed at step {self._step}: {text}"
        )


def hold_inquest(inquest: Inquest) -> Findings:
    """Look at the table in a child; what it raises is a fault too."""
    try:
        found = in_child(inquest.hold)
    except AssertionError as error:
        inquest.fault(str(error))
        return inquest.findings
    assert found is not None
    return found


def crash_everywhere(folder: str, number: int, stride: int) -> Findings:
    """Kill one operation at every so many steps, each time on the same table.

    The folder stays the same too, because metadata names absolute paths.
    """
    operation = OPERATIONS[number]
    for name in arctic.__all__:
        getattr(arctic, name)  # Loaded by its first use: here, and not in each forked child anew.
    lake, saved = f"{folder}/lake", f"{folder}/saved"
    in_child(lambda: prepare(lake))
    shutil.copytree(lake, saved)
    before, files = in_child(lambda: look(lake)), len(on_disk(lake))
    shape_before = in_child(lambda: shape(lake))
    kinds = kinds_of_steps(lambda: run(operation, lake))
    assert kinds.count("create") - kinds.count("delete") == len(on_disk(lake)) - files
    done, shape_after = in_child(lambda: look(lake)), in_child(lambda: shape(lake))
    assert before is not None
    assert done is not None
    assert shape_before is not None
    assert shape_after is not None
    findings = Findings(
        operation=operation.__name__,
        steps=len(kinds),
        leaves=(shape_before.leaves, shape_after.leaves),
        is_sorted=shape_after.is_sorted,
    )
    # Another offset for each operation. What decides is never left out: the steps before and after
    # a COMMIT or a deletion.
    decisive = {
        step
        for at, kind in enumerate(kinds, start=1)
        if kind in ("commit", "delete")
        for step in (at, at + 1)
    }
    for step in range(1, len(kinds) + 1):
        if step not in decisive and (step + number) % stride:
            continue
        shutil.rmtree(lake)
        shutil.copytree(saved, lake)
        findings.killed += killed_at(step, lambda: run(operation, lake))
        findings = hold_inquest(Inquest(lake, operation, before, done, findings, step))
    return findings


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
def test_a_crash_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Read after it, the table is as before or as after; done again, all is as after.

    Steps are left out at a fixed stride, and none with HYPOTHESIS_PROFILE=deep. Afterwards a
    cleaning leaves exactly the files that the metadata refers to.
    """
    stride = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else CI_STRIDE
    places = [tmp_path / operation.__name__ for operation in OPERATIONS]
    for place in places:
        place.mkdir()
    # So that what forks again has neither threads nor connections of other tests.
    with forked().Pool(2, maxtasksperchild=1) as pool:
        tasks = [(str(place), number, stride) for number, place in enumerate(places)]
        found = pool.starmap(crash_everywhere, tasks, chunksize=1)

    print(
        f"crashes: {len(found)} operations, {sum(each.killed for each in found)} of "
        f"{sum(each.steps for each in found)} steps killed, rows lost "
        f"{sum(each.lost for each in found)}, rows doubled {sum(each.doubled for each in found)}"
    )
    assert [fault for each in found for fault in each.faults] == []
    assert all(each.killed for each in found)
    # What was killed did divide nodes, join them and sort, or this would prove nothing about it.
    leaves = {each.operation: each.leaves for each in found}
    assert leaves["full"][1] > leaves["full"][0], leaves
    assert leaves["outgrown"][1] > leaves["outgrown"][0], leaves
    assert leaves["shrink"][1] < leaves["shrink"][0], leaves
    assert all(each.is_sorted for each in found if each.operation in ("full", "shrink"))
