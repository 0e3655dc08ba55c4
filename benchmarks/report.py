"""One figure of a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something to measure."""

    title: str
    run: Callable[[], Any]
    count: int
    """How many things one run handles."""
    noun: str
    """What they are, in the plural."""
    runs: int | None = None
    """How often to run it; None: as often as usual. 1 where a run changes the table."""

    def line(self, seconds: float) -> str:
        """Return what is printed."""
        return f"{self.title:<48} {seconds:>8.3f} s {self.count / seconds:>14,.0f} {self.noun}/s"
