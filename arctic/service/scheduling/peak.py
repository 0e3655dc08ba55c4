"""What gives way in a peak: freshness of base, never ingestion.

Rules:
    - Writers are not asked, slowed or waited for: a run commits to base alone.
    - A peak is more waiting work than the slots do in some minutes; fulls do not count, for what
      is put off would never let it end. Then fulls are put off, but for slots that would be idle,
      and a table rests longer between two runs, so that each run merges more for what it costs.
      Readers merge what base does not hold yet: rows stay fresh, reads cost more.
"""

from __future__ import annotations

_PEAK_MS = 900_000
_MOST_STRETCH = 8.0
POLICY = (
    f"A peak is more waiting work than the slots of a group do in {_PEAK_MS // 60_000} minutes, "
    "fulls not counted. Then freshness of base gives way, and ingestion does not: fulls are put "
    f"off, and a table rests up to {_MOST_STRETCH:.0f} times as long between two runs. Writers are "
    "not slowed; rows stay fresh, because readers merge what base does not hold yet, and reads "
    "cost more."
)
"""For people."""


def stretch(waiting_work_ms: int, slots: int) -> float:
    """Return by how much a table rests longer than it asks for; 1: there is no peak.

    >>> stretch(900_000, 1), stretch(1_800_000, 1), stretch(1_800_000, 2), stretch(10**9, 1)
    (1.0, 2.0, 1.0, 8.0)
    """
    return min(_MOST_STRETCH, max(1.0, waiting_work_ms / (max(1, slots) * _PEAK_MS)))
