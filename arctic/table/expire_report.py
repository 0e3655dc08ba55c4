"""What a cleaning removed, or would remove, and why: a value that prints itself.

Must not know: how anything is found or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

SHOWN_ITEMS = 20
"""How many items the text lists before it only counts."""


class ExpiredKind(Enum):
    """What was removed, in the order of the steps; the value is its name in texts."""

    EXPIRED_ROWS = "file of expired rows"
    CHANGE_FILE = "change file"
    POSITION_DELETES = "position deletes"
    SNAPSHOT = "snapshot"
    DATA_FILE = "data file"
    MANIFEST = "manifest"
    MANIFEST_LIST = "manifest list"
    STATISTICS = "statistics"
    ORPHAN = "orphan"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredItem:
    """One file or snapshot that a cleaning removes.

    Files of expired rows, change files and position deletes leave the newest snapshot; their bytes
    are freed when the last snapshot that holds them goes, as a data file of its own line.
    """

    store: str
    """``base`` or ``change``."""
    kind: ExpiredKind
    name: str
    """The path of a file, the id of a snapshot."""
    size_bytes: int | None
    """None: not known, or nothing that has a size."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireReport:
    """What one cleaning of a table did."""

    table: str
    items: tuple[ExpiredItem, ...]
    """In the order of the steps; inside a step by store, then oldest or by path."""
    outside: tuple[ExpiredItem, ...] = ()
    """Files that the table let go and that stay, because they lie outside its folders."""
    notes: tuple[str, ...] = ()
    """What was left undone, and why."""
    seconds: float
    dry_run: bool
    """Whether nothing was changed."""

    @property
    def counts(self) -> Mapping[ExpiredKind, int]:
        """How many of each kind; kinds without any are left out."""
        return MappingProxyType({kind: len(self.of_kind(kind)) for kind in self._kinds()})

    @property
    def bytes(self) -> Mapping[ExpiredKind, int]:
        """The known bytes of each kind; kinds without any item are left out."""
        return MappingProxyType(
            {
                kind: sum(item.size_bytes or 0 for item in self.of_kind(kind))
                for kind in self._kinds()
            }
        )

    @property
    def freed_bytes(self) -> int:
        """The known bytes of the files that are deleted."""
        logical = (ExpiredKind.EXPIRED_ROWS, ExpiredKind.CHANGE_FILE, ExpiredKind.POSITION_DELETES)
        return sum(size for kind, size in self.bytes.items() if kind not in logical)

    def of_kind(self, kind: ExpiredKind) -> tuple[ExpiredItem, ...]:
        """Return the items of one kind."""
        return tuple(item for item in self.items if item.kind is kind)

    def explain(self, *, verbose: bool = False) -> str:
        """Return the report as text: counts, then items, all of them if ``verbose``.

        The same items give the same text.
        """
        shown = self.items if verbose else self.items[:SHOWN_ITEMS]
        more = len(self.items) - len(shown)
        verb = "would expire" if self.dry_run else "expired"
        lines = [f"{self.table}: {verb} {self._summary()}"]
        lines += [f"  {_line(item)}" for item in shown]
        lines += [f"  ... and {more} more"] if more else []
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return ``explain()``."""
        return self.explain()

    def _kinds(self) -> list[ExpiredKind]:
        present = {item.kind for item in self.items}
        return [kind for kind in ExpiredKind if kind in present]

    def _summary(self) -> str:
        parts = []
        for kind, count in self.counts.items():
            sizes = [item.size_bytes for item in self.of_kind(kind) if item.size_bytes is not None]
            known = f" ({sum(sizes)} bytes)" if sizes else ""
            parts.append(f"{count} x {kind.value}{known}")
        return ", ".join(parts) or "nothing"


def _line(item: ExpiredItem) -> str:
    size = "" if item.size_bytes is None else f", {item.size_bytes} bytes"
    return f"{item.store} {item.kind.value} {item.name}{size}: {item.reason}"
