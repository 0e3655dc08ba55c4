"""What a read opens, applies and leaves out."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.scan.read_summary import ReadSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """One file that a task opens."""

    kind: str
    name: str
    size_bytes: int
    rows: int
    position_deletes: int = 0
    """Files of them that apply to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """What is read of one node."""

    partition: str
    node_id: int
    part: str
    """``2 of 3`` where the node is divided, else empty."""
    cost_bytes: int
    data: tuple[ReadFile, ...]
    deletes: tuple[ReadFile, ...]
    """Change deletes whose keys are looked up."""
    unlisted: int
    """Files beyond those that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadGroup:
    """What one task of the engine reads."""

    number: int
    cost_bytes: int
    tasks: tuple[ReadTask, ...]
    unlisted: int
    """Tasks beyond those that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFacts:
    """The plan of one read."""

    summary: ReadSummary
    unopened_manifests: int
    """Lists of files of partitions that the filter excludes."""
    detached_pairs: int
    """Pairs of a task and a change delete of its keys' node that can touch no row of it."""
    groups: tuple[ReadGroup, ...]
    unlisted: int
    """Groups beyond those that are listed."""
    text: str
    """The same as ``arctic explain`` prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRead:
    """The read that a reader told a service of last."""

    at_ms: int
    summary: ReadSummary
