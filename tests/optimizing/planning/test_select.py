"""Which files of a partition a run takes: one case for each rule, at, below and above its bound.

Settings of ``tests.optimizing.lake``: a fragment has up to 50 bytes, an undersized segment up to
300, a file of the target size 400; more than a tenth of the rows deleted makes a segment worn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.plan_run import PartitionPlan
from arctic.optimizing.planning.select import Selection, select
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import table_file
from tests.optimizing.lake import settings_of

MINOR, MAJOR, FULL = OptimizeType.MINOR, OptimizeType.MAJOR, OptimizeType.FULL
KEY_ID = 1
NODE = TreeNode(3, 0)
"""One of the four nodes of base."""
UPPER = TreeNode(1, 0)
"""Its parent."""
OTHER = TreeNode(3, 1)
"""Shares no key with either."""
COUSIN = TreeNode(3, 2)
"""The other child of the parent."""
DEEP, DEEP_OTHER = TreeNode(7, 0), TreeNode(7, 4)
"""Children of the first, deeper than base is written."""
FRAGMENT, SEGMENT = 50, 400
DEFAULTS = settings_of()
SPARING = settings_of(full__rewrite_all_files="false")


file = partial(table_file, node=NODE, keys=(0, 9))
"""A file of the only partition."""


def base(
    path: str, size: int, *marks: TableFile, node: TreeNode = NODE, transaction: int = 1
) -> FileTask:
    """Return a base file of 100 rows with the keys 0 to 9, and its position deletes."""
    data = file(path, FileKind.BASE, size, node=node, transaction=transaction)
    return FileTask(file=data, position_deletes=marks)


def insert(path: str, *, node: TreeNode = NODE, size: int = SEGMENT) -> FileTask:
    """Return an insert file."""
    return FileTask(file=file(path, FileKind.INSERT, size, node=node, transaction=2))


def marks(path: str, rows: int = 1) -> TableFile:
    """Return a position-delete file, of whatever data files name it."""
    return file(path, FileKind.POS_DELETE, 10, rows=rows, transaction=2)


def killer(
    path: str = "k",
    *,
    keys: tuple[int, int] = (0, 9),
    transaction: int = 2,
    node: TreeNode = NODE,
) -> TableFile:
    """Return a change-delete file."""
    kind = FileKind.CHANGE_DELETE
    return file(path, kind, 10, keys=keys, transaction=transaction, node=node)


P, Q, R = marks("p"), marks("q"), marks("r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Files of a partition, and which of them a run takes."""

    id: str
    kind: OptimizeType
    base: tuple[FileTask, ...] = ()
    inserts: tuple[FileTask, ...] = ()
    killers: tuple[TableFile, ...] = ()
    settings: OptimizeSettings = DEFAULTS
    rewrite: str = ""
    """Paths of one letter each."""
    mark: str = ""


def files_of(case: Case) -> PartitionFiles:
    """Return the partition of a case."""
    paths = {task.file.path for task in case.base}
    paths |= {delete.path for task in case.base for delete in task.position_deletes}
    return PartitionFiles(
        partition=(),
        base=case.base,
        inserts=case.inserts,
        change_deletes=case.killers,
        store_paths=frozenset(paths),
        merged_up_to=1,
        horizon=2,
        tree=NodeTree.uniform(case.settings.base_buckets - 1),
    )


def chosen(case: Case) -> Selection:
    """Choose the files of a case."""
    ranges = FileRanges((KEY_ID,))
    return select(files_of(case), case.kind, settings=case.settings, ranges=ranges)


def paths_of(tasks: tuple[FileTask, ...]) -> str:
    """Return the paths of some files, sorted."""
    return "".join(sorted(task.file.path for task in tasks))


