"""A program of its own, whose Spark has the classes of ``s3a://``: ``python -m ... <folder>``.

It prints ``done`` last, if Spark's own Parquet scan reads what Arctic reads.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import arctic
from benchmarks.requests.object_store import object_store

NAME = "db.events"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
JARS = Path(sys.prefix) / "hadoop-aws"


def session(folder: Path) -> SparkSession:
    """Start Spark with the classes, and with wrong keys for one bucket."""
    (folder / "events").mkdir()
    return arctic.local_session(
        master="local[2]",
        conf={
            "spark.jars": ",".join(map(str, sorted(JARS.glob("*.jar")))),
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{folder}/events",
            "spark.eventLog.compress": "false",
            "spark.hadoop.fs.s3a.bucket.others.secret.key": "not-the-secret",
            "spark.hadoop.fs.s3a.attempts.maximum": "1",
        },
    )


def load(spark: SparkSession, catalog: Mapping[str, str], **options: str) -> DataFrame:
    """Read the table as a user does who has its keys."""
    given = {f"catalog.{name}": text for name, text in catalog.items()}
    return spark.read.format("arctic").options(**given, **options).load(NAME)


def plan(frame: DataFrame) -> str:
    """Return every plan of a query as Spark prints it."""
    return str(frame._jdf.queryExecution().toString())


def rows(first: int, last: int, city: str) -> pa.Table:
    """Return rows of one city."""
    return pa.table({"id": range(first, last), "city": [city] * (last - first)}, schema=SCHEMA)


def made(catalog: Mapping[str, str]) -> None:
    """Make a table whose files are clean."""
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], catalog=catalog)
    arctic.write(NAME, rows(0, 100, "Rome"), mode="overwrite", catalog=catalog)


def check(spark: SparkSession, catalog: Mapping[str, str], *, by_spark: bool) -> str:
    """Compare what Spark reads with what Arctic reads; return the plans."""
    plans = ""
    for least in ("1000000000", "1"):
        options = {"read.deletion-vector.min-rows": least}
        frame = load(spark, catalog, **options)
        found = sorted(map(tuple, frame.collect()))
        expected = arctic.read(NAME, catalog=catalog).read_all()
        assert found == sorted(zip(*expected.to_pydict().values(), strict=True))
        assert frame.where("id >= 95").count() == 5
        plans += plan(frame)
    is_scan, is_python = "FileScan parquet" in plans, "BatchScan" in plan(frame)
    assert (is_scan, is_python) == (by_spark, not by_spark), plans
    return plans


def main() -> None:
    """Read clean and dirty files, through one bucket by Spark and through another one not."""
    folder = Path(sys.argv[1])
    with object_store() as store:
        for name in ("others", "vended"):
            store.make_bucket(name)
        passing = store.temporary_keys()
        key, secret = store.demand_signatures()
        keys = {"s3.access-key-id": key, "s3.secret-access-key": secret}
        lake = store.catalog(folder / "catalog.db", **keys)
        others = {**store.catalog(folder / "others.db", **keys), "warehouse": "s3://others/w"}
        vended = {**store.catalog(folder / "vended.db", **passing), "warehouse": "s3://vended/w"}
        spark = session(folder)
        printed = []
        for catalog, by_spark in ((lake, True), (vended, True), (others, False)):
            made(catalog)
            printed.append(check(spark, catalog, by_spark=by_spark))
            arctic.write(NAME, rows(40, 60, "Oslo"), mode="upsert", catalog=catalog)
            printed.append(check(spark, catalog, by_spark=by_spark))
        renewed = {**vended, **keys}
        del renewed["s3.session-token"]
        assert "of another catalog" in check(spark, renewed, by_spark=False)
        again = {**lake, "s3.region": "eu-central-1"}
        assert "of another catalog" in check(spark, again, by_spark=False)
        print(*printed, sep="\n")
        spark.stop()
    assert "Spark does not read its files: " in printed[-1]
    print("done", secret if any(secret in each for each in printed) else "")
    for log in (folder / "events").rglob("*"):
        assert log.is_dir() or secret not in log.read_text(encoding="utf-8"), log


if __name__ == "__main__":
    main()
