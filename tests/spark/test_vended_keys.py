"""Keys of an object store that a REST catalog hands out with each table, and nobody else has."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import boto3
import pytest
from pyspark.sql import SparkSession

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.storage.cache.kept_small_files import KEPT_SMALL_FILES
from arctic.iceberg.storage.kept_metadata import KEPT_FILES
from arctic.iceberg.tables.open_table import open_table
from benchmarks.requests.object_store import BUCKET, REGION, ObjectStore, object_store
from tests.catalogs.rest_server import Door, opened_door
from tests.catalogs.verbs import SCHEMA, Shop
from tests.java.plain_java import running_java
from tests.spark.stores_driver import JARS

_ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}
Keys = tuple[str, str]


class Lake(NamedTuple):
    """A catalog that hands out keys, and the store that they open."""

    door: Door
    store: ObjectStore
    iam: Any
    """A client that may take keys away."""
    keys: Mapping[str, Keys]
    """By the name of whose they are."""

    @property
    def catalog(self) -> dict[str, str]:
        """What a client is told: where the store is, and no key of it."""
        return {**self.door.catalog, **self.store.properties(with_keys=False)}

    @property
    def given(self) -> dict[str, str]:
        """The same as options of Spark's."""
        plain = {name: text for name, text in self.catalog.items() if name != "token"}
        secret = {"catalog.secret.token": self.catalog["token"]}
        return {**{f"catalog.{name}": text for name, text in plain.items()}, **secret}

    def hand_out(self, name: str) -> None:
        """Give the keys of somebody to clients from now on."""
        key, secret = self.keys[name]
        config = {"s3.access-key-id": key, "s3.secret-access-key": secret}
        self.door.vended = [
            {"prefix": f"s3://{BUCKET}/", "config": config},
            {"prefix": f"s3://{BUCKET}/elsewhere/", "config": {"s3.access-key-id": "wrong"}},
        ]

    def hand_out_each(self, *names: str) -> None:
        """Give the keys of somebody with what lies in the folder of that name alone."""
        self.door.vended = [
            {
                "prefix": f"s3://{BUCKET}/tables/shop/{name}/",
                "config": {
                    "s3.access-key-id": self.keys[name][0],
                    "s3.secret-access-key": self.keys[name][1],
                },
            }
            for name in names
        ]

    def take_away(self, name: str) -> None:
        """Let the keys of somebody end, as those do that are handed out for an hour."""
        self.iam.delete_access_key(UserName=name, AccessKeyId=self.keys[name][0])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Start both, with keys for the catalog itself."""
    with object_store() as store, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            patch.delenv(name, raising=False)
        names = ("first", "second", "third", "fourth", "fifth")
        keys = {name: store.user(name, "*") for name in names}
        for name in ("own", "own_change_"):
            keys[name] = store.user(name, "*", within=f"{BUCKET}/tables/shop/{name}/")
        iam = store._client("iam")
        iam.create_user(UserName="admin")
        policy = json.dumps({"Version": "2012-10-17", "Statement": [_ALL]})
        iam.put_user_policy(UserName="admin", PolicyName="all", PolicyDocument=policy)
        admin = iam.create_access_key(UserName="admin")["AccessKey"]
        own = store.demand_signatures()
        client = boto3.client(
            "iam",
            endpoint_url=store.endpoint,
            region_name=REGION,
            aws_access_key_id=admin["AccessKeyId"],
            aws_secret_access_key=admin["SecretAccessKey"],
        )
        hadoop = {
            "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "fs.s3a.endpoint": store.endpoint,
            "fs.s3a.endpoint.region": REGION,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": own[0],
            "fs.s3a.secret.key": own[1],
        }
        folder, warehouse = tmp_path_factory.mktemp("rest"), f"s3://{BUCKET}/tables"
        with (
            running_java(sorted(JARS.glob("*.jar"))) as jvm,
            opened_door(jvm, folder, warehouse=warehouse, hadoop=hadoop) as door,
        ):
            yield Lake(door, store, client, keys)


def test_a_table_lives_by_keys_that_come_with_it(lake: Lake) -> None:
    """The longest prefix that fits says which of them; without any, the store refuses."""
    lake.hand_out("first")
    shop = Shop(lake.catalog)
    arctic.create_table(shop.name, SCHEMA, primary_key=["id"], catalog=lake.catalog)
    shop.upsert(range(50), "Rome")
    shop.upsert(range(40, 60), "Oslo")
    shop.delete(range(5, 15))
    shop.check()
    arctic.optimize(shop.name, type="full", catalog=lake.catalog)
    shop.check()
    lake.door.vended = ()
    with pytest.raises(arctic.StorageError):
        shop.check()


def test_keys_that_ended_are_followed_by_new_ones(lake: Lake) -> None:
    """A table that a process holds open goes on with what the catalog hands out next."""
    lake.hand_out("second")
    shop = Shop(lake.catalog)
    shop.name = "shop.rotated"
    table = arctic.create_table(shop.name, SCHEMA, primary_key=["id"], catalog=lake.catalog)
    shop.upsert(range(5), "Rome")
    shop.check()

    lake.take_away("second")
    # What this process has read is the same person's, by whichever keys.
    assert table.read().read_all().num_rows == 5
    KEPT_SMALL_FILES.forget()
    KEPT_FILES.forget()
    with pytest.raises(arctic.StorageError):
        table.read().read_all()
    lake.hand_out("third")
    assert table.read().read_all().num_rows == 5
    shop.upsert(range(3, 8), "Oslo")
    shop.check()


def test_each_store_is_opened_with_its_own_keys(lake: Lake) -> None:
    """A catalog may hand out keys that open the folder of one store and nothing else."""
    lake.hand_out_each("own", "own_change_")
    shop = Shop(lake.catalog)
    shop.name = "shop.own"
    arctic.create_table(shop.name, SCHEMA, primary_key=["id"], catalog=lake.catalog)
    shop.upsert(range(5), "Rome", mode="overwrite")
    shop.upsert(range(3, 8), "Oslo")
    shop.check()
    arctic.optimize(shop.name, type="full", catalog=lake.catalog)
    shop.check()


def test_old_keys_are_asked_for_again_before_a_store_refuses_them(lake: Lake) -> None:
    """Where a file is opened, in whatever process, and once for all who open some there."""
    lake.hand_out("first")
    arctic.create_table("shop.old", SCHEMA, primary_key=["id"], catalog=lake.catalog)
    config = CatalogConfig.from_options(lake.given)
    opened = replace(open_table(config, "shop.old"), opened_ms=0)
    sent = pickle.loads(pickle.dumps(opened.io))
    path = f"{opened.base.location()}/data/1.parquet"
    lake.hand_out("third")
    lake.door.asked.clear()

    for _ in range(3):
        assert sent.keys.properties(path)["s3.access-key-id"] == lake.keys["third"][0]
    assert lake.door.asked == {"load shop.old": 1}


@pytest.mark.spark
def test_spark_tasks_go_on_with_new_keys_once_theirs_have_ended(
    spark: SparkSession, lake: Lake
) -> None:
    """Tasks of one plan run one after the other; between two the keys of the plan end."""
    lake.hand_out("fourth")
    arctic.create_table("shop.late", SCHEMA, primary_key=["id"], catalog=lake.catalog)
    given = lake.given
    spark.range(40).selectExpr("id", "'Rome' AS city").write.format("arctic").options(**given).mode(
        "upsert"
    ).save("shop.late")
    options = {**given, "read.split.target-size": "1"}
    found = spark.read.format("arctic").options(**options).load("shop.late").toLocalIterator()
    rows = [next(found)]
    lake.take_away("fourth")
    lake.hand_out("fifth")
    rows += found

    assert sorted(row["id"] for row in rows) == list(range(40))


@pytest.mark.spark
def test_spark_tasks_read_and_write_with_keys_of_the_table(spark: SparkSession, lake: Lake) -> None:
    """They have neither the driver's variables nor keys in their options."""
    lake.hand_out("third")
    given = lake.given
    arctic.create_table("shop.tasks", SCHEMA, primary_key=["id"], catalog=lake.catalog)
    rows = spark.range(20).selectExpr("id", "'Rome' AS city").repartition(2)
    rows.write.format("arctic").options(**given).mode("upsert").save("shop.tasks")

    read = spark.read.format("arctic").options(**given).load("shop.tasks")
    assert (read.count(), read.where("id < 7").count()) == (20, 7)
