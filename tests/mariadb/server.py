"""A MariaDB of its own for a test run: made in a temporary folder, reached by a socket there."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arctic.retry import RetryPolicy

_SETTINGS = (
    "--skip-networking",
    # What is durable after a crash of the machine is not asked here.
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=32M",
    # Mirrors follow the log of rows.
    "--server-id=1",
    "--log-bin=bin",
    "--binlog-format=ROW",
    "--binlog-row-metadata=FULL",
)
_PATIENCE = RetryPolicy(retries=600, min_wait_ms=100, max_wait_ms=100)


def _programs() -> tuple[str, str]:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    found = [shutil.which(name, path=path) for name in ("mariadb-install-db", "mariadbd")]
    if None in found:
        pytest.skip("needs MariaDB: apt-get install mariadb-server-core")
    return str(found[0]), str(found[1])


@contextmanager
def running_server() -> Iterator[Path]:
    """Start a server; yield its socket, at which root needs no password."""
    install, serve = _programs()
    folder = Path(tempfile.mkdtemp(prefix="arctic-mariadb-"))
    user = f"--user={'nobody' if os.geteuid() == 0 else getpass.getuser()}"
    # A server that starts clears its temporary folder of tables: of other servers' too, in a
    # folder that they share.
    temporary = folder / "tmp"
    temporary.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
        shutil.chown(temporary, "nobody")
    common = ["--no-defaults", f"--datadir={folder}/data", f"--tmpdir={temporary}", user]
    process = None
    try:
        made = [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        run = subprocess.run(made, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert run.returncode == 0, run.stdout
        socket = folder / "socket"
        started = [serve, *common, *_SETTINGS, f"--socket={socket}", f"--pid-file={folder}/pid"]
        process = subprocess.Popen(
            started, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _wait_for(socket)
        yield socket
    finally:
        if process is not None:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(socket: Path) -> None:
    for _ in _PATIENCE.tries():
        if socket.exists():
            return
    raise TimeoutError(f"MariaDB did not open {str(socket)!r}")
