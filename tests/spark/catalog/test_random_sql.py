"""Statements drawn at random: a table holds what a model says, or one is refused.

``HYPOTHESIS_PROFILE=deep`` lives 500 histories, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from arctic.job.edit import small_edit
from tests.spark.catalog.random_sql.sql_history import History
from tests.spark.catalog.random_sql.states import live
from tests.spark.catalog.small_plans import small_plans

pytestmark = [pytest.mark.spark, pytest.mark.slow]

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
HISTORIES = int(os.environ.get("ARCTIC_HISTORIES", 500 if IS_DEEP else 3))


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """In a warehouse of its own."""
    with pytest.MonkeyPatch.context() as patch, small_plans(spark):
        patch.setenv("ARCTIC_WAREHOUSE", str(tmp_path_factory.mktemp("random")))
        yield spark


@settings(
    max_examples=HISTORIES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_a_history_of_statements(session: SparkSession, data: st.DataObject) -> None:
    """Each statement leaves what the model says."""
    most = data.draw(st.sampled_from([small_edit.MOST_ROWS, -1]), label="rows of a small edit")
    history = History(session, data.draw)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(small_edit, "MOST_ROWS", most)
            live(history)
    finally:
        history.close()
