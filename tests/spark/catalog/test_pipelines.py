"""Spark's Auto CDC into tables of the catalog: the project of ``examples/pipelines``."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.spark.pipelines import EXAMPLE, ROOT, Event, ran, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(pyspark.__version__ < "4.3", reason="Auto CDC is of Spark 4.3"),
]


def events() -> list[Event]:
    """Return what happened to eight customers: where they are from then on, or that they left."""
    drawn = random.Random(7)
    told = []
    for id_ in range(8):
        for seq in sorted(drawn.sample(range(100), drawn.randint(1, 12))):
            gone = drawn.random() < 0.25
            city = None if gone else drawn.choice(["Rome", "Oslo", None])
            told.append({"id": id_, "city": city, "op": "D" if gone else "U", "seq": seq})
    return told


def parts(told: Iterable[Event]) -> list[list[Event]]:
    """Return events in two parts, in any order and some of them twice."""
    drawn = random.Random(11)
    found: list[list[Event]] = [[], []]
    for event in told:
        for place in drawn.sample(range(2), drawn.choice([1, 1, 2])):
            found[place] += [event] * drawn.choice([1, 1, 2])
    for part in found:
        drawn.shuffle(part)
    return found


def of_customers(seen: Iterable[Event]) -> Iterator[list[Event]]:
    """Yield the events of each customer in their order, each once."""
    once = {(event["id"], event["seq"]): event for event in seen}
    ordered = [once[key] for key in sorted(once)]
    for _, own in groupby(ordered, key=lambda event: event["id"]):
        yield list(own)


def newest(seen: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Return the customers who are there."""
    last = [own[-1] for own in of_customers(seen)]
    return [(event["id"], event["city"]) for event in last if event["op"] == "U"]


def history(seen: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Return where customers were, from when until when."""
    found = []
    for own in of_customers(seen):
        spans = [list(run) for _, run in groupby(own, key=lambda each: (each["op"], each["city"]))]
        ends = [run[0]["seq"] for run in spans[1:]] + [None]
        for run, end in zip(spans, ends, strict=True):
            if run[0]["op"] == "U":
                found.append((run[0]["id"], run[0]["city"], run[0]["seq"], end))
    return found


def test_late_doubled_and_deleting_events_end_as_they_happened(tmp_path: Path) -> None:
    """As the newest rows and as history; each run goes on where the one before ended."""
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    told = parts(events())

    ends, said = ran(project, told)

    assert ends == ["run 0: done", "run 1: done"], said
    seen = [event for part in told for event in part]
    assert rows(project, "shop.customers", "id", "city") == sorted(newest(seen), key=repr)
    spans = rows(project, "shop.customer_history", "id", "city", "__START_AT", "__END_AT")
    assert spans == sorted(history(seen), key=repr)


def test_the_page_shows_what_the_project_says() -> None:
    """Its blocks of a pipeline are parts of files below ``examples/pipelines``."""
    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    section = page[page.index("\n## Pipelines\n") : page.index("\n## Types\n")]
    shown = re.findall(r"^```(?:py|sql)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    files = [path.read_text() for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".sql")]

    assert len(shown) == 2
    assert [block for block in shown if not any(block in text for text in files)] == []
