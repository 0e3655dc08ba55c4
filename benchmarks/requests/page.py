"""The counts as a table of ``docs/object-stores.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.requests.far import MOST_ROUND_TRIPS, Trip
from benchmarks.requests.plain import Counts
from benchmarks.requests.verbs import Cost

PAGE = Path(__file__).resolve().parents[2] / "docs" / "object-stores.md"
KINDS = ("GET", "HEAD", "PUT", "LIST", "DELETE")
_READING = ("GET", "HEAD", "LIST")
_FAR = ("requests", "round trips", "at most", "seconds")
_BEGIN, _END = "<!-- {}: make bench-requests -->\n", "<!-- end of {} -->"


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


def beside_table(costs: Sequence[Cost], plain: Sequence[Counts]) -> list[str]:
    """Return the lines of a table: a verb each, beside what a plain table asked for.

    Args:
        costs: of a life through Arrow, whose first verbs are those of the plain table.
        plain: of the plain table, in the same order.
    """
    heads = [f"{name} {kind}" for name in ("Arctic", "PyIceberg") for kind in ("all", *_READING)]
    lines = [f"| verb | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for cost, (verb, counts) in zip(costs, plain, strict=False):
        if cost.verb != verb:
            raise ValueError(f"verb {verb!r} stands beside {cost.verb!r}")
        ours = Counter(each.kind for each in cost.asked)
        cells = [
            str(number or "")
            for found in (ours, counts)
            for number in (sum(found.values()), *(found[kind] for kind in _READING))
        ]
        lines.append(f"| {verb} | {' | '.join(cells)} |")
    return lines


def far_table(trips: Mapping[str, Sequence[Trip]]) -> list[str]:
    """Return the lines of a table: a call each, what it takes with each library, and may take."""
    heads = [f"{name} {what}" for name in trips for what in _FAR]
    lines = [f"| call | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    most = zip(*(MOST_ROUND_TRIPS[name] for name in trips), strict=True)
    for every, bounds in zip(zip(*trips.values(), strict=True), most, strict=True):
        cells = [
            f"{each.requests} | {each.round_trips} | {bound} | {each.seconds:.1f}"
            for each, bound in zip(every, bounds, strict=True)
        ]
        lines.append(f"| {every[0].what} | {' | '.join(cells)} |")
    return lines


def page_with(page: str, costs: Mapping[str, Sequence[Cost]]) -> str:
    """Return the page with the counts in their place."""
    return _with(page, "requests", table(costs))


def page_with_plain(page: str, costs: Sequence[Cost], plain: Sequence[Counts]) -> str:
    """Return the page with the counts beside those of a plain table in their place."""
    return _with(page, "plain requests", beside_table(costs, plain))


def page_with_far(page: str, trips: Mapping[str, Sequence[Trip]]) -> str:
    """Return the page with what calls take from far away in its place."""
    return _with(page, "round trips", far_table(trips))


def far_told(page: str, name: str) -> list[tuple[str, int, int]]:
    """Return what the page says of each call with a library: requests, and most round trips."""
    _, _, text = _parts(page, "round trips")
    head, _, *lines = [line.strip("| ").split(" | ") for line in text.split("\n") if line]
    requests, most = (head.index(f"{name} {what}") for what in (_FAR[0], _FAR[2]))
    return [(cells[0], int(cells[requests]), int(cells[most])) for cells in lines]


def _with(page: str, what: str, lines: Sequence[str]) -> str:
    before, after, _ = _parts(page, what)
    return "".join((before, "\n", "\n".join(lines), "\n\n", after))


def _parts(page: str, what: str) -> tuple[str, str, str]:
    """Return what stands before a table with its mark, what from its end on, and the table."""
    begin, end = _BEGIN.format(what), _END.format(what)
    before, rest = page.split(begin)
    text, after = rest.split(end)
    return before + begin, end + after, text


def _kinds(kind: str) -> tuple[str, ...]:
    """Return what counts as a kind: S3 deletes many by a request of its own."""
    return (kind, "DELETE many") if kind == "DELETE" else (kind,)
