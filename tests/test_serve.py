"""Servers that anybody can start as tests do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

import arctic
from tests.serve import SERVERS

PAGE = Path(__file__).parent.parent / "docs" / "servers.md"
PATIENCE_SECONDS = 240
OF_FIXTURES = {"hdfs", "hive", "spark", "connect"}
"""Of which fixtures of Spark's tests are made; to start them here would take most of a minute."""
USERS = pa.schema([("id", pa.int64())])


def test_the_page_says_how_each_server_is_started() -> None:
    """In the order of its tables, and no other."""
    named = re.findall(r"`python -m tests\.serve (\w+)`", PAGE.read_text(encoding="utf-8"))

    assert named == list(SERVERS)


def test_servers_start_by_their_command_and_end_with_their_input() -> None:
    """All at once, because each waits most of its time; a table is made in the catalog of each."""
    with ExitStack() as started:
        processes = {
            name: started.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.serve", name],
                    cwd=PAGE.parent.parent,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
            for name in sorted(SERVERS.keys() - OF_FIXTURES)
        }
        for name, process in processes.items():
            assert process.stdout is not None
            properties = json.loads(process.stdout.readline() or "null")
            assert properties, f"{name} did not start"
            arctic.create_table("shop.users", USERS, catalog=properties)
            assert arctic.list_tables(catalog=properties) == ["shop.users"]
            process.communicate(timeout=PATIENCE_SECONDS)
            assert process.returncode == 0, name


def test_an_unknown_server_is_named_with_the_known_ones() -> None:
    """And nothing is started."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.serve", "oracle"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().endswith("postgres, mariadb, rest, glue, hive, spark, connect")
