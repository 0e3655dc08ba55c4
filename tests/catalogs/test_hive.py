"""A Hive metastore that is too new for PyIceberg, as its own protocol says it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hive_metastore.ThriftHiveMetastore import Processor
from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TSocket, TTransport

import arctic


class _Listening(TSocket.TServerSocket):  # type: ignore[misc]
    def listen(self) -> None:
        """Take a port, once: whoever serves asks again."""
        if self.handle is None:
            super().listen()

    def accept(self) -> TSocket.TSocket:
        """End the loop of who serves, once the port is given back: it has no end of its own."""
        if self.handle is None:
            raise SystemExit
        return super().accept()


class _NewMetastore(TServer.TThreadedServer):  # type: ignore[misc]
    def __init__(self) -> None:
        processor = Processor(object())
        del processor._processMap["get_table"]
        self.listening = _Listening("127.0.0.1", 0)
        self.listening.listen()
        factories = (
            TTransport.TBufferedTransportFactory(),
            TBinaryProtocol.TBinaryProtocolFactory(),
        )
        super().__init__(processor, self.listening, *factories, daemon=True)

    def serve(self) -> None:
        """Answer until the port is given back."""
        with suppress(SystemExit):
            super().serve()


@pytest.fixture
def metastore() -> Iterator[dict[str, str]]:
    """Start what answers as Hive 4.0.1, and return the properties of its catalog."""
    server = _NewMetastore()
    threading.Thread(target=server.serve, daemon=True).start()
    port = server.listening.handle.getsockname()[1]
    yield {"type": "hive", "uri": f"thrift://127.0.0.1:{port}"}
    server.listening.handle.shutdown(socket.SHUT_RDWR)
    server.listening.close()


def test_a_metastore_that_is_too_new_is_named(metastore: dict[str, str]) -> None:
    """What it says alone, an unknown function, helps nobody."""
    with pytest.raises(arctic.UnsupportedError, match=r"get_table: Hive 4\.0\.1 and newer"):
        arctic.open_table("shop.users", catalog=metastore)
