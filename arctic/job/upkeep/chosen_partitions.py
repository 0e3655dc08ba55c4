"""Which partitions of a table a run works on, and how."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.errors import InvalidInputError
from arctic.job.upkeep.survey import Survey, partition_status
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.settings import OptimizeType


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPartition:
    """A partition that is worked on."""

    files: PartitionFiles
    type: OptimizeType
    reason: str


def optimize_type(name: str | None) -> OptimizeType | None:
    """Read the name of a type; None: what is due in each partition.

    Raises:
        InvalidInputError: there is no such type.
    """
    if name is None:
        return None
    try:
        return OptimizeType(name.strip().lower())
    except (ValueError, AttributeError):
        known = ", ".join(each.value for each in OptimizeType)
        raise InvalidInputError(
            f"optimize type {name!r}; expected one of {known}, or none for what is due"
        ) from None


def chosen_partitions(survey: Survey, kind: OptimizeType | None) -> list[ChosenPartition]:
    """Return the partitions that a run works on.

    Args:
        survey: the table.
        kind: of every partition; None: what is due in each.
    """
    if kind is not None:
        return [
            ChosenPartition(files=files, type=kind, reason="asked for")
            for files in survey.partitions
        ]
    verdicts = [(files, partition_status(files, survey).verdict) for files in survey.partitions]
    return [
        ChosenPartition(files=files, type=verdict.type, reason=verdict.reason)
        for files, verdict in verdicts
        if verdict.type is not None
    ]
