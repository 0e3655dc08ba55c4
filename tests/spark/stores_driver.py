"""A program of its own, whose Spark has the classes of object stores: ``python -m ... <folder>``.

It prints ``done`` last, if Spark's own Parquet scan reads what Arctic reads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import arctic
from benchmarks.requests.object_store import ObjectStore, object_store
from tests.stores.servers import running_azure, running_google, service_account

NAME = "db.events"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
JARS = Path(sys.prefix) / "hadoop-stores"


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
            # From 3.5 on Hadoop's defaults are those of its own hadoop-gcp.
            "spark.hadoop.fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "spark.hadoop.fs.gs.block.size": str(64 * 2**20),
            "spark.hadoop.fs.gs.auth.type": "UNAUTHENTICATED",
            # An account without folders, which Hadoop reaches by the protocol of blobs.
            "spark.hadoop.fs.azure.account.hns.enabled": "false",
            "spark.hadoop.fs.azure.fns.account.service.type": "BLOB",
            # The other one wants TLS.
            "spark.hadoop.fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
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
    """Read clean and dirty files of each kind of store."""
    folder = Path(sys.argv[1])
    # Whose keys Arrow signs with, where no property says one. The server asks nobody for his.
    key = folder / "key.json"
    key.write_text(json.dumps(service_account()), encoding="utf-8")
    os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(key)
    with object_store() as store, running_google() as google, running_azure() as azure:
        spark = session(folder)
        secret = _amazon(spark, folder, store)
        _google(spark, folder, google)
        _azure(spark, folder, azure)
        spark.stop()
    for log in (folder / "events").rglob("*"):
        assert log.is_dir() or secret not in log.read_text(encoding="utf-8"), log
    print("done")


def _amazon(spark: SparkSession, folder: Path, store: ObjectStore) -> str:
    """Read through one bucket by Spark and through another one not; return what nobody says."""
    for name in ("others", "vended"):
        store.make_bucket(name)
    passing = store.temporary_keys()
    key, secret = store.demand_signatures()
    keys = {"s3.access-key-id": key, "s3.secret-access-key": secret}
    lake = store.catalog(folder / "catalog.db", **keys)
    others = {**store.catalog(folder / "others.db", **keys), "warehouse": "s3://others/w"}
    vended = {**store.catalog(folder / "vended.db", **passing), "warehouse": "s3://vended/w"}
    plans = []
    for catalog, by_spark in ((lake, True), (vended, True), (others, False)):
        made(catalog)
        plans.append(check(spark, catalog, by_spark=by_spark))
        arctic.write(NAME, rows(40, 60, "Oslo"), mode="upsert", catalog=catalog)
        plans.append(check(spark, catalog, by_spark=by_spark))
    renewed = {**vended, **keys}
    del renewed["s3.session-token"]
    assert "of another catalog" in check(spark, renewed, by_spark=False)
    again = {**lake, "s3.region": "eu-central-1"}
    assert "of another catalog" in check(spark, again, by_spark=False)
    assert "Spark does not read its files: " in plans[-1]
    assert not any(secret in each for each in plans)
    return secret


def _google(spark: SparkSession, folder: Path, server: Mapping[str, str]) -> None:
    """Read without a token that ends, and with one not."""
    place = {"type": "sql", "uri": f"sqlite:///{folder}/google.db", **server}
    token = {name: text for name, text in place.items() if name.startswith("gcs.oauth2.")}
    lake = {name: text for name, text in place.items() if name not in token}
    _lives(spark, lake)
    assert "property gcs.oauth2.token has no counterpart" in check(spark, place, by_spark=False)


def _azure(spark: SparkSession, folder: Path, server: Mapping[str, str]) -> None:
    """Read by the keys of an account, which paths do not name."""
    lake = {"type": "sql", "uri": f"sqlite:///{folder}/azure.db", **server}
    _lives(spark, lake)
    assert "adls.sas-token has no" in check(spark, {**lake, "adls.sas-token": ""}, by_spark=False)


def _lives(spark: SparkSession, lake: Mapping[str, str]) -> None:
    """Read a table as it is made, changed, and merged by Spark."""
    made(lake)
    check(spark, lake, by_spark=True)
    arctic.write(NAME, rows(40, 60, "Oslo"), mode="upsert", catalog=lake)
    check(spark, lake, by_spark=True)
    arctic.optimize(NAME, type="full", catalog=lake, spark=spark)
    check(spark, lake, by_spark=True)


if __name__ == "__main__":
    main()
