"""A PostgreSQL of its own for a test run: made in a temporary folder, reached by a socket there."""

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
        control = programs / "pg_ctl"
        _run(control, "-D", data, "-l", folder / "log", "-w", "start")
        try:
            yield f"host={folder} user=postgres dbname=postgres"
        finally:
            _run(control, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _own(folder: Path) -> None:
    """Give a folder to whom the server runs as: it refuses root."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)


def _run(*command: Any) -> None:
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam("nobody")
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    result = subprocess.run(
        [str(part) for part in command],
        **who,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
