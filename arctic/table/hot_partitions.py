"""Partitions that hold more than their share of a stream, and how many tasks each of them gets.

A partition that is a tenth of the rows should be a tenth of the work: one task out of ten, or ten
out of a hundred. What share each has is learnt from the batches before.

Rules:
    - A key still has one task: a keyed partition is divided by tree nodes, deeper ones if need be.
    - All hot partitions together are divided into less than four times the tasks of the write, or
      into what they would be anyway, so files of a commit stay bounded.

Must not know: rows, Spark.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.errors import InvalidInputError

_KEPT = 64
_LEAST_SHARE = 0.005
_NEWEST_WEIGHT = 0.5
_MATTERS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionShares:
    """What part of the rows the largest partitions had lately."""

    shares: Mapping[str, float] = field(default_factory=dict)
    """By partition path, above 0 and together at most 1; small ones are left out."""

    def after(self, rows: Mapping[str, int]) -> PartitionShares:
        """Return the shares once a batch has been seen; an old one counts half as much.

        Args:
            rows: of each partition of the batch, by path.

        >>> PartitionShares().after({"day=1": 30, "day=2": 10}).shares
        {'day=1': 0.75, 'day=2': 0.25}
        """
        total = sum(rows.values())
        if not total:
            return self
        weight = _NEWEST_WEIGHT if self.shares else 1.0
        mixed = {
            path: (1 - weight) * self.shares.get(path, 0.0) + weight * rows.get(path, 0) / total
            for path in {**self.shares, **rows}
        }
        largest = sorted(mixed, key=lambda path: (-mixed[path], path))[:_KEPT]
        return PartitionShares(
            shares={path: mixed[path] for path in largest if mixed[path] >= _LEAST_SHARE}
        )

    def differs_from(self, other: PartitionShares) -> bool:
        """Say whether a share differs by more than 0.02: less hardly moves a task."""
        return any(
            abs(self.shares.get(path, 0.0) - other.shares.get(path, 0.0)) > _MATTERS
            for path in {**self.shares, **other.shares}
        )

    def text(self) -> str:
        """Return them as JSON."""
        return json.dumps({path: round(share, 4) for path, share in self.shares.items()})

    @classmethod
    def parse(cls, text: str) -> PartitionShares:
        """Read what ``text`` returned.

        Raises:
            InvalidInputError: another text.
        """
        try:
            shares = {str(path): float(share) for path, share in json.loads(text).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"partition shares {text!r}: expected a JSON object") from error
        if not all(0 < share <= 1 for share in shares.values()):
            raise InvalidInputError(f"partition shares {text!r}: expected numbers from 0 to 1")
        return cls(shares=shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition:
    """A partition that several tasks write."""

    path: str
    parts: int
    """What its rows are divided into: tree nodes where there is a key, a power of two then."""
    first_task: int
    """Its parts go to this task and those that follow, around to the first again."""


def hot_partitions(
    shares: PartitionShares, *, task_count: int, nodes: int | None, deepens: bool
) -> tuple[HotPartition, ...]:
    """Return the partitions that are worth more than a task each, the hottest first.

    Args:
        shares: what was learnt.
        task_count: tasks of the write.
        nodes: into which a keyed partition is divided anyway; None: no key, rows go anywhere.
        deepens: whether a keyed partition may be divided into more.

    >>> shares = PartitionShares(shares={"type=a": 0.5, "type=b": 0.1})
    >>> [(hot.path, hot.parts) for hot in hot_partitions(
    ...     shares, task_count=8, nodes=None, deepens=False)]
    [('type=a', 4)]
    """
    found: list[HotPartition] = []
    first = 0
    for path, share in sorted(shares.shares.items(), key=lambda item: (-item[1], item[0])):
        worth = share * task_count
        if worth <= 1:
            break
        parts = min(math.ceil(worth), task_count)
        if nodes is not None:
            # The next power of two is less than twice as many.
            parts = max(nodes, 1 << (parts - 1).bit_length()) if deepens else nodes
        found.append(HotPartition(path=path, parts=parts, first_task=first % task_count))
        first += parts
    return tuple(found)
