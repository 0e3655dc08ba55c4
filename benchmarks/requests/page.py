"""The counts as a table of ``docs/object-stores.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.requests.verbs import Cost

PAGE = Path(__file__).resolve().parents[2] / "docs" / "object-stores.md"
KINDS = ("GET", "HEAD", "PUT", "LIST", "DELETE")
_BEGIN, _END = "<!-- requests: make bench-requests -->\n", "<!-- end of requests -->"


def table(costs: Mapping[str, Sequence[Cost]]) -> list[str]:
    """Return the lines of a table: a verb each, the requests of each library side by side.

    Args:
        costs: by the name of the library; all of the same verbs.
    """
    kinds = [f"{name} {kind}" for name in costs for kind in KINDS]
    lines = [f"| verb | {' | '.join(kinds)} |", f"|---|{'--:|' * len(kinds)}"]
    for every in zip(*costs.values(), strict=True):
        counts = [str(cost.count(*_kinds(kind)) or "") for cost in every for kind in KINDS]
        lines.append(f"| {every[0].verb} | {' | '.join(counts)} |")
    return lines


def page_with(page: str, costs: Mapping[str, Sequence[Cost]]) -> str:
    """Return the page with the table in its place."""
    before, rest = page.split(_BEGIN)
    _, after = rest.split(_END)
    return "".join((before, _BEGIN, "\n", "\n".join(table(costs)), "\n\n", _END, after))


def _kinds(kind: str) -> tuple[str, ...]:
    """Return what counts as a kind: S3 deletes many by a request of its own."""
    return (kind, "DELETE many") if kind == "DELETE" else (kind,)
