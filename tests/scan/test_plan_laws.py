from __future__ import annotations

import pickle
import random
from collections import Counter
from dataclasses import replace
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.scan.assemble import assemble
from arctic.scan.choose.key_filter import ANY_KEY
from arctic.scan.choose.plan_files import plan_files
from arctic.scan.divide.split import split_tasks
from arctic.scan.explain import explain_plan
from arctic.scan.plan_scan import plan_scan
from arctic.scan.reach import FileRanges
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.task import ScanOptions
from arctic.table.filename import has_format_name
from arctic.table.files import FileKind, TableFile
from arctic.table.filters.predicate import Predicate, may_match
from arctic.table.merge_engine import MergeEngine
from tests.scan.lake import KEY_IDS, Lake, all_options, filters, lakes, matches, tasks_of


@given(lakes(), all_options(), filters())
def test_each_data_file_is_in_exactly_one_task(
    lake: Lake, options: ScanOptions, row_filter: Predicate | None
) -> None:
    """Unmerged and base files, but those that the filter excludes by bounds or by node."""
    tasks = tasks_of(lake.plan(options, row_filter))
    planned = [part.file.path for task in tasks for part in task.data]
    wanted = {
        f.path for f in lake.data if any(matches(row_filter, row) for row in lake.rows[f.path])
    }
    allowed = {f.path for f in lake.data if may_match(row_filter, f.bounds, f.record_count)}

    assert len(set(planned)) == len(planned)
    assert wanted <= set(planned) <= allowed
    assert row_filter is not None or allowed == set(planned)
    for task in tasks:
        places = {(part.file.partition, part.file.node) for part in task.data}
        assert {(task.partition, task.node)} == places


@given(lakes(), all_options(), filters())
def test_each_delete_reaches_every_task_whose_rows_it_kills(
    lake: Lake, options: ScanOptions, row_filter: Predicate | None
) -> None:
    """Row against row: a delete that is missing would bring a dead row back that is wanted."""
    for task in tasks_of(lake.plan(options, row_filter)):
        attached = {delete.path for delete in task.change_deletes}
        for part in task.data:
            for row in filter(partial(matches, row_filter), lake.rows[part.file.path]):
                assert {delete.path for delete in lake.killers(part.file, row)} <= attached


@given(lakes(), all_options())
def test_a_plan_reads_the_merged_view(lake: Lake, options: ScanOptions) -> None:
    """However the work is divided, each row that is alive comes out once, and no other."""
    assert lake.truth() == lake.read(tasks_of(lake.plan(options)))


@given(lakes(), all_options(), filters())
def test_a_filter_takes_away_rows_that_do_not_match_only(
    lake: Lake, options: ScanOptions, row_filter: Predicate | None
) -> None:
    """Files that are left out hold no row that is wanted, and bring none back to life."""
    read = lake.read(tasks_of(lake.plan(options, row_filter)))

    def wanted(rows: list[tuple[str, int]]) -> list[tuple[str, int]]:
        return [row for row in rows if matches(row_filter, lake.rows[row[0]][row[1]])]

    assert wanted(lake.truth()) == wanted(read)


@given(lakes(), all_options())
def test_clean_files_need_no_merge(lake: Lake, options: ScanOptions) -> None:
    """What is set apart has no delete that could touch it, and nothing is read twice."""
    plan = lake.plan(options, set_apart=SetApart.CLEAN)
    clean = [task for group in plan.clean_groups for task in group.tasks]

    assert lake.read([*tasks_of(plan), *clean]) == lake.truth()
    for part in (part for task in clean for part in task.data):
        assert has_format_name(part.file.path)
        assert not part.position_deletes
        assert not any(lake.killers(part.file, row) for row in lake.rows[part.file.path])


@given(lakes(), all_options())
def test_dirty_files_come_with_the_deletes_that_touch_them(
    lake: Lake, options: ScanOptions
) -> None:
    """Every file is in one part; of a dirty one, each row that dies has its killers at hand."""
    plan = lake.plan(options, set_apart=SetApart.CLEAN_AND_DIRTY)
    clean = [task for group in plan.clean_groups for task in group.tasks]
    merged_again = [task for group in plan.dirty_groups for task in group.tasks]

    assert lake.read([*tasks_of(plan), *clean, *plan.dirty_tasks]) == lake.truth()
    assert lake.read([*tasks_of(plan), *clean, *merged_again]) == lake.truth()
    assert all(has_format_name(part.file.path) for task in plan.dirty_tasks for part in task.data)
    for task in plan.dirty_tasks:
        assert task.change_deletes or all(part.position_deletes for part in task.data)


