"""The state of a table in one word: the first that is so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arctic.iceberg.commits.lease import Lease
from arctic.optimizing.settings import OptimizeType
from arctic.page.gather.gather_state import gather_state
from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook
from arctic.service.scheduling.table_state import TableState, TableTerms
from arctic.service.scheduling.tries import Tries, Wait
from arctic.service.watching.table_view import TableView
from arctic.service.watching.watch import Watched
from arctic.service.watching.wishes import Wishes

NOW_MS = 100_000_000
MINUTE_MS = 60_000
DUE = Outlook(due=OptimizeType.MINOR, work_bytes=1, saved_bytes=1)
WISHES = Wishes.of({})
SEEN = Watched(name="db.t", places=("a",), wishes=WISHES, lease=None, look=None)
PENDING = TableState(
    name="db.t",
    terms=TableTerms(quota=0.5, min_interval_ms=10 * MINUTE_MS),
    met_ms=NOW_MS - 5 * MINUTE_MS,
    outlook=DUE,
    peak_outlook=DUE,
    due_since_ms=NOW_MS - 2 * MINUTE_MS,
)
FAILED = replace(PENDING, tries=Tries(failures=2, wait=Wait(since_ms=NOW_MS, for_ms=3 * MINUTE_MS)))
A_MINUTE = Wait(since_ms=NOW_MS, for_ms=MINUTE_MS)
FOREIGN = Lease(owner="other-7", until_ms=NOW_MS + 5 * MINUTE_MS)
OWN = Lease(owner="me", until_ms=NOW_MS + 5 * MINUTE_MS)


def ended(at_ms: int) -> TableState:
    """Return a table that waits, and of which a run ended at a time."""
    return replace(PENDING, tries=Tries(ended_ms=at_ms))


def view(
    state: TableState | None,
    *,
    seen: Watched = SEEN,
    doing: str | None = None,
    failed: dict[str, str] | None = None,
    stretched: float = 1.0,
) -> TableView:
    """Describe a table now."""
    return TableView.of(
        seen,
        state,
        doing=doing,
        failed=failed or {},
        owner="me",
        stretched=stretched,
        now_ms=NOW_MS,
    )


@pytest.mark.parametrize(
    ("state", "given", "said"),
    [
        (PENDING, {}, "waiting for 2 min"),
        (PENDING, {"doing": "clean", "failed": {"clean": "no"}}, "running clean"),
        (PENDING, {"seen": replace(SEEN, lease=OWN)}, "waiting for 2 min"),
        (
            PENDING,
            {"seen": replace(SEEN, lease=FOREIGN)},
            "leased by other-7, for 5 min unless it goes on",
        ),
        (
            FAILED,
            {"failed": {"optimize": "disk full"}},
            "failing 2 in a row, again in 3 min; optimize: disk full",
        ),
        (PENDING, {"failed": {"publish": "no"}}, "failing 0 in a row; publish: no"),
        (
            replace(PENDING, outlook=NOTHING_DUE),
            {"seen": replace(SEEN, wishes=Wishes.of({"self-optimizing.enabled": "false"}))},
            "paused ",
        ),
        (None, {}, "of another group "),
        (PENDING.blocked(A_MINUTE), {}, "blocked for 1 min"),
        (PENDING.postponed(A_MINUTE), {}, "cancelled for 1 min"),
        (ended(NOW_MS - MINUTE_MS), {}, "resting for 9 min"),
        (ended(NOW_MS - 11 * MINUTE_MS), {"stretched": 2}, "resting for 9 min"),
        (replace(PENDING, outlook=NOTHING_DUE), {}, "idle "),
    ],
)
def test_a_table_is_told_of_by_what_is_most_to_be_known(
    state: TableState | None, given: dict[str, Any], said: str
) -> None:
    """With since when, until when, by whom and why."""
    found = gather_state(view(state, **given), shown=str, now_ms=NOW_MS)

    assert f"{found.word} {found.why}" == said
    assert found.is_bad == (found.word == "failing")
