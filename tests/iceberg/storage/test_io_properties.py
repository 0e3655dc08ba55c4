"""By what those are known who reach files: the same person again, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.storage.io_properties import known_by, opened_by, without_checks
from arctic.iceberg.storage.table_io import TableIO
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server

SCHEMA = pa.schema([("id", pa.int64())])


def made(server: RestServer, **keys: str) -> tuple[TableIO, tuple[Any, ...]]:
    """Open a catalog anew; return the access to files of ``db.t``, and by what it is known."""
    options = {f"catalog.{name}": text for name, text in {**server.properties, **keys}.items()}
    store = load_table(open_catalog(CatalogConfig.from_options(options)), ("db", "t"))
    assert store is not None
    access = TableIO.of(store)
    return access, known_by(access.properties)


def test_who_opens_a_catalog_again_is_known(tmp_path: Path) -> None:
    """Each call has a session of its own with the catalog, which is no part of what is known."""
    with rest_server(tmp_path) as server:
        arctic.create_table("db.t", SCHEMA, primary_key=[], catalog=server.properties)
        (one, known), (again, known_again) = (made(server) for _ in range(2))
        token = {"token": "mine"}
        mine, others = (made(server, **keys)[1] for keys in (token, {"token": "other"}))

        assert one.properties == again.properties
        assert known == known_again
        assert mine == made(server, **token)[1]
        assert len({known, mine, others}) == 3


def test_what_the_configuration_logs_in_with_counts() -> None:
    """It stands in a section of its own, none of which is handed to those who open files."""
    basic: Any = {"type": "basic", "basic": {"username": "ann", "password": "pa55"}}
    other: Any = {"type": "basic", "basic": {"username": "bob", "password": "pa55"}}
    both = [without_checks({"auth": each, **opened_by({"auth": each})}) for each in (basic, other)]

    assert known_by(both[0]) != known_by(both[1])
    assert "pa55" not in str(both)


@pytest.mark.parametrize("signs", [False, True])
def test_what_is_no_text_goes_to_those_who_need_it(signs: bool) -> None:
    """Who has requests signed by the catalog asks it by what PyIceberg logs in with."""
    manager = object()
    signer = {"s3.signer": "S3V4RestSigner"} if signs else {}
    found: dict[str, Any] = without_checks(
        {"s3.region": "x", "auth.manager": manager, **signer}  # type: ignore[dict-item]
    )

    assert found.get("auth.manager") is (manager if signs else None)
    assert known_by(found) == tuple(sorted({"s3.region": "x", **signer}.items()))