@given(lakes(), all_options())
def test_files_of_others_are_set_apart_like_those_of_ours(lake: Lake, options: ScanOptions) -> None:
    """Where the caller takes them: no row changes, and all are clean that are without them."""
    plan = lake.plan(options, set_apart=SetApart.CLEAN_AND_DIRTY, takes_others=True)
    clean = [task for group in plan.clean_groups for task in group.tasks]

    assert lake.read([*tasks_of(plan), *clean, *plan.dirty_tasks]) == lake.truth()
    for part in (part for task in clean for part in task.data):
        assert not any(lake.killers(part.file, row) for row in lake.rows[part.file.path])
    ours = lake.plan(options, set_apart=SetApart.CLEAN_AND_DIRTY)
    of_ours = {
        part.file for group in ours.clean_groups for task in group.tasks for part in task.data
    }
    assert of_ours <= {part.file for task in clean for part in task.data}


@given(lakes(), all_options())
def test_few_dirty_rows_are_merged(lake: Lake, options: ScanOptions) -> None:
    """The threshold counts the rows of files with deletes, and no others."""
    plan = lake.plan(options, set_apart=SetApart.CLEAN_AND_DIRTY)
    dirty = [part.file for task in plan.dirty_tasks for part in task.data]
    rows = sum(file.record_count for file in dirty)

    for least, is_apart in ((max(rows, 1), rows > 0), (rows + 1, False)):
        other = lake.plan(
            replace(options, vector_min_rows=least), set_apart=SetApart.CLEAN_AND_DIRTY
        )
        merged = {part.file for task in tasks_of(other) for part in task.data}
        assert bool(other.dirty_tasks) == is_apart
        assert bool(merged.intersection(dirty)) == (rows > 0 and not is_apart)
        assert not any(has_format_name(file.path) for file in merged.difference(dirty))


@given(lakes(), all_options())
def test_splitting_and_packing_change_no_row(lake: Lake, options: ScanOptions) -> None:
    """Each step of planning yields the same rows as the one before."""
    files, _ = plan_files(
        base=lake.base,
        position_deletes=lake.position_deletes,
        change=lake.change,
        snapshot=lake.snapshot,
        row_filter=None,
        key_filter=ANY_KEY,
    )
    ranges = FileRanges(KEY_IDS)
    nodes, _ = assemble(files, ranges=ranges, open_file_cost_bytes=options.open_file_cost_bytes)
    parts = split_tasks(nodes, options=options, ranges=ranges)

    assert lake.truth() == lake.read(nodes) == lake.read(parts)
    assert lake.read(parts) == lake.read(tasks_of(lake.plan(options)))


