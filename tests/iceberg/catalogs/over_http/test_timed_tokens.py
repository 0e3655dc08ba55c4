"""Tokens of OAuth2 by a configuration: they are asked for with an end, and once."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog.rest.auth import OAuth2TokenProvider

import arctic
from arctic.errors import StorageError
from arctic.iceberg.catalogs.over_http.timed_rest import SOCKET_TIMEOUT
from arctic.iceberg.catalogs.over_http.timed_tokens import TimedTokenProvider
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server

SCHEMA = pa.schema([("id", pa.int64())])
TOKENS = "/oauth/tokens"
SOON_SECONDS = 20
CONFIGURATION = f"""
catalog:
  lake:
    type: rest
    uri: {{uri}}
    {SOCKET_TIMEOUT}: 300
    auth:
      type: oauth2
      oauth2:
        client_id: me
        client_secret: s3cr3t
        token_url: {{tokens}}
        refresh_margin: 30
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestServer]:
    """A catalog that a configuration names ``lake``, with a table."""
    with rest_server(tmp_path) as served:
        (tmp_path / ".pyiceberg.yaml").write_text(
            CONFIGURATION.format(uri=served.uri, tokens=f"{served.uri}/v1{TOKENS}")
        )
        monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
        yield served


def test_a_token_is_kept_for_the_calls_of_a_session(server: RestServer) -> None:
    """As long as it counts; each verb begins two."""
    arctic.create_table("db.t", SCHEMA, primary_key="id", catalog="lake")
    arctic.write("db.t", pa.table({"id": [1]}), mode="upsert", catalog="lake")

    assert arctic.read("db.t", catalog="lake").read_all().to_pylist() == [{"id": 1}]
    assert 0 < server.count("POST", TOKENS) < len(server.asked) / 3


def test_another_process_may_have_the_tokens_too() -> None:
    """With a lock of its own, and the token as it was."""
    plain = OAuth2TokenProvider("me", "s3cr3t", "http://127.0.0.1:1", expires_in=60)
    tokens = TimedTokenProvider(plain, requests.post)
    tokens._token, tokens._expires_at = "t0ken", 2**62

    assert pickle.loads(pickle.dumps(tokens)).get_token() == "t0ken"


def test_a_token_server_that_hangs_is_an_error_after_a_while(server: RestServer) -> None:
    """It names the catalog, the time and what to do, and no secret."""
    server.is_stuck = lambda _method, path: path.endswith(TOKENS)
    began = time.monotonic()

    with pytest.raises(StorageError) as failed:
        arctic.list_tables(catalog="lake")

    assert time.monotonic() - began < SOON_SECONDS
    assert "no OAuth2 token: catalog 'lake' did not answer within 0.3 seconds" in str(failed.value)
    assert f"give it more time: catalog.{SOCKET_TIMEOUT}" in str(failed.value)
    assert "s3cr3t" not in str(failed.value)


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ((401, b'{"error": "s3cr3t"}'), "401"),
        ((200, b"<html>s3cr3t</html>"), "no OAuth2 token"),
        ((200, b'{"access_token": "t0ken"}'), "expires_in"),
    ],
)
def test_what_is_no_token_is_an_error_that_says_so(
    server: RestServer, instead: tuple[int, bytes], said: str
) -> None:
    """Nothing of the answer is quoted."""
    server.is_stuck, server.instead = lambda _method, path: path.endswith(TOKENS), instead

    with pytest.raises(StorageError, match=said) as failed:
        arctic.list_tables(catalog="lake")

    assert "s3cr3t" not in str(failed.value)
    assert "t0ken" not in str(failed.value)
