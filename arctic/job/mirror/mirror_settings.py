"""What a mirror is told, and what it reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from arctic.errors import InvalidInputError
from arctic.job.reference import TableReference, table_reference
from arctic.table.streams.watermark import check_writer

QUARANTINE_NAME = "cdc_quarantine"
"""The table of broken events, in the namespace of the mirrors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorReport:
    """What one run of a mirror did."""

    batches: int
    events: int
    """Changes of rows, those that a table held already included."""
    quarantined: int
    place: int
    """Where of the source's log everything is mirrored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """What is mirrored to where."""

    dsn: str
    tables: Sequence[str]
    """``schema.table``, or ``schema.table:name`` where the mirror is to have another name."""
    namespace: str
    place: Mapping[str, str]
    """Catalog options."""
    slot: str
    max_changes: int
    """Messages of one batch, about; a transaction is never cut."""
    database: str = "postgres"
    """The kind of source: ``postgres`` or ``mysql``."""
    partition_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """``schema.table`` -> partition fields of its mirror, when that is created."""
    watermark: bool = False
    """Whether the tables are told up to which time of the source they are complete."""

    @property
    def watermark_writer(self) -> str | None:
        """Who tells the watermark; None: nobody.

        Raises:
            InvalidInputError: a slot whose name a table property could not carry.
        """
        return check_writer(f"cdc.{self.slot}") if self.watermark else None

    def reference(self, table: str) -> TableReference:
        """Return a table of the mirror."""
        return table_reference({**self.place, "path": f"{self.namespace}.{table}"})


def target_of(text: str) -> tuple[str, str]:
    """Return the table that is named, and the name of its mirror."""
    table, colon, name = text.partition(":")
    return table, name if colon else table.rpartition(".")[2]


def names_of(asked: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the name of the mirror of each source.

    Args:
        asked: sources, each with the name of its mirror.

    Raises:
        InvalidInputError: two mirrors of one name or of one source, which it names.
    """
    names: dict[str, str] = {}
    for source, name in asked:
        if names.setdefault(source, name) != name:
            raise InvalidInputError(
                f"table {source} would be mirrored as {names[source]!r} and as {name!r}; name it "
                "once, or mirror it twice, each time with a slot of its own"
            )
    taken = [name.lower() for name in names.values()]
    for source, name in names.items():
        if taken.count(name.lower()) > 1 or name == QUARANTINE_NAME:
            raise InvalidInputError(
                f"table {source} and another one would both be mirrored as {name!r}; give one of "
                f"them another name: '{source}:name'"
            )
    return names
