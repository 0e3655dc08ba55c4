"""The first rows of a table, written as an overwrite or as inserts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.errors import ConflictError
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.loads.file_shares import WholeFiles
from arctic.job.write.loads.first_load import as_inserts, into_base
from arctic.job.write.loads.rising_files import may_rise, rising_shares
from arctic.job.write.loads.write_rising import write_rising
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.job.write.write_task import write_task
from tests.job.write.test_rising_files import NAME

ROWS = pa.table({"id": pa.array(range(24), pa.int64()), "text": [f"of {n}" for n in range(24)]})


def _begin(folder: Path, properties: dict[str, str] | None = None, **options: str) -> WriteJob:
    warehouse = str(folder / "lake")
    if not (folder / "lake").exists():
        columns, given = ROWS.schema, {"self-optimizing.target-size": "16b", **(properties or {})}
        arctic.create_table(
            NAME, columns, primary_key=["id"], properties=given, warehouse=warehouse
        )
    return begin_write(
        AskedWrite.of({"path": NAME, "warehouse": warehouse, **options}), ROWS.schema
    )


def _read(folder: Path) -> pa.Table:
    return arctic.read(NAME, warehouse=str(folder / "lake")).read_all().sort_by("id")


def _files(folder: Path) -> WholeFiles:
    """Write the rows, under other names; several row groups."""
    path = folder / "in.parquet"
    pq.write_table(ROWS.rename_columns(["key", "id"]), path, row_group_size=4)
    renamed = {"id": "key", "text": "id"}
    return WholeFiles(paths=(str(path),), size_bytes=path.stat().st_size, renamed=renamed)


@pytest.mark.parametrize("mode", ["upsert", "append"])
def test_first_rows_are_inserts_alone(tmp_path: Path, mode: str) -> None:
    """Written by tasks that read the files, whose columns may have other names."""
    job = as_inserts(_begin(tmp_path, {}, **{"write-mode": mode}))
    assert job is not None
    assert may_rise(job)
    shares = rising_shares(job, _files(tmp_path), ROWS.schema, parallelism=1)
    assert shares is not None
    assert len(shares) == 3

    assert write_rising(job, shares, LocalRunner(2))

    assert _read(tmp_path).equals(ROWS.cast(_read(tmp_path).schema))
    names = [path.name.split("-")[1] for path in (tmp_path / "lake").rglob("*-*-*-*.parquet")]
    assert set(names) == {"I"}


def test_first_rows_are_refused_where_others_have_been_faster(tmp_path: Path) -> None:
    """They would not be held against these; nothing stays behind."""
    job = as_inserts(_begin(tmp_path))
    assert job is not None
    shares = rising_shares(job, _files(tmp_path), ROWS.schema, parallelism=1)
    assert shares is not None
    arctic.write(NAME, ROWS.slice(3, 1), mode="upsert", warehouse=str(tmp_path / "lake"))
    before = set((tmp_path / "lake").rglob("*-I-*.parquet"))

    with pytest.raises(ConflictError):
        write_rising(job, shares, LocalRunner(2))

    assert set((tmp_path / "lake").rglob("*-I-*.parquet")) == before
    assert _read(tmp_path).num_rows == 1
    assert as_inserts(_begin(tmp_path)) is None
    assert into_base(_begin(tmp_path)) is None


@pytest.mark.parametrize("options", [{}, {"missing-columns": "keep"}, {"missing-columns": "null"}])
def test_an_upsert_into_a_new_table_leaves_the_rows_of_an_overwrite(
    tmp_path: Path, options: dict[str, str]
) -> None:
    """Of a key the last row, in base; no row of it keeps anything of one that was there."""
    job = into_base(_begin(tmp_path, {}, **options))
    assert job is not None
    job.request.check(job.target.table)
    twice = pa.concat_tables([ROWS, ROWS.slice(5, 1).set_column(1, "text", pa.array(["last"]))])

    commit_write(job, [write_task(job.work, twice.to_batches(), partition_id=0, task_id=0)])

    read = _read(tmp_path)
    assert read.num_rows == 24
    assert read["text"][5].as_py() == "last"
    names = [path.name.split("-")[1] for path in (tmp_path / "lake").rglob("*-*-*-*.parquet")]
    assert set(names) == {"B"}


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        pytest.param({"write.merge-engine": "first-row"}, {}, id="the first row stays"),
        pytest.param({"write.changes.keep-all": "true"}, {}, id="every event is kept"),
        pytest.param({}, {"write-mode": "append"}, id="two rows of a key"),
        pytest.param({}, {"write-mode": "delete"}, id="deletes"),
        pytest.param({}, {"stream-query-id": "q", "stream-batch-id": "1"}, id="a stream"),
    ],
)
def test_other_writes_are_as_they_were_asked_for(
    tmp_path: Path, properties: dict[str, str], options: dict[str, str]
) -> None:
    """What an overwrite would not leave as they do."""
    assert into_base(_begin(tmp_path, properties, **options)) is None
