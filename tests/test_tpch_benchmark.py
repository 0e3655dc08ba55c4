"""``make bench-tpch`` with Arctic alone, on few rows."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.peers.environments import Peer
from benchmarks.peers.recorder import record
from benchmarks.tpch.data import Tpch
from benchmarks.tpch.page import lines, section
from benchmarks.tpch.workload import perform

SCALE = 0.003
QUERIES = (1, 4, 6, 18)
OURS = Peer(name="arctic", script="arctic_plain")


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Tpch:
    """Few rows, and two pairs of refresh functions."""
    return Tpch(tmp_path_factory.mktemp("tpch"), scale=SCALE, refreshes=2)


def test_refreshes_add_new_orders_with_their_lines_and_remove_old_ones(tpch: Tpch) -> None:
    """Both tables speak of the same orders, and no order comes or goes twice."""
    loaded = _keys(tpch.load["orders"], "o_orderkey")
    came = [_keys(each.upserts["orders"], "o_orderkey") for each in tpch.refreshes]
    gone = [_keys(each.deletes["orders"], "o_orderkey") for each in tpch.refreshes]

    for refresh, added, deleted in zip(tpch.refreshes, came, gone, strict=True):
        assert _keys(refresh.upserts["lineitem"], "l_orderkey") == added
        assert _keys(refresh.deletes["lineitem"], "l_orderkey") == deleted
        assert added
        assert deleted
        assert not added & loaded
        assert deleted <= loaded
    assert not came[0] & came[1]
    assert not gone[0] & gone[1]
    refreshed = (loaded | came[0] | came[1]) - gone[0] - gone[1]
    assert _keys(tpch.refreshed["orders"], "o_orderkey") == refreshed


def test_arctic_answers_before_over_and_after_refreshes(tpch: Tpch, tmp_path: Path) -> None:
    """Every answer and every row is the expected one, and every figure is on the page."""
    work = partial(perform, tpch=tpch, queries=QUERIES, repeats=1)

    result = record(OURS, work, folder=tmp_path, limit_seconds=60, say=lambda _: None)

    assert result.failure == ""
    assert result.checked == ("answers: equal; rows of orders: equal; rows of lineitem: equal")
    assert all(all(line.times) for line in lines([result], queries=QUERIES, refreshes=2))
    text = section([result], scale=SCALE, queries=QUERIES, refreshes=2, repeats=1, note="")
    assert "| Q18, unmerged |" in text


def test_more_refreshes_than_there_are_keys_are_refused(tmp_path: Path) -> None:
    """The generator leaves 24 keys beside those that it takes."""
    with pytest.raises(ValueError, match="25 refreshes: expected 0 to 24"):
        Tpch(tmp_path, scale=SCALE, refreshes=25)


def _keys(folder: Path, column: str) -> set[int]:
    return set(pq.read_table(folder, columns=[column]).column(column).to_pylist())
