"""Keys of an object store that a REST catalog hands out with each table, and nobody else has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import boto3
import pytest
from pyspark.sql import SparkSession

import arctic
from benchmarks.requests.object_store import BUCKET, REGION, ObjectStore, object_store
from tests.catalogs.rest_server import Door, opened_door
from tests.catalogs.verbs import SCHEMA, Shop
from tests.java.plain_java import running_java
from tests.spark.s3a_driver import JARS

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

    def hand_out(self, name: str) -> None:
        """Give the keys of somebody to clients from now on."""
        key, secret = self.keys[name]
        config = {"s3.access-key-id": key, "s3.secret-access-key": secret}
        self.door.vended = [
            {"prefix": f"s3://{BUCKET}/", "config": config},
            {"prefix": f"s3://{BUCKET}/elsewhere/", "config": {"s3.access-key-id": "wrong"}},
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
        keys = {name: store.user(name, "*") for name in ("first", "second", "third")}
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
    with pytest.raises(arctic.StorageError):
        table.read().read_all()
    lake.hand_out("third")
    assert table.read().read_all().num_rows == 5
    shop.upsert(range(3, 8), "Oslo")
    shop.check()


@pytest.mark.spark
def test_spark_tasks_read_and_write_with_keys_of_the_table(spark: SparkSession, lake: Lake) -> None:
    """They have neither the driver's variables nor keys in their options."""
    lake.hand_out("third")
    given = {f"catalog.{name}": text for name, text in lake.catalog.items() if name != "token"}
    given["catalog.secret.token"] = lake.catalog["token"]
    arctic.create_table("shop.tasks", SCHEMA, primary_key=["id"], catalog=lake.catalog)
    rows = spark.range(20).selectExpr("id", "'Rome' AS city").repartition(2)
    rows.write.format("arctic").options(**given).mode("upsert").save("shop.tasks")

    read = spark.read.format("arctic").options(**given).load("shop.tasks")
    assert (read.count(), read.where("id < 7").count()) == (20, 7)
