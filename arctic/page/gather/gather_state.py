"""What a service does with a table, in the words of the overview."""

from __future__ import annotations

from collections.abc import Callable

from arctic.page.facts.lake_facts import StateFacts
from arctic.page.views.words import age_text
from arctic.service.watching.table_view import TableView

_BAD = frozenset({"broken", "failing"})


def gather_state(view: TableView, *, shown: Callable[[str], str], now_ms: int) -> StateFacts:
    """Return the state of a table.

    Args:
        view: what the service tells of it.
        shown: hides what is not to be seen in a text.
        now_ms: the time.
    """
    return StateFacts(word=view.state, why=_why(view, shown, now_ms), is_bad=view.state in _BAD)


def _why(view: TableView, shown: Callable[[str], str], now_ms: int) -> str:
    left = None if view.next_ms is None else age_text(max(0, view.next_ms - now_ms))
    if view.state == "running":
        return view.doing or ""
    if view.state == "leased":
        until = age_text(max(0, (view.lease_until_ms or now_ms) - now_ms))
        return f"by {view.lease_owner}, for {until} unless it goes on"
    if view.state == "failing":
        reasons = [f"{what}: {shown(why)}" for what, why in (view.last_failures or {}).items()]
        again = "" if left is None else f", again in {left}"
        return f"{view.failures} in a row{again}; {'; '.join(reasons)}"
    if view.state == "waiting" and view.waits_since_ms is not None:
        return f"for {age_text(max(0, now_ms - view.waits_since_ms))}"
    return "" if left is None else f"for {left}"
