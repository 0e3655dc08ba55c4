"""``make bench-ch`` with Arctic alone, and a few transactions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest

from benchmarks.ch.page import growth, lines, section
from benchmarks.ch.queries import QUERIES
from benchmarks.ch.shop import KEYS, Size
from benchmarks.ch.work import Plan, Work
from benchmarks.ch.workload import perform
from benchmarks.peers.environments import Peer
from benchmarks.peers.oracle import differing_answers
from benchmarks.peers.recorder import record
from benchmarks.peers.systems.harness import plain
from tests.postgres.cluster import running_cluster

PLAN = Plan(size=Size(warehouses=1, items=200, customers=12), rounds=1, batches=2, transactions=40)
ASKED = (1, 5, 11, 18)
OURS = Peer(name="arctic", script="arctic_plain")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """A small shop, and two rounds of two batches."""
    with running_cluster() as server:
        yield Work(server, tmp_path_factory.mktemp("ch"), PLAN)


def test_every_query_means_the_same_to_another_engine(work: Work) -> None:
    """What was loaded, and what batches changed, answers as PostgreSQL does after every round."""
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        for table, folder in work.load.items():
            connection.execute(f"create table {table} as from read_parquet('{folder}/*.parquet')")
        assert _differing(connection, work, 0) == {}
        for number, batches in enumerate(work.rounds, start=1):
            for batch in batches:
                assert set(batch.upserts) >= {"district", "customer", "orders", "order_line"}
                for table, folder in (*batch.upserts.items(), *batch.deletes.items()):
                    keys = ", ".join(KEYS[table])
                    rows = f"from read_parquet('{folder}/*.parquet')"
                    connection.execute(
                        f"delete from {table} where ({keys}) in (select ({keys}) {rows})"
                    )
                for table, folder in batch.upserts.items():
                    connection.execute(
                        f"insert into {table} from read_parquet('{folder}/*.parquet')"
                    )
            assert _differing(connection, work, number) == {}
    answered = [number for number in QUERIES if work.answers[-1][number]]
    assert len(answered) > len(QUERIES) // 2
    assert any(batch.deletes for batches in work.rounds for batch in batches)


def test_arctic_mirrors_the_shop_at_work_and_answers_as_it_does(work: Work, tmp_path: Path) -> None:
    """Every answer and row is PostgreSQL's, freshness is measured, every figure is on the page."""
    todo = partial(perform, work=work, queries=ASKED, repeats=1)

    result = record(OURS, todo, folder=tmp_path, limit_seconds=60, say=lambda _: None)

    assert result.failure == ""
    assert result.checked == "answers: equal; rows: equal"
    assert {name: phase.reason for name, phase in result.phases.items() if phase.reason} == {}
    assert all(all(line.times) for line in lines([result], PLAN, ASKED))
    assert result.phases["fresh after 1"].times
    text = section([result], PLAN, queries=ASKED, repeats=1, note="")
    assert "| freshness: written until visible |" in text
    assert growth(result, PLAN, ASKED) in text
    assert "Of the 22 queries, Q1, Q5, Q11, Q18\nof CH-benCHmark" in text
    assert "The 22 queries\n" in section([result], PLAN, queries=list(QUERIES), repeats=1, note="")


def _differing(connection: duckdb.DuckDBPyConnection, work: Work, number: int) -> dict[int, str]:
    found = {}
    for query, text in QUERIES.items():
        found_rows = connection.execute(text).fetchall()
        rows = [[plain(value) for value in row] for row in found_rows]
        found[query] = differing_answers(work.answers[number][query], rows, close=1e-4)
    return {query: said for query, said in found.items() if said}
