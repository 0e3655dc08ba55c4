"""A PostgreSQL of its own for a test run: made in a temporary folder, reached by a socket there.

Rules: the server outlives nobody. Who started it may be killed, so a shell of its own stops the
server and removes the folder when a pipe ends that only the starter holds.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_SETTINGS = """
wal_level = logical
fsync = off
listen_addresses = ''
unix_socket_directories = '{folder}'
max_wal_senders = 5
max_replication_slots = 20
"""

_WAIT_AND_STOP = """
cat
"$1" -D "$2" -m immediate -w stop
rm -rf "$3"
"""


def binaries() -> Path:
    """Return the folder of the server's programs; skips where they or wal2json are missing."""
    for folder in _FOLDERS:
        if (folder / "initdb").exists() and (folder.parent / "lib" / "wal2json.so").exists():
            return folder
    pytest.skip("needs PostgreSQL with wal2json: apt-get install postgresql-NN-wal2json")


@contextmanager
def running_cluster() -> Iterator[str]:
    """Start a server; yield what to connect to its database ``postgres`` with."""
    pytest.importorskip("psycopg")
    programs = binaries()
    folder = Path(tempfile.mkdtemp(prefix="arctic-postgres-"))
    data = folder / "data"
    try:
        _own(folder)
        _run(programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8")
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS.format(folder=folder))
        with _stopped_in_the_end(programs / "pg_ctl", data, folder):
            _run(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "start")
            yield f"host={folder} user=postgres dbname=postgres"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stopped_in_the_end(control: Path, data: Path, folder: Path) -> Iterator[None]:
    """Stop a server and remove its folder when this context ends, or this process does."""
    waiting = subprocess.Popen(
        ["sh", "-c", _WAIT_AND_STOP, "sh", str(control), str(data), str(folder)],
        **_who(),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert waiting.stdin is not None
    try:
        yield
    finally:
        waiting.stdin.close()
        waiting.wait()


def _own(folder: Path) -> None:
    """Give a folder to whom the server runs as: it refuses root."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)


def _run(*command: Any) -> None:
    result = subprocess.run(
        [str(part) for part in command],
        **_who(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def _who() -> dict[str, Any]:
    """Return as whom the server's programs run."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
