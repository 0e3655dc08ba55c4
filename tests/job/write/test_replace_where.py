"""Overwrites of the partitions for which a filter holds."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string(), nullable=False),
        pa.field("day", pa.date32()),
    ]
)
Rows = list[tuple[int, str]]


@pytest.fixture(params=["keyed", "unkeyed"])
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of three regions, with rows in base files and, where it has a key, changes."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    key = ("id", "region") if request.param == "keyed" else ()
    arctic.create_table("m.t", SCHEMA, primary_key=key, partition_by=("region",))
    arctic.write("m.t", _data([(1, "eu"), (2, "us"), (3, "as")]))
    arctic.optimize("m.t", type="full")
    arctic.write("m.t", _data([(4, "eu"), (5, "us"), (6, "af")]))
    return "m.t"


def _data(rows: Rows) -> pa.Table:
    listed = [{"id": number, "region": region, "day": None} for number, region in rows]
    return pa.Table.from_pylist(listed, schema=SCHEMA)


def _rows(name: str) -> Rows:
    return sorted((row["id"], row["region"]) for row in arctic.read(name).read_all().to_pylist())


def _replace(name: str, where: str, rows: Rows) -> None:
    asked = AskedWrite.of({"path": name})
    predicate = parse_filter(where, asked.reference.open())
    assert predicate is not None
    job = begin_write(asked.replacing(predicate), SCHEMA)
    data = _data(rows).to_reader()
    result = write_task(work_here(job), data, partition_id=0, task_id=0, threads=1)
    commit_write(job, [result])


def test_the_partitions_of_a_filter_are_replaced_and_no_others(name: str) -> None:
    """What lies in base files and in changes, whether or not there are new rows of them."""
    others = [(2, "us"), (3, "as"), (5, "us"), (6, "af")]
    commits = arctic.open_table(name).history().num_rows

    _replace(name, "region = 'eu'", [(7, "eu")])
    assert _rows(name) == sorted([*others, (7, "eu")])
    _replace(name, "region = 'eu'", [])
    assert _rows(name) == others
    _replace(name, "region in ('us', 'af') or region > 'y'", [(8, "af"), (9, "za")])
    assert _rows(name) == [(3, "as"), (8, "af"), (9, "za")]
    assert arctic.open_table(name).history().num_rows == commits + 3
    arctic.write(name, _data([(3, "as")]), mode="append")
    arctic.optimize(name, type="full")
    assert [region for _, region in _rows(name)] == ["as", "as", "af", "za"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("id = 1", "only whole partitions are replaced"),
        ("region = 'eu' and day is null", "only whole partitions are replaced"),
        ("region != 'eu'", "only whole partitions are replaced"),
        ("region = 'us'", "a row lies outside"),
    ],
)
def test_what_is_not_whole_partitions_or_lies_outside_is_refused(
    name: str, where: str, said: str
) -> None:
    """And nothing is committed, nor is a file left behind."""
    before, files = _rows(name), _files()

    with pytest.raises(InvalidInputError, match=said):
        _replace(name, where, [(7, "eu")])
    assert (_rows(name), _files()) == (before, files)


def _files() -> set[Path]:
    return set(Path(os.environ["ARCTIC_WAREHOUSE"]).rglob("*.parquet"))
