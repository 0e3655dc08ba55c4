"""The numbers that a table goes by, and where each is from: a property, a default, a measure.

Rules:
    - Nothing is told that the code does not do: a number that nobody measures is said to be fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arctic import options as opt
from arctic.optimizing.settings import OptimizeSettings
from arctic.optimizing.sizing_choices import SizingChoice, sizing_choices
from arctic.page.facts.table_facts import NodeFacts, Setting
from arctic.scan.explain import counted, size_text
from arctic.table.expiry import duration_text
from arctic.table.node_trees import NodeTrees


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What the numbers of a table follow from in one partition."""

    nodes: int
    """That new base files have."""
    minor_files: int
    """Small files and deletes that make a minor due."""


def _milliseconds(value: int | None) -> str:
    return "never" if value is None else duration_text(value)


def _minutes(value: int) -> str:
    return counted(value, "minute")


_SHOWN: Sequence[tuple[opt.Option[Any], Callable[[Any], str]]] = (
    (opt.BASE_BUCKETS, str),
    (opt.CHANGE_BUCKETS, str),
    (opt.OPTIMIZE_TARGET_SIZE, size_text),
    (opt.MAX_TASK_SIZE, size_text),
    (opt.MINOR_FILE_COUNT, str),
    (opt.MINOR_INTERVAL, _milliseconds),
    (opt.DUPLICATE_RATIO, str),
    (opt.FULL_INTERVAL, _milliseconds),
    (opt.MIN_PLAN_INTERVAL, _milliseconds),
    (opt.TARGET_SIZE, size_text),
    (opt.OPEN_FILE_COST, size_text),
    (opt.CHANGE_TTL_MINUTES, _minutes),
    (opt.SNAPSHOT_KEEP_MS, _milliseconds),
    (opt.ORPHAN_AGE_MINUTES, _minutes),
)


def gather_settings(
    properties: Mapping[str, str],
    settings: OptimizeSettings,
    nodes: Sequence[NodeFacts],
    partitions: Sequence[PartitionFacts],
    *,
    is_keyed: bool,
) -> tuple[Setting, ...]:
    """Return what is in force for a table.

    Args:
        properties: of the table.
        settings: of optimizing it.
        nodes: that hold files.
        partitions: of the table.
        is_keyed: whether it has a primary key.
    """
    chosen = {each.name: _chosen(each) for each in sizing_choices(properties)}
    if NodeTrees.of(properties, is_keyed=is_keyed).grow:
        chosen[opt.BASE_BUCKETS.name] = _grown(settings, partitions)
    return (
        *(chosen.get(option.name) or _set(option, text, properties) for option, text in _SHOWN),
        *_derived(settings, partitions, is_keyed=is_keyed),
        *_measured(properties, nodes),
    )


def _set(
    option: opt.Option[Any], text: Callable[[Any], str], properties: Mapping[str, str]
) -> Setting:
    given = {name.lower() for name in properties}
    is_given = any(name.lower() in given for name in option.names)
    return Setting(
        name=option.name,
        value=text(option.value({}, properties)),
        source="property of the table" if is_given else "default, the same for every table",
        why=option.doc,
    )


def _chosen(choice: SizingChoice) -> Setting:
    return Setting(name=choice.name, value=choice.value, source=choice.source, why=choice.why)


def _grown(settings: OptimizeSettings, partitions: Sequence[PartitionFacts]) -> Setting:
    least = settings.base_buckets
    counts = [each.nodes for each in partitions] or [least]
    return Setting(
        name=opt.BASE_BUCKETS.name,
        value=f"{_range(counts)} in {counted(len(partitions), 'partition')}"
        if partitions
        else str(least),
        source="measured: what base of each partition holds, and what is not merged",
        why=f"New base files have so many nodes: {least} at least, and more where one would be "
        "more than a task should go over. Optimizing, above, says why of each partition.",
    )


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _derived(
    settings: OptimizeSettings, partitions: Sequence[PartitionFacts], *, is_keyed: bool
) -> Iterator[Setting]:
    yield Setting(
        name="fragment",
        value=f"up to {size_text(settings.fragment_bytes)}",
        source="follows from target size and fragment ratio",
        why="A base file of this size counts as small.",
    )
    yield Setting(
        name="undersized segment",
        value=f"up to {size_text(settings.min_target_bytes)}",
        source="follows from target size and its least ratio",
        why="Such files are joined where they fill one of the target size.",
    )
    at_rest = settings.base_buckets if is_keyed else 1
    least = [each.minor_files for each in partitions]
    yield Setting(
        name="files that make a minor due",
        value=_range(least or [max(at_rest + 1, settings.minor_file_count)]),
        source="follows from the number of nodes and the trigger",
        why="More than a partition has at rest, one for each of its nodes.",
    )


def _measured(properties: Mapping[str, str], nodes: Sequence[NodeFacts]) -> Iterator[Setting]:
    parallelism = opt.PARALLELISM.value({}, properties)
    yield Setting(
        name=opt.PARALLELISM.name,
        value=str(parallelism or opt.default_parallelism()),
        source="property of the table" if parallelism else "measured: the cores of this machine",
        why=opt.PARALLELISM.doc,
    )
    partitions = {node.partition for node in nodes}
    yield Setting(
        name="nodes that hold files",
        value=f"{counted(len(nodes), 'node')} in {counted(len(partitions), 'partition')}",
        source="measured: the files of the table",
        why=f"How many nodes new files have is {opt.BASE_BUCKETS.name}, at the top.",
    )