FRAGMENTS = [
    Case(id="none", kind=FULL),
    Case(
        id="fragments up to their size, inclusive",
        kind=MINOR,
        base=(base("a", 49), base("b", 50), base("c", 51)),
        rewrite="ab",
    ),
    Case(
        id="fragments also by a major",
        kind=MAJOR,
        base=(base("a", 49), base("b", 50), base("c", 51)),
        rewrite="ab",
    ),
    Case(id="one alone is left", kind=MINOR, base=(base("a", FRAGMENT),)),
    Case(id="one alone is left by a major", kind=MAJOR, base=(base("a", FRAGMENT),)),
    Case(id="one alone is taken by a full", kind=FULL, base=(base("a", FRAGMENT),), rewrite="a"),
    Case(
        id="one alone is taken by a full that spares segments",
        kind=FULL,
        base=(base("a", FRAGMENT),),
        settings=SPARING,
        rewrite="a",
    ),
    Case(
        id="one with a position delete is not pointless",
        kind=MINOR,
        base=(base("a", FRAGMENT, P),),
        rewrite="a",
    ),
    Case(
        id="one that a change delete reaches is not pointless",
        kind=MINOR,
        base=(base("a", FRAGMENT),),
        killers=(killer(),),
        rewrite="a",
    ),
    Case(
        id="one in each of two nodes are pointless",
        kind=MINOR,
        base=(base("a", FRAGMENT), base("b", FRAGMENT, node=OTHER)),
    ),
    Case(
        id="two in one node, and one alone beside them",
        kind=MINOR,
        base=(base("a", FRAGMENT), base("b", FRAGMENT, node=OTHER), base("c", FRAGMENT)),
        rewrite="ac",
    ),
    Case(
        id="one of a node and one above it share keys",
        kind=MINOR,
        base=(base("a", FRAGMENT), base("b", FRAGMENT, node=UPPER)),
        rewrite="ab",
    ),
    Case(
        id="what lies above brings two nodes together",
        kind=MINOR,
        base=(
            base("a", FRAGMENT),
            base("b", FRAGMENT, node=COUSIN),
            base("c", FRAGMENT, node=UPPER),
        ),
        rewrite="abc",
    ),
    Case(
        id="nodes deeper than base are their ancestor",
        kind=MINOR,
        base=(base("a", FRAGMENT, node=DEEP), base("b", FRAGMENT, node=DEEP_OTHER)),
        rewrite="ab",
    ),
    Case(
        id="a segment does not make a fragment less alone",
        kind=MINOR,
        base=(base("a", FRAGMENT), base("b", SEGMENT)),
    ),
]
INSERTS = [
    Case(id="an insert alone is taken", kind=MINOR, inserts=(insert("i"),), rewrite="i"),
    Case(id="an insert alone by a major", kind=MAJOR, inserts=(insert("i"),), rewrite="i"),
    Case(id="an insert alone by a full", kind=FULL, inserts=(insert("i"),), rewrite="i"),
    Case(
        id="a fragment goes with the insert of its node",
        kind=MINOR,
        base=(base("a", FRAGMENT), base("b", FRAGMENT, node=OTHER)),
        inserts=(insert("i"),),
        rewrite="ai",
    ),
    Case(
        id="a segment does not go with an insert",
        kind=MINOR,
        base=(base("a", 51),),
        inserts=(insert("i"),),
        rewrite="i",
    ),
]
REACHED = [
    Case(
        id="a segment that is reached gets position deletes",
        kind=MINOR,
        base=(base("a", SEGMENT),),
        killers=(killer(),),
        mark="a",
    ),
    Case(
        id="also by a major",
        kind=MAJOR,
        base=(base("a", SEGMENT),),
        killers=(killer(),),
        mark="a",
    ),
    Case(
        id="a full rewrites it",
        kind=FULL,
        base=(base("a", SEGMENT),),
        killers=(killer(),),
        settings=SPARING,
        rewrite="a",
    ),
    Case(
        id="a delete of the base row's own transaction is too old",
        kind=MINOR,
        base=(base("a", SEGMENT, transaction=2), base("b", SEGMENT, transaction=1)),
        killers=(killer(transaction=2),),
        mark="b",
    ),
    Case(
        id="a delete of the least key beyond is of other keys",
        kind=MINOR,
        base=(base("a", SEGMENT),),
        killers=(killer(keys=(10, 19)),),
    ),
    Case(
        id="a delete of the last key reaches",
        kind=MINOR,
        base=(base("a", SEGMENT),),
        killers=(killer(keys=(9, 19)),),
        mark="a",
    ),
    Case(
        id="a second delete reaches where the first does not",
        kind=MINOR,
        base=(base("a", SEGMENT),),
        killers=(killer("k", keys=(10, 19)), killer("l", transaction=1), killer("m")),
        mark="a",
    ),
    Case(
        id="a delete of another node does not reach",
        kind=MINOR,
        base=(base("a", SEGMENT), base("b", SEGMENT, node=OTHER)),
        killers=(killer(node=OTHER),),
        mark="b",
    ),
    Case(
        id="a delete of a node above reaches",
        kind=MINOR,
        base=(base("a", SEGMENT), base("b", SEGMENT, node=OTHER)),
        killers=(killer(node=UPPER),),
        mark="a",
    ),
    Case(
        id="a delete of a node below reaches",
        kind=MINOR,
        base=(base("a", SEGMENT), base("b", SEGMENT, node=OTHER)),
        killers=(killer(node=DEEP),),
        mark="a",
    ),
]
MARKS = [
    Case(id="one position delete is no reason", kind=MINOR, base=(base("a", SEGMENT, P),)),
    Case(
        id="a second one is: they become one",
        kind=MINOR,
        base=(base("a", SEGMENT, P, Q), base("b", SEGMENT)),
        mark="a",
    ),
    Case(id="also by a major", kind=MAJOR, base=(base("a", SEGMENT, P, Q),), mark="a"),
    Case(
        id="what is rewritten is not marked",
        kind=MINOR,
        base=(base("a", FRAGMENT, P, Q),),
        killers=(killer(),),
        rewrite="a",
    ),
]
MAJORS = [
    Case(
        id="worn: more than a tenth of the rows deleted",
        kind=MAJOR,
        base=(
            base("a", SEGMENT, marks("x", 9)),
            base("b", SEGMENT, marks("y", 10), node=OTHER),
            base("c", SEGMENT, marks("z", 11), node=COUSIN),
        ),
        rewrite="c",
    ),
    Case(
        id="worn by two files together",
        kind=MAJOR,
        base=(base("a", SEGMENT, marks("x", 5), marks("y", 6)),),
        rewrite="a",
    ),
    Case(
        id="a minor only marks what is worn",
        kind=MINOR,
        base=(base("a", SEGMENT, marks("x", 5), marks("y", 6)),),
        mark="a",
    ),
    Case(
        id="joined: as much as the target together",
        kind=MAJOR,
        base=(base("a", 200), base("b", 200)),
        rewrite="ab",
    ),
    Case(
        id="not joined: one byte less than the target",
        kind=MAJOR,
        base=(base("a", 200), base("b", 199)),
    ),
    Case(
        id="not joined: no two fit into one file",
        kind=MAJOR,
        base=(base("a", 200), base("b", 201)),
    ),
    Case(
        id="joined: the two least of three fit, in any order",
        kind=MAJOR,
        base=(base("a", 300), base("b", 200), base("c", 200)),
        rewrite="abc",
    ),
    Case(
        id="not joined: the two least of three do not fit",
        kind=MAJOR,
        base=(base("a", 300), base("b", 200), base("c", 201)),
    ),
    Case(
        id="undersized up to its size, inclusive",
        kind=MAJOR,
        base=(base("a", 300), base("b", 100)),
        rewrite="ab",
    ),
    Case(
        id="one byte above is of the right size",
        kind=MAJOR,
        base=(base("a", 301), base("b", 99)),
    ),
    Case(
        id="not joined: one alone, however large an undersized one may be",
        kind=MAJOR,
        base=(base("a", 400),),
        settings=settings_of(min_target_size_ratio="1"),
    ),
    Case(
        id="a fragment is no undersized segment",
        kind=MAJOR,
        base=(base("a", FRAGMENT), base("b", 175), base("c", 175)),
    ),
    Case(
        id="one byte above a fragment is",
        kind=MAJOR,
        base=(base("a", FRAGMENT + 1), base("b", 175), base("c", 174)),
        rewrite="abc",
    ),
    Case(
        id="segments of two nodes are not joined",
        kind=MAJOR,
        base=(base("a", 200), base("b", 200, node=OTHER)),
    ),
    Case(
        id="segments deeper than base are joined",
        kind=MAJOR,
        base=(base("a", 200, node=DEEP), base("b", 200, node=DEEP_OTHER)),
        rewrite="ab",
    ),
    Case(
        id="each node for itself",
        kind=MAJOR,
        base=(
            base("a", 200),
            base("b", 200),
            base("c", 200, node=OTHER),
            base("d", 200, node=COUSIN),
            base("e", 200, node=COUSIN),
        ),
        rewrite="abde",
    ),
    Case(
        id="a minor joins nothing",
        kind=MINOR,
        base=(base("a", 200), base("b", 200)),
    ),
]
FULLS = [
    Case(
        id="everything, also one segment of the right size",
        kind=FULL,
        base=(base("a", SEGMENT), base("b", 10 * SEGMENT, node=OTHER)),
        rewrite="ab",
    ),
    Case(
        id="sparing: undersized ones only",
        kind=FULL,
        base=(base("a", 299), base("b", 300), base("c", 301)),
        settings=SPARING,
        rewrite="ab",
    ),
    Case(
        id="sparing: and those with a position delete",
        kind=FULL,
        base=(base("a", SEGMENT, P), base("b", SEGMENT)),
        settings=SPARING,
        rewrite="a",
    ),
    Case(
        id="sparing: and those that are reached",
        kind=FULL,
        base=(base("a", SEGMENT), base("b", SEGMENT, node=OTHER)),
        killers=(killer(),),
        settings=SPARING,
        rewrite="a",
    ),
]
SHARED = [
    Case(
        id="with a file that is rewritten",
        kind=MINOR,
        base=(base("a", FRAGMENT, P), base("b", SEGMENT, P), base("c", SEGMENT, Q)),
        rewrite="a",
        mark="b",
    ),
    Case(
        id="with a file that is marked",
        kind=MINOR,
        base=(base("a", SEGMENT, P), base("b", SEGMENT, P, Q), base("c", SEGMENT, R)),
        mark="ab",
    ),
    Case(
        id="with a file that is reached",
        kind=MINOR,
        base=(base("a", SEGMENT, P), base("b", SEGMENT, P, node=OTHER)),
        killers=(killer(),),
        mark="ab",
    ),
    Case(
        id="between files that are left alone",
        kind=MINOR,
        base=(base("a", SEGMENT, P), base("b", SEGMENT, P)),
    ),
    Case(
        id="a chain of three, from its end",
        kind=MINOR,
        base=(
            base("a", SEGMENT, R),
            base("b", SEGMENT, Q, R),
            base("c", SEGMENT, P, Q),
            base("d", FRAGMENT, P),
            base("e", SEGMENT, marks("s")),
        ),
        rewrite="d",
        mark="abc",
    ),
    Case(
        id="a chain of three, from its beginning",
        kind=MINOR,
        base=(
            base("a", FRAGMENT, P),
            base("b", SEGMENT, P, Q),
            base("c", SEGMENT, Q, R),
            base("d", SEGMENT, R),
        ),
        rewrite="a",
        mark="bcd",
    ),
    Case(
        id="worn beside one that is not",
        kind=MAJOR,
        base=(base("a", SEGMENT, P, marks("x", 11)), base("b", SEGMENT, P)),
        rewrite="a",
        mark="b",
    ),
]