@given(lakes(), all_options(), st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(
    lake: Lake, options: ScanOptions, shuffle: random.Random
) -> None:
    """Same files, same plan, same text; a file that is listed twice is read once."""

    def shuffled(files: tuple[TableFile, ...]) -> tuple[TableFile, ...]:
        return tuple(shuffle.sample(files, len(files)))

    other = replace(
        lake,
        base=shuffled(lake.base),
        position_deletes=shuffled(lake.position_deletes),
        change=shuffled(lake.change),
    )
    twice = replace(lake, base=lake.base * 2, change=lake.change * 2)
    plan = lake.plan(options)

    assert plan == other.plan(options)
    assert explain_plan(plan, verbose=True) == explain_plan(other.plan(options), verbose=True)
    assert plan.groups == twice.plan(options).groups


@given(lakes(), all_options())
def test_nothing_is_lost_between_listing_and_reading(lake: Lake, options: ScanOptions) -> None:
    """Files that are read and files that are left out, by reason, are all files."""
    plan = lake.plan(options)
    read = {
        file.path
        for task in tasks_of(plan)
        for part in task.data
        for file in (part.file, *part.position_deletes, *task.change_deletes)
    }

    assert plan.considered_files == len(read) + plan.pruned.files
    assert plan.considered_files == len(lake.base + lake.position_deletes + lake.change)


@given(lakes(), all_options())
def test_groups_are_few_and_complete(lake: Lake, options: ScanOptions) -> None:
    """Heaviest first; one task for each node of a group; parts of a node are numbered."""
    plan = lake.plan(options)
    tasks = tasks_of(plan)
    parts = Counter((task.partition, task.node) for task in tasks)
    numbers = sorted(
        ((task.partition[0] or "", task.node), task.part_number, task.part_count) for task in tasks
    )

    assert len(plan.groups) <= min(options.max_groups, len(lake.data))
    assert sorted(plan.groups, key=lambda g: -g.cost_bytes) == list(plan.groups)
    for group in plan.groups:
        assert len({(task.partition, task.node) for task in group.tasks}) == len(group.tasks)
    assert numbers == sorted(
        ((partition[0] or "", node), number, count)
        for (partition, node), count in parts.items()
        for number in range(1, count + 1)
    )


@given(lakes(), all_options())
def test_what_executors_get_is_small(lake: Lake, options: ScanOptions) -> None:
    """No bounds; and a file that tasks share is pickled once."""
    for group in lake.plan(options).groups:
        arrived = pickle.loads(pickle.dumps(group))
        files = [
            file
            for task in arrived.tasks
            for part in task.data
            for file in (part.file, *part.position_deletes, *task.change_deletes)
        ]
        paths = {file.path for file in files}

        assert all(not file.bounds for file in files)
        assert len({id(file) for file in files}) == len(paths)
        assert group == arrived


@given(lakes(), all_options(), filters())
def test_a_look_at_one_store_reads_its_rows_as_they_are(
    lake: Lake, options: ScanOptions, row_filter: Predicate | None
) -> None:
    """Base with its position deletes; change with deletes as rows, merged or not."""
    for alone in (lake.files.of_base(), lake.files.of_change()):
        plan = plan_scan(
            ScanInput(
                table_name="db.t",
                is_merged_view=False,
                files=alone,
                snapshot=lake.snapshot,
                key=(),
                ordering=(),
                engine=MergeEngine.LAST_ROW,
                row_filter=row_filter,
                options=options,
                set_apart=SetApart.NOTHING,
                takes_others=False,
                nodes=None,
            )
        )
        files = alone.base

        assert lake.read(tasks_of(plan)) == sorted(
            (file.path, position)
            for file in files
            if may_match(row_filter, file.bounds, file.record_count)
            for position in range(len(lake.rows[file.path]))
            if not lake.is_deleted_by_position(file, position)
        )
        assert not any(task.change_deletes for task in tasks_of(plan))


def test_random_tables_are_worth_reading() -> None:
    """The laws above would be empty if rows never died, or nodes were never split."""
    seen: Counter[str] = Counter()

    # Of so many; a profile with fewer would count less.
    @settings(max_examples=max(100, settings().max_examples))
    @given(lakes(), all_options())
    def collect(lake: Lake, options: ScanOptions) -> None:
        plan = lake.plan(options)
        tasks = tasks_of(plan)
        seen["split"] += any(task.part_count > 1 for task in tasks)
        seen["several groups"] += len(plan.groups) > 1
        seen["by key range"] += plan.pruned.pairs_by_key_range > 0
        seen["by lsn"] += plan.pruned.pairs_by_lsn > 0
        seen["merged"] += plan.pruned.merged > 0
        seen["idle deletes"] += plan.pruned.idle_change_deletes > 0
        seen["idle positions"] += plan.pruned.idle_position_deletes > 0
        alive = set(lake.truth())
        for file in lake.data:
            for position, row in enumerate(lake.rows[file.path]):
                seen["alive"] += (file.path, position) in alive
                seen["dead by position"] += lake.is_deleted_by_position(file, position)
                for delete in lake.killers(file, row):
                    kind = "base" if file.kind is FileKind.BASE else "insert"
                    seen[f"dead {kind}"] += 1
                    seen["dead from above"] += file.node.mask > delete.node.mask
                    seen["dead from below"] += file.node.mask < delete.node.mask
                    seen["dead in one transaction"] += delete.transaction_id == file.transaction_id

    collect()

    assert {name: count for name, count in seen.items() if count < 5} == {}
    assert len(seen) == 14
