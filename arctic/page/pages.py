"""Facts to whole pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arctic.page.facts.lake_facts import CatalogRow, LakeFacts
from arctic.page.facts.table_facts import TableFacts
from arctic.page.rendered import Frame, render
from arctic.page.views.overview import draw_overview
from arctic.page.views.table_page import draw_table
from arctic.service.watching.group_view import GroupQueue

MOST_LISTED = 500
"""Tables that wait."""


def catalogs_page(rows: Sequence[CatalogRow], frame: Frame) -> str:
    """Return the overview of several catalogs as HTML."""
    return render("catalogs.html", frame, rows=rows)


def overview_page(lake: LakeFacts, frame: Frame, *, links: Mapping[str, str]) -> str:
    """Return the overview of a catalog as HTML.

    Args:
        lake: its tables.
        frame: what is around the page.
        links: name -> address of the table's page, of those that have one.
    """
    return render("overview.html", frame, page=draw_overview(lake, links))


def group_page(queue: GroupQueue, at_ms: int, frame: Frame) -> str:
    """Return a group of a service and its queue as HTML.

    Args:
        queue: the group, who is at work in it and who waits.
        at_ms: the time.
        frame: what is around the page.
    """
    return render("group.html", frame, queue=queue, at_ms=at_ms, listed=MOST_LISTED)


def table_page(facts: TableFacts, frame: Frame, *, given_filter: str = "") -> str:
    """Return the page of a table as HTML.

    Args:
        facts: the table.
        frame: what is around the page.
        given_filter: of the read that was planned, as it was given.
    """
    return render("table.html", frame, page=draw_table(facts), given_filter=given_filter)


def failure_page(title: str, why: str, frame: Frame) -> str:
    """Return a page that says what is wrong."""
    return render("failure.html", frame, title=title, why=why)
