"""The server of a test run, whose starter may be killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.postgres.cluster import binaries

_STARTER = """
import sys, time
from tests.postgres.cluster import running_cluster
with running_cluster() as dsn:
    print(dsn, flush=True)
    time.sleep(60)
"""
_PATIENCE_SECONDS = 20


def test_a_server_ends_with_the_process_that_started_it() -> None:
    """Killed without a word, it leaves neither server nor folder."""
    binaries()
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        folder = Path(starter.stdout.readline().split()[0].removeprefix("host="))
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        starter.send_signal(signal.SIGKILL)
    over = time.monotonic() + _PATIENCE_SECONDS
    while folder.exists() or Path(f"/proc/{server}").exists():
        assert time.monotonic() < over, "the server is still there"
        time.sleep(0.05)
