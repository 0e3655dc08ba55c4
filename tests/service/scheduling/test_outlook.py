"""What a run would cost and save, by counts alone."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.evaluate import Verdict
from arctic.optimizing.planning.health import FileCounts, PartitionHealth
from arctic.optimizing.settings import OptimizeType
from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook, predict, read_ms

MIB = 2**20
OPEN = 4 * MIB
NONE = FileCounts(files=0, rows=0, bytes=0)
CLEAN = PartitionHealth(
    partition=(),
    fragments=NONE,
    segments=FileCounts(files=8, rows=8_000, bytes=1_024 * MIB),
    undersized=NONE,
    inserts=NONE,
    change_deletes=NONE,
    position_deletes=NONE,
    surplus_position_deletes=0,
    fragment_nodes=0,
    least_nodes=4,
    joinable_nodes=0,
    overlapping=0,
    worn_segments=0,
    read_cost_bytes=1_024 * MIB,
    ideal_cost_bytes=1_024 * MIB,
)


def changed(files: int, *, mib: int = 1) -> PartitionHealth:
    """Return a partition with unmerged inserts."""
    counts = FileCounts(files=files, rows=files, bytes=files * mib * MIB)
    cost = CLEAN.read_cost_bytes + max(counts.bytes, files * OPEN)
    ideal = CLEAN.ideal_cost_bytes + counts.bytes
    return replace(CLEAN, inserts=counts, read_cost_bytes=cost, ideal_cost_bytes=ideal)


def outlook(health: PartitionHealth, kind: OptimizeType | None) -> Outlook:
    """Return what one partition promises."""
    return predict([(health, Verdict(type=kind, reason=""))], open_file_cost_bytes=OPEN)


def test_where_nothing_is_due_nothing_is_done_or_saved() -> None:
    """Whatever the partition consists of."""
    assert outlook(changed(100), None) == NOTHING_DUE


def test_more_files_to_merge_save_more_and_a_full_costs_the_whole_table() -> None:
    """A minor costs what it moves."""
    few, many = (outlook(changed(n), OptimizeType.MINOR) for n in (10, 100))
    full = outlook(changed(10), OptimizeType.FULL)

    assert few.saved_bytes < many.saved_bytes
    assert few.work_bytes == 20 * MIB
    assert full.work_bytes == 2 * (1_024 + 10) * MIB
    assert full.saved_bytes >= few.saved_bytes


@given(st.integers(0, 200), st.integers(1, 64))
def test_a_stronger_type_works_and_saves_at_least_as_much(files: int, mib: int) -> None:
    """As one does all that a weaker one does."""
    health = changed(files, mib=mib)
    minor, major, full = (outlook(health, kind) for kind in OptimizeType)

    assert minor.work_ms <= major.work_ms <= full.work_ms
    assert minor.saved_ms <= major.saved_ms <= full.saved_ms
    assert minor.work_ms > 0
    assert read_ms(health) >= read_ms(CLEAN)
