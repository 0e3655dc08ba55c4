"""Who answers in the place of a schema registry, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pytest

from arctic.errors import StorageError
from arctic.kafka.avro_texts import AvroTexts
from arctic.kafka.schema_registry import SchemaRegistry

MESSAGE = b"\x00\x00\x00\x00\x01\x02"


class Door(ThreadingHTTPServer):
    """Answers each call with the same."""

    answer = b""

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class _Call(BaseHTTPRequestHandler):
    server: Door

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *said: object) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """Stand where a registry is looked for."""
    with Door(("127.0.0.1", 0), _Call) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    "answer", [b"<html>sign in</html>", b"", b"null", b"[]", b'"x"', b"{}", b'{"schema":null}']
)
def test_an_answer_that_is_no_registrys_breaks_no_message(door: Door, answer: bytes) -> None:
    """A page to sign in is one: the reader stops, and reads on once the registry is back."""
    door.answer = answer
    registry = SchemaRegistry({"url": door.url, "max.retries": "0"})
    texts = AvroTexts(registry, row_field="")

    with pytest.raises(StorageError, match=f"ask the schema registry {door.url} for schema 1: "):
        texts.values(pa.chunked_array([[MESSAGE]]))
    registry.close()


def test_a_schema_that_is_no_json_breaks_its_messages(door: Door) -> None:
    """Those that name it can never be read."""
    door.answer = b'{"schema":"nothing"}'
    registry = SchemaRegistry({"url": door.url, "max.retries": "0"})

    texts = AvroTexts(registry, row_field="")
    [found] = texts.values(pa.chunked_array([[MESSAGE]])).texts.to_pylist()

    assert found is not None
    assert found.startswith(b"no Avro, ")
    registry.close()
