"""The schedulers: each says how much a table that waits is to be preferred, and nothing else.

Rules:
    - A scheduler is a function of one table and the time. The least rank goes first, and no two
      tables have one rank.
    - No table waits for ever. While one waits, each other is begun once at most after the time of
      `HELD_MS`: with `quota` what a table was given leaves the window, `balanced` prefers who was
      served longest ago, and `benefit` who has waited for so long, whatever it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arctic.service.scheduling.outlook import Outlook

WINDOW_MS = 4 * 3_600_000
"""In which slot time is counted against a quota."""
LONGEST_WAIT_MS = 4 * 3_600_000
"""Beyond it `benefit` asks only who has waited longest. Were it shorter than a peak is, everybody
would have waited for so long in one, and who is read most as long as who is hardly read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A table that could be worked on now."""

    name: str
    outlook: Outlook
    quota: float
    """Its share of the slots beside those of other tables; above 0."""
    reads_per_hour: float
    served_ms: int
    """When it was last optimized, by whomever, or when it was met."""
    waits_since_ms: int
    used_ms: int
    """Slot time that it was given in the sliding window."""


Rank = tuple[float, ...]
Scheduler = Callable[[Candidate, int], Rank]
"""Of a candidate and the time in milliseconds."""


def quota(candidate: Candidate, now_ms: int) -> Rank:
    """Prefer the table that was given the least of its share.

    Half of the run counts that it would begin: what it was given is less than its share before a
    run, and more after it, and in the mean it is to be its share, whatever the length of its runs.
    Who was given nothing in the window goes first, however much there is to do.
    """
    used_ms = candidate.used_ms
    given_ms = used_ms + candidate.outlook.work_ms / 2 if used_ms else 0
    return (given_ms / candidate.quota, candidate.served_ms)


def balanced(candidate: Candidate, now_ms: int) -> Rank:
    """Prefer the table that was optimized longest ago."""
    return (candidate.served_ms, candidate.waits_since_ms)


def benefit(candidate: Candidate, now_ms: int) -> Rank:
    """Prefer the table where a second of work saves readers the most seconds of each hour."""
    if now_ms - candidate.waits_since_ms >= LONGEST_WAIT_MS:
        return (0, candidate.waits_since_ms)
    saved_ms = candidate.outlook.saved_ms * candidate.reads_per_hour
    return (1, -saved_ms / candidate.outlook.work_ms)


SCHEDULERS: Mapping[str, Scheduler] = {
    "quota": quota,
    "balanced": balanced,
    "benefit": benefit,
}

HELD_MS: Mapping[str, int] = {"quota": WINDOW_MS, "balanced": 0, "benefit": LONGEST_WAIT_MS}
"""How long a table may wait for others that are begun again and again."""


def ranked(scheduler: Scheduler, candidate: Candidate, now_ms: int) -> tuple[Rank, str]:
    """Return the rank of a candidate; the name decides between equals."""
    return scheduler(candidate, now_ms), candidate.name
