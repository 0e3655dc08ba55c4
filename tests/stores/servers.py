"""Object stores beside S3 for tests: each a server on loopback, and what a catalog must be told."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pyarrow.fs import AzureFileSystem

from tests.java.plain_java import running_java

HDFS = Path(sys.prefix) / "hdfs"
AZURITE = Path(sys.prefix) / "azurite"
_MAIN = AZURITE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
_ACCOUNT = "devstoreaccount1"
# The key that this server has for that account everywhere; it opens nothing else.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_LISTENS = re.compile(r"listens on http://(127\.0\.0\.1:\d+)")
_NO_END = "4102444800000"  # in the year 2100


@contextmanager
def running_azure() -> Iterator[Mapping[str, str]]:
    """Start Azurite, Microsoft's own; yield the properties that reach its container ``lake``."""
    node = shutil.which("node")
    if node is None or not (AZURITE / ".installed").exists():
        pytest.skip("needs Node.js and Azurite, which `make` installs with npm")
    # Arrow asks for a newer version of the protocol than it knows by name.
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with subprocess.Popen(
        [node, _MAIN, "--blobHost", "127.0.0.1", "--blobPort", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = next(filter(None, map(_LISTENS.search, process.stdout)))
            address = {
                f"{kind}_storage_{part}": text
                for kind in ("blob", "dfs")
                for part, text in (("authority", found[1]), ("scheme", "http"))
            }
            AzureFileSystem(_ACCOUNT, account_key=_KEY, **address).create_dir("lake")
            yield {
                "warehouse": "abfss://lake/tables",
                "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
                "adls.account-name": _ACCOUNT,
                "adls.account-key": _KEY,
                **{f"adls.{name.replace('_', '-')}": text for name, text in address.items()},
            }
        finally:
            process.kill()


@contextmanager
def running_hadoop() -> Iterator[Mapping[str, str]]:
    """Start Hadoop's own name node, with one data node; yield the warehouse in it."""
    jars = sorted(HDFS.glob("*.jar"))
    if not jars:
        pytest.skip(f"needs Maven: `make test-servers` puts Hadoop's cluster into {HDFS}")
    with running_java(jars) as jvm, TemporaryDirectory() as folder:
        settings = jvm.org.apache.hadoop.conf.Configuration()
        settings.set("hdfs.minidfs.basedir", folder)
        cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(settings).build()
        try:
            cluster.waitActive()
            yield {"warehouse": f"hdfs://127.0.0.1:{cluster.getNameNodePort()}/tables"}
        finally:
            cluster.shutdown()


@contextmanager
def running_google() -> Iterator[Mapping[str, str]]:
    """Start a server of Google's interface; yield the properties that reach its bucket ``lake``."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stores.gcs_server"],
        cwd=Path(__file__).parent.parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield {
            "warehouse": "gs://lake/tables",
            "gcs.service.host": f"http://127.0.0.1:{port}",
            "gcs.oauth2.token": "anybody",
            "gcs.oauth2.token-expires-at": _NO_END,
        }


def service_account() -> Mapping[str, str]:
    """Make the keys of somebody as Google hands them out; this server takes anybody's."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "project_id": "lake",
        "private_key_id": "1",
        "private_key": text.decode(),
        "client_email": "tests@lake.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": "http://127.0.0.1:1/token",  # Arrow signs by itself
    }
