"""Facts of tables that nobody has, with whatever names and numbers a test wants."""

from __future__ import annotations

from arctic.optimizing.planning.evaluate import LastTimes, Verdict
from arctic.optimizing.planning.health import FileCounts, PartitionHealth
from arctic.optimizing.report import PartitionStatus, TableStatus
from arctic.optimizing.settings import OptimizeType
from arctic.page.facts.lake_facts import (
    IN_NO_SERVICE,
    BrokenTable,
    GroupSlots,
    LakeFacts,
    StateFacts,
    TableRow,
)
from arctic.page.facts.read_facts import (
    LastRead,
    ReadFacts,
    ReadFile,
    ReadGroup,
    ReadTask,
)
from arctic.page.facts.table_facts import (
    Choice,
    CommitFacts,
    Freshness,
    NodeFacts,
    Process,
    Run,
    Setting,
    TableFacts,
)
from arctic.scan.read_summary import LeftOut, OpenedKind, ReadSummary
from arctic.service.watching.group_view import (
    GroupQueue,
    GroupView,
    RunningTable,
    SlotTask,
    WaitingTable,
)
from arctic.table.expire_report import ExpiredItem, ExpiredKind, ExpireReport
from arctic.table.table_description import Column, SchemaVersion

NOW_MS = 1_790_000_000_000
MIB = 2**20
_NOTHING = FileCounts(files=0, rows=0, bytes=0)


def node(number: int, *, partition: str = "", base: int = MIB, unmerged: int = 0) -> NodeFacts:
    """Return a node."""
    return NodeFacts(
        partition=partition,
        node_id=number,
        base_files=1 if base else 0,
        base_bytes=base,
        position_deletes=0,
        unmerged_files=2 if unmerged else 0,
        unmerged_bytes=unmerged,
        unmerged_since_ms=NOW_MS - 90_000 if unmerged else None,
        why=f"holds {base} B of at most {4 * base} B; more divides it",
    )


def commit(number: int, *, store: str = "change", optimized: str | None = None) -> CommitFacts:
    """Return a commit of the minute ``number``."""
    return CommitFacts(
        store=store,
        at_ms=NOW_MS - 3_600_000 + 60_000 * number,
        snapshot_id=number,
        operation="append",
        added_rows=100 * number,
        data_files=number,
        delete_files=number // 2,
        optimized=optimized,
    )


def status(name: str, *partitions: str, reason: str = "14 fragments >= 12") -> TableStatus:
    """Return a status with a minor due in each partition."""
    small = FileCounts(files=3, rows=30, bytes=MIB)
    return TableStatus(
        table=name,
        partitions=tuple(
            PartitionStatus(
                partition=each,
                health=PartitionHealth(
                    partition=(each,),
                    fragments=small,
                    segments=_NOTHING,
                    undersized=_NOTHING,
                    inserts=small,
                    change_deletes=_NOTHING,
                    position_deletes=_NOTHING,
                    surplus_position_deletes=0,
                    fragment_nodes=0,
                    least_nodes=4,
                    joinable_nodes=0,
                    overlapping=0,
                    worn_segments=0,
                    read_cost_bytes=4 * MIB,
                    ideal_cost_bytes=2 * MIB,
                ),
                verdict=Verdict(type=OptimizeType.MINOR, reason=reason),
                merged_up_to=3,
                times=LastTimes(any_ms=None, full_ms=None, first_ms=0),
                nodes="4 nodes",
            )
            for each in partitions
        ),
    )


