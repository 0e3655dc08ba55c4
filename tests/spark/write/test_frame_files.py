"""Frames that are Parquet files as they lie, and loads out of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import arctic
from arctic.spark.write import frame_files
from arctic.spark.write.frame_files import whole_files
from tests.spark.lake import NAME, SCHEMA, Lake

pytestmark = pytest.mark.spark

_SMALL = {"self-optimizing.target-size": "1kb"}
"""No file is a fragment then: as many tasks as can be."""


def _frame(lake: Lake, folder: Path, rows: int = 4) -> DataFrame:
    """Return rows of two files, the later ones in the first of them; 100 bytes in each."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(7)
    for number in range(2):
        ids = pa.array(np.arange(rows) + (1 - number) * rows)
        letters = random.integers(ord("A"), ord("z"), (rows, 100), np.uint8)
        texts = pa.array(letters.view("S100").ravel()).cast(pa.string())
        table = pa.table([ids, texts, pa.array(random.random(rows))], schema=SCHEMA)
        pq.write_table(table, folder / f"{number} é#.parquet", row_group_size=5_000)
    return lake.spark.read.parquet(str(folder))


def _tasks(lake: Lake) -> list[int]:
    """Return the tasks that wrote the files of base, a number for each file."""
    paths = lake.table().inspect("files").column("path").to_pylist()
    names = [Path(path).name.split("-") for path in paths]
    return [int(name[3]) for name in names if name[1] == "B"]


def test_a_load_of_rising_keys_is_written_where_it_is_read(lake: Lake, tmp_path: Path) -> None:
    """Each task has keys of its own, and files in all nodes; without it each node has one task."""
    lake.create(properties=_SMALL)
    lake.put([(7, "old", 0.0), (9_000_000, "old", 0.0)])
    frame = _frame(lake, tmp_path / "in", 25_000)

    lake.save(frame, "overwrite")

    assert set(_tasks(lake)) == {1, 2, 3, 4, 5, 6}
    assert len(_tasks(lake)) == 6 * 4
    stored = arctic.read(NAME, warehouse=lake.warehouse).read_all()
    assert stored.cast(SCHEMA).sort_by("id").equals(pq.read_table(tmp_path / "in").sort_by("id"))
    lake.save(frame.where("id >= 0"), "overwrite")
    assert len(_tasks(lake)) == 4


def test_a_load_of_other_rows_is_sent_to_the_tasks_of_its_nodes(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is in two rows, which no footer tells: one stays, and no file of the attempt."""
    monkeypatch.setattr(frame_files, "_MOST_SCANNED_BYTES", 0)
    lake.create(properties=_SMALL)
    folder = tmp_path / "in"
    _frame(lake, folder, 25_000)
    path = folder / "0 é#.parquet"
    rows = pq.read_table(path)
    ids = rows["id"].to_numpy().copy()
    ids[7_000] = ids[7_001]
    pq.write_table(rows.set_column(0, "id", pa.array(ids)), path, row_group_size=5_000)

    lake.save(lake.spark.read.parquet(str(folder)), "overwrite")

    assert len(_tasks(lake)) == 4
    stored = arctic.read(NAME, warehouse=lake.warehouse).read_all()["id"]
    assert sorted(stored.to_pylist()) == [key for key in range(50_000) if key != 32_000]
    files = {str(path) for path in Path(lake.warehouse).rglob("*-B-*.parquet")}
    paths = lake.table().inspect("files").column("path").to_pylist()
    assert files == {path.removeprefix("file://") for path in paths}


_Made = Callable[[DataFrame], DataFrame]
_WHOLE: dict[str, _Made] = {
    "all": lambda frame: frame,
    "some columns": lambda frame: frame.select("amount", "id"),
    "a view": lambda frame: frame.alias("other").select("other.id"),
}
_RENAMED: dict[str, tuple[_Made, dict[str, str]]] = {
    "another name": (
        lambda frame: frame.withColumnRenamed("region", "place"),
        {"place": "region"},
    ),
    "another case": (lambda frame: frame.select("ID"), {"ID": "id"}),
    "names that changed places": (
        lambda frame: frame.selectExpr("id AS amount", "amount AS id"),
        {"amount": "id", "id": "amount"},
    ),
    "names over names": (
        lambda frame: frame.selectExpr("id AS a", "region").select(F.col("a").alias("b")),
        {"b": "id"},
    ),
}
_OTHER: dict[str, _Made] = {
    "a column twice": lambda frame: frame.selectExpr("id", "id AS other"),
    "another type": lambda frame: frame.selectExpr("CAST(id AS int) AS id"),
    "a filter": lambda frame: frame.where("id > 2"),
    "a limit": lambda frame: frame.limit(3),
    "a sample": lambda frame: frame.sample(0.5, 1),
    "a value": lambda frame: frame.withColumn("amount", F.col("amount") + 1),
    "a constant": lambda frame: frame.withColumn("more", F.lit(1)),
    "what Spark tells of a file": lambda frame: frame.select("id", "_metadata.file_path"),
    "each row twice": lambda frame: frame.union(frame),
    "one row of each": lambda frame: frame.dropDuplicates(["id"]),
    "other tasks": lambda frame: frame.repartition(3),
    "rows of this process": lambda frame: frame.sparkSession.createDataFrame([(1,)], "id long"),
}


def test_frames_that_are_files(lake: Lake, tmp_path: Path) -> None:
    """Names are those on disk, whatever a URI makes of them; and frames that are no files."""
    frame = _frame(lake, tmp_path / "in")
    on_disk = list((tmp_path / "in").iterdir())

    for name, made in _WHOLE.items():
        files = whole_files(made(frame))
        assert files is not None, name
        assert sorted(files.paths) == sorted(map(str, on_disk)), name
        assert files.size_bytes == sum(path.stat().st_size for path in on_disk)
        assert files.renamed == {}, name
    for name, (made, renamed) in _RENAMED.items():
        files = whole_files(made(frame))
        assert files is not None, name
        assert files.renamed == renamed, name
    assert [name for name, made in _OTHER.items() if whole_files(made(frame)) is not None] == []


def test_readers_that_read_otherwise(lake: Lake, tmp_path: Path) -> None:
    """Values out of paths, other formats, options and settings; and what Spark has kept."""
    folder, spark = str(tmp_path / "in"), lake.spark
    frame = _frame(lake, tmp_path / "in")
    frame.write.partitionBy("id").parquet(str(tmp_path / "parts"))
    frame.write.orc(str(tmp_path / "orc"))

    assert whole_files(spark.read.parquet(str(tmp_path / "parts"))) is None
    assert whole_files(spark.read.orc(str(tmp_path / "orc"))) is None
    assert whole_files(spark.read.option("mergeSchema", "true").parquet(folder)) is None
    some = whole_files(spark.read.option("pathGlobFilter", "0*").parquet(folder))
    assert some is not None
    assert len(some.paths) == 1
    lake.spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        assert whole_files(frame) is None
    finally:
        lake.spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert whole_files(frame) is not None
    frame.cache()
    try:
        assert whole_files(frame) is None
    finally:
        frame.unpersist()
