"""Paths and keys as Hadoop says them, on values alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from arctic.spark.read.hadoop_access import hadoop_path, hadoop_settings, hindrance

KEYS = {"s3.access-key-id": "A", "s3.secret-access-key": "S"}
SIMPLE = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
AZURE = "abfss://lake@acme.dfs.core.windows.net/t"


@pytest.mark.parametrize(
    ("location", "properties", "settings"),
    [
        ("s3://b/t", {}, {}),
        ("s3://b/t", {"uri": "sqlite:///x", "token": "x", "s3.connect-timeout": "5"}, {}),
        (
            "s3a://b/t",
            {**KEYS, "s3.endpoint": "http://127.0.0.1:9", "s3.region": "here"},
            {
                "fs.s3a.bucket.b.endpoint": "http://127.0.0.1:9",
                "fs.s3a.bucket.b.endpoint.region": "here",
                "fs.s3a.bucket.b.connection.ssl.enabled": "false",
                "fs.s3a.bucket.b.path.style.access": "true",
                "fs.s3a.bucket.b.access.key": "A",
                "fs.s3a.bucket.b.secret.key": "S",
                "fs.s3a.bucket.b.aws.credentials.provider": SIMPLE,
            },
        ),
        (
            "s3://b/t",
            {**KEYS, "s3.session-token": "T", "s3.session-token-expires-at-ms": "9"},
            {
                "fs.s3a.bucket.b.access.key": "A",
                "fs.s3a.bucket.b.secret.key": "S",
                "fs.s3a.bucket.b.session.token": "T",
                "fs.s3a.bucket.b.aws.credentials.provider": SIMPLE.replace("Simple", "Temporary"),
            },
        ),
        (
            "s3://b/t",
            {"client.region": "here", "s3.anonymous": "true"},
            {
                "fs.s3a.bucket.b.endpoint.region": "here",
                "fs.s3a.bucket.b.aws.credentials.provider": SIMPLE.replace("Simple", "Anonymous"),
            },
        ),
        (
            "s3://b/t",
            {"s3.endpoint": "https://s3.acme.com", "s3.force-virtual-addressing": "True"},
            {
                "fs.s3a.bucket.b.endpoint": "https://s3.acme.com",
                "fs.s3a.bucket.b.connection.ssl.enabled": "true",
                "fs.s3a.bucket.b.path.style.access": "false",
            },
        ),
        ("gs://b/t", {"gcs.project-id": "p"}, {"fs.gs.project.id": "p"}),
        (
            "gs://b/t",
            {"gcs.service.host": "http://127.0.0.1:9"},
            {"fs.gs.storage.root.url": "http://127.0.0.1:9"},
        ),
        ("hdfs://name:8020/t", {}, {}),
        (
            AZURE,
            {"adls.account-name": "acme", "adls.account-key": "K"},
            {"fs.azure.account.key.acme.dfs.core.windows.net": "K"},
        ),
        (
            "abfss://lake/t",
            {
                "adls.account-name": "acme",
                "adls.account-key": "K",
                "adls.blob-storage-authority": "127.0.0.1:9",
                "adls.dfs-storage-authority": "127.0.0.1:9",
                "adls.blob-storage-scheme": "http",
                "adls.dfs-storage-scheme": "http",
            },
            {
                "fs.azure.abfs.endpoint": "127.0.0.1:9",
                "fs.azure.always.use.https": "false",
                "fs.azure.account.key.acme.dfs.core.windows.net": "K",
            },
        ),
        (
            "abfss://lake/t",
            {
                "adls.account-name": "acme",
                "adls.account-key": "K",
                "adls.dfs-storage-authority": ".dfs.core.chinacloudapi.cn",
            },
            {"fs.azure.account.key.acme.dfs.core.chinacloudapi.cn": "K"},
        ),
        ("/lake/t", {"s3.signer": "x"}, {}),
    ],
)
def test_what_has_a_word_in_hadoop_is_said_for_one_place(
    location: str, properties: Mapping[str, str], settings: Mapping[str, str]
) -> None:
    """Not for a whole scheme: other buckets keep the keys that Spark has for them."""
    assert hindrance(location, properties) is None
    assert hadoop_settings([f"{location}/x", f"{location}/y"], properties) == settings


def test_a_client_of_azure_is_one_of_its_account() -> None:
    """By the three properties that PyIceberg takes together."""
    properties = {"adls.client-id": "C", "adls.client-secret": "S", "adls.tenant-id": "T"}
    told = hadoop_settings([AZURE], properties)

    assert {
        name.removesuffix(".acme.dfs.core.windows.net"): text for name, text in told.items()
    } == {
        "fs.azure.account.auth.type": "OAuth",
        "fs.azure.account.oauth.provider.type": (
            "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
        ),
        "fs.azure.account.oauth2.client.id": "C",
        "fs.azure.account.oauth2.client.secret": "S",
        "fs.azure.account.oauth2.client.endpoint": (
            "https://login.microsoftonline.com/T/oauth2/token"
        ),
    }


@pytest.mark.parametrize(
    ("location", "properties", "reason"),
    [
        ("oss://b/t", {}, "oss://"),
        ("s3://b/t", {"py-io-impl": "their.IO"}, "py-io-impl"),
        ("s3://b/t", {"client.role-arn": "x"}, "client.role-arn"),
        ("s3://b/t", {"s3.profile-name": "x"}, "s3.profile-name"),
        ("s3://b/t", {"s3.of-tomorrow": "x"}, "s3.of-tomorrow"),
        ("gs://b/t", {"gcs.oauth2.token": "x"}, "gcs.oauth2.token"),
        (AZURE, {"adls.sas-token": "x"}, "adls.sas-token"),
        ("hdfs://h/t", {"hdfs.user": "x"}, "hdfs.user"),
    ],
)
def test_what_has_none_is_named(location: str, properties: Mapping[str, str], reason: str) -> None:
    """A property of another store does not matter; its value is never said."""
    told = hindrance(location, {**properties, "hf.token": "of others"})

    assert told is not None
    assert reason in told
    assert "of others" not in told
    assert hindrance("file:///lake/t", properties) is None


def test_paths_have_the_names_that_hadoop_gives_them() -> None:
    """Others have the same name on both sides; nothing else of a path is touched."""
    azure = {"adls.account-name": "acme", "adls.dfs-storage-authority": ".dfs.acme.net"}
    plain = {"adls.account-name": "acme", "adls.dfs-storage-scheme": "http"}
    for given, properties, expected in (
        ("s3://b/a b%25/x", {}, "s3a://b/a b%25/x"),
        ("s3n://b/x", {}, "s3a://b/x"),
        ("s3a://b/s3://x", {}, "s3a://b/s3://x"),
        ("gs://b/x", azure, "gs://b/x"),
        ("/w/s3://x", {}, "/w/s3://x"),
        ("file:/w/x", {}, "file:/w/x"),
        ("abfss://c/a@b/x", azure, "abfss://c@acme.dfs.acme.net/a@b/x"),
        ("abfss://c/x", plain, "abfs://c@acme.dfs.core.windows.net/x"),
        ("abfs://c/x", {}, "abfs://c/x"),
        ("abfs://c@other.dfs.acme.net/x", azure, "abfs://c@other.dfs.acme.net/x"),
    ):
        assert hadoop_path(given, properties) == expected
