"""Keys of an object store: by properties, variables or a profile, and printed nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from s3fs import S3FileSystem

import arctic
from arctic.errors import StorageError
from arctic.iceberg.storage.file_io import cached_file_io
from benchmarks.requests.object_store import REGION, ObjectStore, object_store

NAME = "shop.users"
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
ROWS = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"]}, schema=SCHEMA)
VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
MARK = "M4RKERs3cret"


@pytest.fixture(scope="module")
def keys() -> Iterator[tuple[ObjectStore, str, str]]:
    """Return a server that knows one pair of keys, and these."""
    with object_store() as store:
        yield store, *store.demand_signatures()


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Leave no keys of whoever runs the tests, and look for none on the network."""
    for name in (*VARIABLES, "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    forget_clients()


def forget_clients() -> None:
    """Be a process in which no client has found keys yet."""
    cached_file_io.cache_clear()
    S3FileSystem.clear_instance_cache()


def by_properties(_: pytest.MonkeyPatch, __: Path, pair: tuple[str, str]) -> dict[str, str]:
    """Name them where the catalog is named."""
    return {"s3.access-key-id": pair[0], "s3.secret-access-key": pair[1]}


def by_variables(monkeypatch: pytest.MonkeyPatch, _: Path, pair: tuple[str, str]) -> dict[str, str]:
    """Name them as every client of AWS does."""
    for name, value in zip(VARIABLES, pair, strict=True):
        monkeypatch.setenv(name, value)
    return {}


def by_profile(
    monkeypatch: pytest.MonkeyPatch, folder: Path, pair: tuple[str, str]
) -> dict[str, str]:
    """Name a profile of the file that clients of AWS read."""
    lines = ["[lake]", f"aws_access_key_id = {pair[0]}", f"aws_secret_access_key = {pair[1]}", ""]
    (folder / "credentials").write_text("\n".join(lines))
    monkeypatch.setenv("AWS_PROFILE", "lake")
    return {}


Way = Callable[[pytest.MonkeyPatch, Path, tuple[str, str]], dict[str, str]]


@pytest.mark.parametrize("way", [by_properties, by_variables, by_profile])
def test_keys_come_in_three_ways_and_wrong_ones_are_refused(
    keys: tuple[ObjectStore, str, str],
    library: Mapping[str, str],
    way: Way,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With either library; and what is said of a wrong key does not say the key."""
    store, key, secret = keys
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "warehouse": f"s3://lake/{tmp_path.name}",
        **store.properties(with_keys=False),
        **library,
    }
    right = {**catalog, **way(monkeypatch, tmp_path, (key, secret))}
    table = arctic.create_table(NAME, SCHEMA, primary_key=["id"], catalog=right)
    table.write(ROWS, mode="upsert")
    assert table.count() == 2
    assert secret not in repr(table._opened)

    forget_clients()
    wrong = {**catalog, **way(monkeypatch, tmp_path, (key, MARK))}
    with pytest.raises(StorageError) as raised:
        arctic.open_table(NAME, catalog=wrong).write(ROWS, mode="upsert")
    assert MARK not in "".join(traceback.format_exception(raised.value))


_PROGRAM = """
import arctic, pyarrow as pa
rows = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"]})
table = arctic.create_table("shop.users", rows.schema, primary_key=["id"], catalog="lake")
table.write(rows, mode="upsert")
print(table.count(), table)
"""


def test_a_program_need_not_know_them(keys: tuple[ObjectStore, str, str], tmp_path: Path) -> None:
    """PyIceberg's variables, or its file, say it all of a catalog that the program names."""
    store, key, secret = keys
    properties = {
        "TYPE": "sql",
        "URI": f"sqlite:///{tmp_path}/catalog.db",
        "WAREHOUSE": f"s3://lake/{tmp_path.name}",
        "S3__ENDPOINT": store.endpoint,
        "S3__REGION": REGION,
        "S3__ACCESS_KEY_ID": key,
        "S3__SECRET_ACCESS_KEY": secret,
    }
    named = {f"PYICEBERG_CATALOG__LAKE__{name}": text for name, text in properties.items()}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **named},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("2 ")
    assert secret not in done.stdout + done.stderr