def hostile(text: str) -> TableFacts:
    """Return a table where a text stands wherever a text can."""
    column = Column(field_id=1, name=text, type=text, required=False, doc=text)
    old = Column(field_id=1, name=f"old {text}", type="int", required=True, doc=None)
    file = ReadFile(kind=text, name=text, size_bytes=10, rows=1, position_deletes=1)
    task = ReadTask(
        partition=text,
        node_id=4,
        part=text,
        cost_bytes=10,
        data=(file,),
        deletes=(file,),
        unlisted=1,
    )
    item = ExpiredItem(store=text, kind=ExpiredKind.ORPHAN, name=text, size_bytes=None, reason=text)
    summary = ReadSummary(
        row_filter=text,
        considered_files=4,
        opened=(OpenedKind(kind=text, files=2, rows=2, size_bytes=20),),
        left_out=(LeftOut(files=2, reason=text),),
    )
    return TableFacts(
        name=text,
        at_ms=NOW_MS,
        primary_key=(text,),
        partition_by=(text,),
        status=status(text, text, f"2{text}", reason=text),
        group=text,
        quota=0.5,
        nodes=(node(4, partition=text), node(5, partition=text, unmerged=MIB)),
        freshness=Freshness(
            view_ms=NOW_MS - 1_000,
            base_ms=NOW_MS - 90_000,
            unmerged_commits=2,
            merged_ms=None,
            table_watermark_ms=NOW_MS - 86_400_000,
            base_watermark_ms=None,
            writers=((text, NOW_MS),),
        ),
        commits=(commit(1), commit(2, store="base", optimized=text), commit(3)),
        read=ReadFacts(
            summary=summary,
            unopened_manifests=1,
            detached_pairs=2,
            groups=(ReadGroup(number=0, cost_bytes=10, tasks=(task,), unlisted=1),),
            unlisted=1,
            text=text,
        ),
        choices=(
            Choice(
                type=text,
                is_due=True,
                partitions=1,
                tasks=2,
                rewritten_files=3,
                marked_files=1,
                moved_bytes=MIB,
                seconds=0.6,
                saved_ms=12.5,
            ),
        ),
        runs=(Run(at_ms=NOW_MS, types=text, files_removed=4, files_added=1, bytes_added=MIB),),
        schemas=(
            SchemaVersion(number=0, since_ms=None, is_current=False, columns=(old,)),
            SchemaVersion(number=1, since_ms=NOW_MS, is_current=True, columns=(column,)),
        ),
        settings=(Setting(name=text, value=text, source=text, why=text),),
        last_read=LastRead(at_ms=NOW_MS - 1_000, summary=summary),
        processes=(
            Process(
                at_ms=NOW_MS,
                kind=text,
                type=text,
                status=text,
                files_before=9,
                files_after=2,
                predicted_seconds=0.5,
                seconds=None,
                why=text,
            ),
        ),
        cleaning=ExpireReport(table=text, items=(item,), notes=(text,), seconds=0.1, dry_run=True),
    )


def row(
    name: str,
    *,
    score: int | None = 80,
    due: str | None = None,
    group: str = "default",
    state: StateFacts = IN_NO_SERVICE,
) -> TableRow:
    """Return a row of the overview."""
    return TableRow(
        name=name,
        score=score,
        due=due,
        reason="nothing due: no fragments, no unmerged changes",
        files=12,
        stored_bytes=64 * MIB,
        unmerged_bytes=MIB,
        partitions=1,
        group=group,
        work_ms=600 if due else 0,
        state=state,
    )


def lake(*rows: TableRow, broken: tuple[str, ...] = (), slots: bool = False) -> LakeFacts:
    """Return a catalog."""
    return LakeFacts(
        place="/lake",
        at_ms=NOW_MS,
        tables=rows,
        broken=tuple(BrokenTable(name=name, why=f"half of it is gone: {name}") for name in broken),
        slots=(
            GroupSlots(
                name="default", slots=4, busy=3, waiting=2, longest_wait_ms=90_000, stretched=2.5
            ),
        )
        if slots
        else (),
    )


def hostile_queue(text: str) -> GroupQueue:
    """Return a group and its queue with a text wherever one can stand."""
    return GroupQueue(
        group=GroupView(
            name=text,
            slots=2,
            busy_slots=1,
            executor=text,
            tables=3,
            running=1,
            pending=1,
            longest_wait_ms=90_000,
            stretched=2.5,
        ),
        running=(RunningTable(table=text, doing=text),),
        slots=(SlotTask(executor=text, table=text, task=1, since_ms=NOW_MS - 1_000),),
        waiting=(
            WaitingTable(
                table=text, type=text, waits_ms=90_000, work_ms=1_000, process_id=1, is_put_off=True
            ),
        ),
    )
