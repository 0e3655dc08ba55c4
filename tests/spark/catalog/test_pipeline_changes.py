"""Spark's Auto CDC where a project is changed from run to run, or told what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyspark
import pytest

from tests.spark.pipelines import EXAMPLE, Event, ran, rows

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(pyspark.__version__ < "4.3", reason="Auto CDC is of Spark 4.3"),
]

CASES = Path(__file__).parents[1] / "pipeline_cases.py"


def event(id_: int, city: str | None, seq: int | None, email: str | None = None) -> Event:
    """Return what is told of an id; without a city it is gone."""
    operation = "D" if city is None else "U"
    return {"id": id_, "city": city, "email": email, "op": operation, "seq": seq}


FEED: dict[str, list[Event]] = {
    "first": [event(1, "Rome", 1), event(2, "Oslo", 2), event(2, None, 9), event(3, "Bern", 1)],
    "a column, and another flow of a target": [
        event(1, "Lima", 5, "a@x"),
        event(2, "Kyiv", 4, "b@x"),
        event(4, "Cork", 1, "c@x"),
        event(4, "Cork", 1, "c@x"),
    ],
    "two flows into a target": [],
    "tables from their beginning": [event(2, "Bonn", 3, "d@x"), event(5, "Nice", 1)],
    "another key of newest": [event(6, "Graz", 1)],
    "another key of spans": [event(6, "Linz", 2)],
    "no sequence": [event(7, "Metz", None)],
}
"""What a run of ``pipeline_cases`` brings -> what it is told."""
SPAN = ("id", "city", "email", "__START_AT", "__END_AT")


def test_a_project_may_change_and_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    """By its runs: late and doubled events, and the error of each that is refused."""
    project = tmp_path / "project"
    (project / "transformations").mkdir(parents=True)
    shutil.copy(EXAMPLE / "spark-pipeline.yml", project)
    shutil.copy(CASES, project / "transformations")

    ends, said = ran(project, FEED.values(), refreshed={3: ["newest", "spans"]})

    done = [number for number, end in enumerate(ends) if end == f"run {number}: done"]
    assert done == [0, 1, 3], said
    assert "[AUTOCDC_MULTIPLE_FLOWS_TO_TARGET]" in ends[2]
    for target, end in zip(("newest", "spans"), ends[4:6], strict=True):
        assert "[AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT]" in end
        assert f"target table arctic.shop.{target}: " in end
        assert f"NULL_SEQUENCE] AutoCDC flow on table `arctic`.`shop`.`{target}`" in said
    assert rows(project, "shop.newest", *SPAN[:3], version="before") == [
        (1, "Lima", "a@x"),
        (3, "Bern", None),
        (4, "Cork", "c@x"),
    ]
    assert rows(project, "shop.spans", *SPAN, version="before") == [
        (1, "Lima", "a@x", 5, None),
        (1, "Rome", None, 1, 5),
        (2, "Kyiv", "b@x", 4, 9),
        (2, "Oslo", None, 2, 4),
        (3, "Bern", None, 1, None),
        (4, "Cork", "c@x", 1, None),
    ]
    assert rows(project, "shop.newest", *SPAN[:3]) == [(2, "Bonn", "d@x"), (5, "Nice", None)]
    assert rows(project, "shop.spans", *SPAN) == [
        (2, "Bonn", "d@x", 3, None),
        (5, "Nice", None, 1, None),
    ]
