"""The worst place of a node: found as by trying every place, and better after each major."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.health import measure
from arctic.optimizing.planning.overlap import deepest, overlapping_segments
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.select import select
from arctic.optimizing.settings import OptimizeType
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.table.table_description import Column
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import KEY_ID, table_file
from tests.optimizing.lake import settings_of

SETTINGS = settings_of(major__trigger__overlap="2")
COLUMN = Column(name="id", field_id=KEY_ID, type="long", required=True)
FOUR = NodeTree.uniform(3)
NODE, OTHER = TreeNode(3, 0), TreeNode(3, 1)


def segment(
    name: str, lower: Any, upper: Any, *, size: int = 400, node: TreeNode = NODE
) -> TableFile:
    """Return a base file."""
    return table_file(name, FileKind.BASE, size, node=node, keys=(lower, upper))


def segments(*ranges: tuple[Any, Any]) -> list[TableFile]:
    """Return base files named by letters."""
    return [segment(chr(ord("a") + place), *each) for place, each in enumerate(ranges)]


def over(files: list[TableFile], place: float) -> list[TableFile]:
    """Return the files that have values on both sides of a place."""
    return [file for file in files if ends(file)[0] < place < ends(file)[1]]


def ends(file: TableFile) -> tuple[Any, Any]:
    """Return the bounds of a file."""
    bounds = file.bounds[KEY_ID]
    return bounds.lower, bounds.upper


@pytest.mark.parametrize(
    ("ranges", "names"),
    [
        ([], ""),
        ([(0, 9)], "a"),
        ([(0, 4), (5, 9), (3, 6)], "ac"),
        ([(0, 5), (5, 9)], "a"),
        ([(5, 5), (5, 5), (5, 5)], ""),
        ([(0, 9), (1, 8), (2, 7), (7, 9), (7, 9)], "abde"),
        ([("a" * 16, "b"), ("a", "c"), ("b" * 15, "d")], "bc"),
        ([(None, None), (0, 9)], "b"),
    ],
)
def test_the_files_over_the_worst_place_are_found(
    ranges: list[tuple[Any, Any]], names: str
) -> None:
    """Those that only meet there do not count, nor those of a single value or of cut texts."""
    assert "".join(file.path for file in deepest(segments(*ranges), KEY_ID)) == names


spans = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda ends: tuple(sorted(ends)))


@given(st.lists(spans, max_size=12))
def test_no_place_has_more_files_over_it(ranges: list[tuple[int, int]]) -> None:
    """Tried one by one."""
    files = segments(*ranges)
    assert len(deepest(files, KEY_ID)) == max(
        (len(over(files, place + 0.5)) for place in range(12)), default=0
    )


@given(st.lists(spans, max_size=12), st.randoms(use_true_random=False))
def test_majors_come_to_an_end_and_no_place_gets_worse(
    ranges: list[tuple[int, int]], random: Any
) -> None:
    """Each makes files that follow one another of those over the worst place, cut anywhere."""
    files = segments(*ranges)
    for number in range(40):
        worst = deepest(files, KEY_ID)
        if len(worst) <= SETTINGS.most_overlapping:
            break
        before = [len(over(files, place + 0.5)) for place in range(12)]
        least = min(ends(file)[0] for file in worst)
        most = max(ends(file)[1] for file in worst)
        cuts = sorted(random.choices(range(least, most + 1), k=len(worst) - 1))
        edges = zip([least, *cuts], [*cuts, most], strict=True)
        files = [file for file in files if file not in worst]
        files += [segment(f"{number}-{place}", *each) for place, each in enumerate(edges)]
        after = [len(over(files, place + 0.5)) for place in range(12)]
        assert all(new <= old for new, old in zip(after, before, strict=True))
    assert len(deepest(files, KEY_ID)) <= SETTINGS.most_overlapping


def test_a_major_takes_the_worst_place_of_each_node_and_leaves_what_is_in_order() -> None:
    """Fragments and files of other nodes are not over it; a limit that is met fires nothing."""
    crowd = [segment(name, 0, 9) for name in "abc"]
    two = [segment(name, 0, 9, node=OTHER) for name in "de"]
    rest = [segment("f", 10, 19), segment("g", 0, 9, size=10)]
    base = tuple(FileTask(file=file) for file in (*crowd, *two, *rest))

    def files_of(column: Column | None) -> PartitionFiles:
        return PartitionFiles(
            partition=(),
            base=base,
            inserts=(),
            change_deletes=(),
            store_paths=frozenset(task.file.path for task in base),
            merged_up_to=1,
            horizon=1,
            tree=FOUR,
            sort_column=column,
        )

    assert overlapping_segments(base, FOUR, COLUMN, SETTINGS) == [crowd]
    assert measure(files_of(COLUMN), SETTINGS).overlapping == 3
    assert measure(files_of(None), SETTINGS).overlapping == 0
    for column, paths in ((COLUMN, "abcg"), (None, "")):
        chosen = select(
            files_of(column),
            OptimizeType.MAJOR,
            settings=SETTINGS,
            ranges=FileRanges((KEY_ID,)),
        )
        assert "".join(sorted(task.file.path for task in chosen.rewrite)) == paths
