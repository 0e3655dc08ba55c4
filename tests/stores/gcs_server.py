"""A server of Google Cloud Storage on loopback, as a process of its own: its port is printed.

It is gcp-storage-emulator's, which holds objects in memory, and ends with its standard input.
"""

from __future__ import annotations

import sys

from gcp_storage_emulator import server

BUCKET = "lake"


def main() -> None:
    """Serve until the input ends."""
    # What does not fit into one packet would wait for the client's word, 40 ms.
    server.RequestHandler.disable_nagle_algorithm = True
    storage = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    with storage:
        print(storage._api._httpd.server_port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
