"""What was measured of one system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One figure of one system."""

    seconds: float | None = None
    """Of a read: the median of its warm repeats, or its first time where it was too slow to repeat.
    None: there is no figure, see ``reason``."""
    cold_seconds: float | None = None
    """Of a read: its first time."""
    times: tuple[float, ...] = ()
    """Of a read: each repeat, of which ``seconds`` is the median."""
    bytes_written: int = 0
    """In new or changed files of the table."""
    peak_bytes: int = 0
    """Resident memory of all processes together."""
    reason: str = ""
    """Why there is no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """Every figure of one system."""

    name: str
    versions: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, Phase] = field(default_factory=dict)
    checked: str = ""
    """What the comparison with the expected rows said."""
    failure: str = ""
    """Why the system did not finish."""

    @property
    def peak_bytes(self) -> int:
        """The most memory of any phase."""
        return max((phase.peak_bytes for phase in self.phases.values()), default=0)


def save_result(path: Path, result: SystemResult) -> None:
    """Write a result as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")


def load_result(path: Path) -> SystemResult:
    """Read what ``save_result`` wrote."""
    stored: dict[str, Any] = json.loads(path.read_text())
    phases = {
        name: Phase(**{**figures, "times": tuple(figures.get("times", ()))})
        for name, figures in stored.pop("phases").items()
    }
    return SystemResult(phases=phases, **stored)
