"""Paths and keys of a table's files as Hadoop says them, for Spark's own Parquet scan.

Strategy: settings name one bucket, account or host, so that they say nothing of any other. What the
session's own configuration says of a setting stays, see ``HadoopFiles.java``, which also tries
whether a file is reached so.

Rules:
    - A property that Hadoop has no word for, and that has a say in what is reached, keeps Spark
      away from the files; workers of Python read them.
    - Of keys that end, those of S3 alone are handed on. Hadoop keeps a client for as long as the
      process lives, so newer ones are other settings of the bucket, with which Python reads.

Must not know: sessions, tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from arctic.iceberg.storage.io_properties import IO_IMPL
from arctic.iceberg.storage.local_files import is_local

_PLAIN_IO = frozenset({"pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO"})
_S3_SCHEME = re.compile(r"^s3n?://")
_AZURE_CONTAINER = re.compile(r"^(abfss?)://([^/@]+)(?=/)")
_AZURE_AUTHORITY = ".dfs.core.windows.net"
_S3_PROVIDER = "org.apache.hadoop.fs.s3a.{}AWSCredentialsProvider"
_NO_SAY = re.compile(
    r"s3\.(connect-timeout|request-timeout|resolve-region|retry-strategy-impl|sse\..*|"
    r"session-token-expires-at-ms|path-style-access)|gcs\.(default-bucket-location|cache-timeout|"
    r"consistency|requester-pays|version-aware)"
)
"""Properties that change how a client behaves, not what it reaches, nor as whom."""

Settings = dict[str, str]


def hindrance(location: str, properties: Mapping[str, str]) -> str | None:
    """Return why Spark cannot be given files as they are reached here; None: it can.

    >>> hindrance("oss://bucket/t", {})
    'paths that begin with oss:// are not known to Spark'
    >>> hindrance("s3://bucket/t", {"s3.signer": "theirs"})
    'property s3.signer has no counterpart in Hadoop'
    >>> hindrance("s3://bucket/t", {"s3.region": "eu-central-1"}), hindrance("/lake/t", {})
    (None, None)
    """
    if is_local(location):
        return None
    place = urlsplit(location)
    known = _KNOWN.get(place.scheme)
    if known is None:
        return f"paths that begin with {place.scheme}:// are not known to Spark"
    prefixes, mapped, _ = known
    if properties.get(IO_IMPL, next(iter(_PLAIN_IO))) not in _PLAIN_IO:
        return f"property {IO_IMPL} has no counterpart in Hadoop"
    for name in sorted(properties):
        if name.startswith(prefixes) and name not in mapped and not _NO_SAY.fullmatch(name):
            return f"property {name} has no counterpart in Hadoop"
    return None


def hadoop_path(path: str, properties: Mapping[str, str]) -> str:
    """Return a path as Hadoop's file systems take it.

    >>> hadoop_path("s3://bucket/x", {}), hadoop_path("hdfs://host/x", {})
    ('s3a://bucket/x', 'hdfs://host/x')
    >>> hadoop_path("abfss://lake/x", {"adls.account-name": "acme"})
    'abfss://lake@acme.dfs.core.windows.net/x'
    """
    if path.startswith("abfs"):
        return _azure_path(path, properties)
    return _S3_SCHEME.sub("s3a://", path)


def hadoop_settings(paths: Iterable[str], properties: Mapping[str, str]) -> Settings:
    """Return what Hadoop must be told to open files for which ``hindrance`` is None.

    >>> hadoop_settings(["s3://b/x", "s3://b/y"], {"s3.region": "eu-central-1"})
    {'fs.s3a.bucket.b.endpoint.region': 'eu-central-1'}
    """
    settings: Settings = {}
    for scheme, host in sorted({urlsplit(path)[:2] for path in paths if not is_local(path)}):
        if scheme in _KNOWN:
            settings |= _KNOWN[scheme][2](host, properties)
    return settings


def _s3(bucket: str, properties: Mapping[str, str]) -> Settings:
    def given(name: str) -> str | None:
        return properties.get(f"s3.{name}") or properties.get(f"client.{name}")

    told: dict[str, str | None] = {"endpoint.region": given("region")}
    endpoint = given("endpoint")
    if endpoint is not None:
        told["endpoint"] = endpoint
        told["connection.ssl.enabled"] = _truth(not endpoint.startswith("http://"))
        told["path.style.access"] = _truth(not _is_true(given("force-virtual-addressing")))
    if given("access-key-id") is not None:
        told["access.key"], told["secret.key"] = given("access-key-id"), given("secret-access-key")
        token = told["session.token"] = given("session-token")
        told["aws.credentials.provider"] = _S3_PROVIDER.format("Temporary" if token else "Simple")
    elif _is_true(given("anonymous")):
        told["aws.credentials.provider"] = _S3_PROVIDER.format("Anonymous")
    return {
        f"fs.s3a.bucket.{bucket}.{name}": text for name, text in told.items() if text is not None
    }


def _gcs(_: str, properties: Mapping[str, str]) -> Settings:
    return {
        setting: properties[name] for name, setting in _GCS_SETTINGS.items() if name in properties
    }


def _azure_path(path: str, properties: Mapping[str, str]) -> str:
    """Name the account where a path names its container alone, as pyarrow takes it."""
    host = _azure_host("", properties)
    if host:
        path = _AZURE_CONTAINER.sub(rf"\1://\2@{host}", path)
    if properties.get("adls.dfs-storage-scheme") == "http":  # to Hadoop the other one is https
        path = re.sub("^abfss:", "abfs:", path)
    return path


def _azure_host(place: str, properties: Mapping[str, str]) -> str:
    account = properties.get("adls.account-name")
    if "@" in place or not account:
        return place.rpartition("@")[2]
    authority = properties.get("adls.dfs-storage-authority", "")
    return account + (authority if authority.startswith(".") else _AZURE_AUTHORITY)


def _azure(place: str, properties: Mapping[str, str]) -> Settings:
    host, told = _azure_host(place, properties), {}
    authority = properties.get("adls.dfs-storage-authority", ".")
    if not authority.startswith("."):
        told["fs.azure.abfs.endpoint"] = authority
    if scheme := properties.get("adls.dfs-storage-scheme"):
        told["fs.azure.always.use.https"] = _truth(scheme != "http")
    if key := properties.get("adls.account-key"):
        return {**told, f"fs.azure.account.key.{host}": key}
    if client := properties.get("adls.client-id"):
        tenant = properties.get("adls.tenant-id", "")
        oauth = f"fs.azure.account.oauth2.client.{{}}.{host}"
        return {
            **told,
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"fs.azure.account.oauth.provider.type.{host}": (
                "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
            ),
            oauth.format("id"): client,
            oauth.format("secret"): properties.get("adls.client-secret", ""),
            oauth.format("endpoint"): f"https://login.microsoftonline.com/{tenant}/oauth2/token",
        }
    return told


def _hdfs(_: str, __: Mapping[str, str]) -> Settings:
    return {}


def _truth(value: bool) -> str:
    return str(value).lower()


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() in ("true", "yes", "on", "1", "y", "t")


_Known = tuple[tuple[str, ...], frozenset[str], Callable[[str, Mapping[str, str]], Settings]]

_S3: _Known = (
    ("s3.", "client."),
    frozenset(
        f"{prefix}.{name}"
        for prefix in ("s3", "client")
        for name in (
            *("access-key-id", "anonymous", "endpoint", "force-virtual-addressing", "region"),
            *("secret-access-key", "session-token"),
        )
    ),
    _s3,
)
_GCS_SETTINGS = {
    "gcs.project-id": "fs.gs.project.id",
    "gcs.service.host": "fs.gs.storage.root.url",
}
_GCS: _Known = (("gcs.",), frozenset(_GCS_SETTINGS), _gcs)
_AZURE: _Known = (
    ("adls.",),
    frozenset(
        f"adls.{name}"
        for name in (
            *("account-key", "account-name", "client-id", "client-secret", "tenant-id"),
            *("blob-storage-authority", "blob-storage-scheme"),
            *("dfs-storage-authority", "dfs-storage-scheme"),
        )
    ),
    _azure,
)
_HDFS: _Known = (("hdfs.",), frozenset(), _hdfs)
_KNOWN: Mapping[str, _Known] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _S3),
    "gs": _GCS,
    **dict.fromkeys(("abfs", "abfss"), _AZURE),
    **dict.fromkeys(("hdfs", "viewfs"), _HDFS),
}
"""By scheme: the properties that concern it, those that are mapped, and what maps them."""
