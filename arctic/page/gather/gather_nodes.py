"""The nodes of a table, and how long each has waited to be merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from arctic.page.facts.table_facts import NodeFacts

_UNMERGED = ("I", "ED")


def gather_nodes(
    files: Iterable[Mapping[str, Any]],
    commits: Mapping[int, int],
    reasons: Mapping[str, Callable[[int], str]],
) -> list[NodeFacts]:
    """Return the nodes that hold files, by partition and number.

    Args:
        files: rows of the metadata table ``files``.
        commits: sequence number of a change commit -> when it was made, as far as that is known.
        reasons: partition -> what says why a node of it is as deep as it is; of those that change.
    """
    held: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for file in files:
        if not file["merged"]:
            held[file["partition"], file["node_id"]].append(file)
    return [
        _node(
            partition,
            number,
            held[partition, number],
            commits,
            reasons[partition](number) if partition in reasons else "",
        )
        for partition, number in sorted(held)
    ]


def unmerged_sequences(files: Iterable[Mapping[str, Any]]) -> set[int]:
    """Return the sequence numbers of the change files that base does not hold."""
    return {
        file["sequence_number"]
        for file in files
        if file["kind"] in _UNMERGED and not file["merged"]
    }


def _node(
    partition: str,
    number: int,
    files: list[Mapping[str, Any]],
    commits: Mapping[int, int],
    why: str,
) -> NodeFacts:
    base = [file["size_bytes"] for file in files if file["kind"] == "B"]
    unmerged = [file["size_bytes"] for file in files if file["kind"] in _UNMERGED]
    times = [commits.get(sequence) for sequence in unmerged_sequences(files)]
    # One that is not known is older than every snapshot that is kept.
    known = [at_ms for at_ms in times if at_ms is not None]
    return NodeFacts(
        partition=partition,
        node_id=number,
        base_files=len(base),
        base_bytes=sum(base),
        position_deletes=sum(file["kind"] == "PD" for file in files),
        unmerged_files=len(unmerged),
        unmerged_bytes=sum(unmerged),
        unmerged_since_ms=min(known) if known and len(known) == len(times) else None,
        why=why,
    )