def named(group: str, cases: list[Case]) -> list[object]:
    """Return the cases of one rule as parameters."""
    return [pytest.param(case, id=f"{group}: {case.id}") for case in cases]


@pytest.mark.parametrize(
    "case",
    [
        *named("fragments", FRAGMENTS),
        *named("inserts", INSERTS),
        *named("reached", REACHED),
        *named("several position deletes", MARKS),
        *named("major", MAJORS),
        *named("full", FULLS),
        *named("a shared position delete", SHARED),
    ],
)
def test_each_rule_takes_these_files_and_no_others(case: Case) -> None:
    """Alone, at its bound and one beside it."""
    found = chosen(case)

    assert (paths_of(found.rewrite), paths_of(found.mark)) == (case.rewrite, case.mark)


@pytest.mark.parametrize("case", named("a shared position delete", SHARED))
def test_what_is_removed_is_left_to_no_file(case: Case) -> None:
    """A position delete that goes takes none of a file that stays as it is; others stay."""
    plan = PartitionPlan(files=files_of(case), type=case.kind, selection=chosen(case), tasks=())
    worked_on = case.rewrite + case.mark
    gone = {d.path for t in case.base if t.file.path in worked_on for d in t.position_deletes}
    kept = {d.path for t in case.base if t.file.path not in worked_on for d in t.position_deletes}

    assert not gone & kept
    assert plan.removed_paths == gone.union(case.rewrite)


def test_without_a_key_nothing_is_reached() -> None:
    """A table without a change store has no key columns, and files are joined all the same."""
    case = Case(id="unkeyed", kind=MINOR, base=(base("a", FRAGMENT), base("b", FRAGMENT)))
    found = select(files_of(case), MINOR, settings=DEFAULTS, ranges=FileRanges(()))

    assert (paths_of(found.rewrite), paths_of(found.mark)) == ("ab", "")
