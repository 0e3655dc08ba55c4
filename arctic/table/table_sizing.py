"""What a table chooses for itself, from what its runs of optimizing measured.

A property of the base store remembers it, written with the run that decides it.

Rules:
    - A choice depends on what was measured of the table and on nothing else: services, commands
      and pages show the same.
    - A choice moves by whole steps: up once a step is exceeded by a quarter, down once a lower one
      would have a quarter to spare. Measures differ a little from run to run; choices do not.
    - Deciding makes nothing due, and nobody has to know what was decided.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median_low

from arctic.errors import FormatError
from arctic.options import MIN_PLAN_INTERVAL, MINOR_INTERVAL, OPTIMIZE_TARGET_SIZE
from arctic.table.property_names import SIZING

MOST_FILES = 4_096
"""Base files of the target size: what planning a read of all of them was measured for is 10,000."""
RUNS_AN_INTERVAL = 100
"""A minor for the sake of time alone takes a hundredth of the time, or less."""
RUNS_A_REST = 4
"""Runs take at most a fifth of the time."""
LEAST_RUNS = 3
_MOST_RUNS = 5
_MIB = 2**20
_MINUTE_MS = 60_000
_TARGETS = tuple(_MIB * each for each in (128, 256, 512))
_INTERVALS = tuple(_MINUTE_MS * each for each in (30, 60, 120, 240))
"""Other engines see in base what is merged, so that no interval is longer."""
_RESTS = tuple(_MINUTE_MS * each for each in (1, 2, 4, 8, 16))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSizing:
    """What is in force where no property says otherwise, and what it was decided by."""

    target_bytes: int = OPTIMIZE_TARGET_SIZE.default
    """Size at which optimizing closes a base file."""
    minor_interval_ms: int = MINOR_INTERVAL.default or 0
    rest_ms: int = MIN_PLAN_INTERVAL.default or 0
    """Between two runs."""
    base_bytes: int = 0
    """Of all base files."""
    run_ms: tuple[int, ...] = ()
    """What the last runs took, the newest last; fulls are not counted."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> TableSizing:
        """Read what a table remembers.

        Raises:
            FormatError: the property cannot be read.
        """
        text = properties.get(SIZING)
        if text is None:
            return cls()
        try:
            found = json.loads(text)
            return cls(
                target_bytes=int(found["target_bytes"]),
                minor_interval_ms=int(found["minor_interval_ms"]),
                rest_ms=int(found["rest_ms"]),
                base_bytes=int(found["base_bytes"]),
                run_ms=tuple(int(each) for each in found["run_ms"]),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(
                f"table property {SIZING} = {text!r}: expected a JSON object of numbers; remove "
                "it, and they are measured anew"
            ) from error

    @property
    def usual_ms(self) -> int | None:
        """What a run takes, as the median of the last ones; None: too few are known."""
        return median_low(self.run_ms) if len(self.run_ms) >= LEAST_RUNS else None

    def after(self, *, run_ms: int | None, base_bytes: int | None) -> TableSizing:
        """Decide anew after a run.

        Args:
            run_ms: what it took; None: it was a full.
            base_bytes: of all base files; None: it looked at some partitions only.
        """
        runs = self.run_ms if run_ms is None else (*self.run_ms, run_ms)[-_MOST_RUNS:]
        known = TableSizing(run_ms=runs)
        held = self.base_bytes if base_bytes is None else base_bytes
        usual = known.usual_ms
        interval, rest = self.minor_interval_ms, self.rest_ms
        if usual is not None:
            interval = _stepped(interval, usual * RUNS_AN_INTERVAL, _INTERVALS)
            rest = _stepped(rest, usual * RUNS_A_REST, _RESTS)
        return TableSizing(
            target_bytes=_stepped(self.target_bytes, held // MOST_FILES, _TARGETS),
            minor_interval_ms=interval,
            rest_ms=rest,
            base_bytes=held,
            run_ms=runs,
        )

    def text(self) -> str:
        """Return the value of the property."""
        return json.dumps(asdict(self), separators=(",", ":"))


def target_bytes(properties: Mapping[str, str]) -> int:
    """Return the size at which optimizing closes a base file: stated, or chosen.

    Raises:
        InvalidInputError: the property is no size.
        FormatError: what the table remembers of its runs cannot be read.
    """
    if OPTIMIZE_TARGET_SIZE.is_given(properties):
        return OPTIMIZE_TARGET_SIZE.value({}, properties)
    return TableSizing.of(properties).target_bytes


def _stepped(now: int, wanted: int, steps: Sequence[int]) -> int:
    """Return the step that is next in force.

    >>> [_stepped(20, each, (10, 20, 40)) for each in (3, 8, 25, 26, 1_000)]
    [10, 20, 20, 40, 40]
    """
    least = next((step for step in steps if wanted * 4 <= step * 5), steps[-1])
    spare = next((step for step in steps if wanted * 4 <= step * 3), steps[-1])
    return least if least > now else min(now, spare)
