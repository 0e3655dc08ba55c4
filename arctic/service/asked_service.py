"""What a caller asks of a service, checked before anything begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.errors import InvalidInputError
from arctic.options import default_parallelism
from arctic.service.scheduling.ranks import SCHEDULERS

THREAD, PROCESS, SPARK = "thread", "process", "spark"
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedService:
    """How a service is to work."""

    groups: Mapping[str, int] = field(default_factory=dict)
    """Name -> slots; empty: ``default``, with the cores of this machine."""
    executors: Mapping[str, str] = field(default_factory=dict)
    """Group -> ``thread``, ``process`` or ``spark``; else ``thread``."""
    scheduler: str = "quota"
    interval_seconds: float = 180.0
    clean_every_seconds: float = 86_400.0
    threads: int = 10
    history: str | None = None
    """File; None: it is kept in memory."""
    is_read_only: bool = False
    """It looks at tables, and does nothing to any."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.scheduler not in SCHEDULERS:
            known = ", ".join(sorted(SCHEDULERS))
            raise InvalidInputError(f"scheduler {self.scheduler!r}; expected one of {known}")
        for name, slots in self.groups.items():
            if not _NAME.fullmatch(name):
                raise InvalidInputError(
                    f"group {name!r}; expected letters, digits, '_', '-' or '.', such as 'default'"
                )
            if slots < 1:
                raise InvalidInputError(f"group {name!r} of {slots} slots; expected 1 or more")
        for name, executor in self.executors.items():
            if name not in self.slots:
                raise InvalidInputError(
                    f"executor of group {name!r}: there is no such group; expected one of "
                    f"{', '.join(sorted(self.slots))}"
                )
            if executor not in (THREAD, PROCESS, SPARK):
                raise InvalidInputError(
                    f"executor {executor!r} of group {name!r}; expected {THREAD}, {PROCESS} or "
                    f"{SPARK}"
                )
        for name in ("interval_seconds", "clean_every_seconds", "threads"):
            number = getattr(self, name)
            if not 0 < number < float("inf"):
                raise InvalidInputError(f"{name} {number}; expected a number above 0")

    @property
    def slots(self) -> dict[str, int]:
        """Each group with its slots."""
        if self.is_read_only:
            return {}
        return dict(self.groups) or {"default": default_parallelism()}

    def executor(self, group: str) -> str:
        """Return the kind of a group's executors."""
        return self.executors.get(group, THREAD)
