"""Drivers that no Python has begun: a shell, a Thrift server, a server of Spark Connect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import arctic
from arctic.spark.companion import check_release
from tests.spark.servers import (
    BIN,
    PATIENCE_SECONDS,
    QUIET,
    flags,
    free_port,
    spark_server,
    without_python,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PLAIN = {"spark.arctic.ownScans": "false"}
NO_METASTORE = {"spark.sql.catalogImplementation": "in-memory"}
"""Of Hive's, which a shell begins otherwise: a fourth of its work. The Thrift server has one."""
CLIENT = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
more = spark.createDataFrame([(2, "Bern"), (4, "Kyiv")], "id long, city string")
here = {"warehouse": sys.argv[2], "write-mode": "upsert"}
more.write.format("arctic").options(**here).mode("append").save("shop.users")
read = spark.read.format("arctic").option("warehouse", sys.argv[2]).load("shop.users")
read.where("id > 1").select("city").explain()
more.writeTo("arctic.shop.users").append()
names = spark.range(3).selectExpr("id", "cast(id AS string) AS name")
names.writeTo("lake.shop.names").tableProperty("primaryKey", "id").create()
call = "CALL lake.system.evolve_schema('shop.names', add => map('more', 'int'))"
assert len(spark.sql(call).collect()) == 3  # once: another one would find the column there
print([tuple(row) for row in spark.table("arctic.shop.users").orderBy("id").collect()])
print(spark.table("lake.shop.names").count(), "arctic" in sys.modules)
"""
MOURNER = """
import os, signal, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

def companions():
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_one = b"arctic.spark.companion" in (folder / "cmdline").read_bytes()
            if is_one and os.getpgid(int(folder.name)) == int(sys.argv[2]):
                found.append(int(folder.name))
        except OSError:
            continue
    return found

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
made = "(id BIGINT, city STRING, PRIMARY KEY (id))"
spark.sql(f"CREATE TABLE IF NOT EXISTS arctic.shop.users {made}")
for city in ("Baku", "Kiel"):
    [pid] = companions()
    os.kill(pid, signal.SIGKILL)
    while pid in companions():
        time.sleep(0.1)
    time.sleep(1)
    spark.sql(f"INSERT INTO arctic.shop.users VALUES (9, '{city}')").collect()
    print(spark.sql("SELECT city FROM arctic.shop.users WHERE id = 9").collect()[0][0])
    read = spark.read.format("arctic").option("warehouse", sys.argv[3]).load("shop.users")
    print(read.where("id = 9").count())
"""
PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("CREATE TABLE arctic.shop.users (id BIGINT, city STRING, PRIMARY KEY (id))")
users = spark.createDataFrame([(1, "Rome"), (2, "Oslo")], "id long, city string")
users.writeTo("arctic.shop.users").append()
users.where("id = 2").selectExpr("id", "'Bern' AS city").createOrReplaceTempView("changes")
merge = "MERGE INTO arctic.shop.users t USING changes s ON t.id = s.id "
spark.sql(merge + "WHEN MATCHED AND t.city = 'Oslo' THEN UPDATE SET city = s.city")
read = spark.newSession().read.format("arctic").option("warehouse", "warehouse")
read.load("shop.users").join(spark.table("arctic.shop.users"), "id").orderBy("id").show()
"""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One JVM that serves JDBC and Spark Connect."""

    process: subprocess.Popen[bytes]
    jdbc: str
    remote: str
    settings: Mapping[str, str]


def run(folder: Path, *command: str) -> str:
    """Return what a program prints.

    Raises:
        AssertionError: it fails.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=without_python(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, re.sub(r"\n\s+at .*", "", done.stderr)[-4_000:]
    return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that knows the catalog by its settings alone, twice, by two names."""
    folder = tmp_path_factory.mktemp("server")
    jdbc, connect = free_port(), free_port()
    warehouse = str(folder / "warehouse")
    settings = arctic.spark_conf(warehouse=warehouse) | arctic.spark_conf(
        "lake", warehouse=warehouse
    )
    ports = {
        "spark.hadoop.hive.server2.thrift.port": str(jdbc),
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(connect),
    }
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    given = {**QUIET, **settings, **ports}
    with spark_server(folder, main, given, [jdbc, connect]) as process:
        yield Server(
            process=process,
            jdbc=f"jdbc:hive2://localhost:{jdbc}",
            remote=f"sc://localhost:{connect}",
            settings=settings,
        )


def test_jdbc_connect_and_a_shell_see_the_same_tables(server: Server, tmp_path: Path) -> None:
    """Beeline makes a table, a client without the package upserts, a shell reads as Spark does."""
    beeline = run(
        tmp_path,
        *(str(BIN / "beeline"), "-u", server.jdbc, "--outputformat=csv2", "--silent=true"),
        *("-e", "CREATE NAMESPACE arctic.shop"),
        *("-e", "CREATE TABLE arctic.shop.users (id BIGINT, city STRING, PRIMARY KEY (id))"),
        *("-e", "INSERT INTO arctic.shop.users VALUES (1, 'Rome'), (2, 'Oslo')"),
        *("-e", "SELECT city, id FROM arctic.shop.users ORDER BY id"),
    )
    assert beeline.split()[-3:] == ["city,id", "Rome,1", "Oslo,2"]

    warehouse = server.settings["spark.sql.catalog.lake.warehouse"]
    client = run(tmp_path, sys.executable, "-c", CLIENT, server.remote, warehouse)
    plan, rows = client.split("\n\n\n")
    assert rows.split("\n")[:2] == ["[(1, 'Rome'), (2, 'Bern'), (4, 'Kyiv')]", "3 False"]
    assert "FileScan parquet" in plan

    shell = run(
        tmp_path,
        *(str(BIN / "spark-sql"), *flags({**QUIET, **server.settings, **PLAIN, **NO_METASTORE})),
        *("-e", "SELECT u.id, name FROM arctic.shop.users u JOIN lake.shop.names USING (id)"),
    )
    assert sorted(shell.splitlines()) == ["1\t1", "2\t2"]


def test_a_program_in_python_needs_no_word_of_the_package(tmp_path: Path) -> None:
    """What spark-submit is told of the catalog is enough; the driver has no Arctic in it."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + 'import sys\nassert "arctic" not in sys.modules\n')
    settings = arctic.spark_conf(warehouse=str(tmp_path / "warehouse"))
    command = [str(BIN / "spark-submit"), *flags({**QUIET, **settings}), str(program)]

    shown = run(tmp_path, *command)
    assert "|1|Rome|Rome||2|Bern|Bern|" in "".join(shown.split())


def test_a_python_that_dies_is_replaced(server: Server, tmp_path: Path) -> None:
    """By the next question, in a session that knew another one and in the one that began it."""
    warehouse = server.settings["spark.sql.catalog.lake.warehouse"]
    group = str(server.process.pid)
    told = run(tmp_path, sys.executable, "-c", MOURNER, server.remote, group, warehouse)

    assert told.split() == ["Baku", "1", "Kiel", "1"]


def test_the_python_beside_a_server_ends_with_it(server: Server) -> None:
    """However the server ends; whoever it started is of its group of processes."""
    server.process.kill()
    server.process.wait()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            os.killpg(server.process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("a process outlives the server that started it")


def test_a_python_without_the_package_is_named(tmp_path: Path) -> None:
    """With what to set; and one that has another package is ended."""
    strange = tmp_path / "strange"
    strange.write_text(
        f'#!/bin/sh\nif [ "$1" = -c ]; then exec "{sys.executable}" "$@"; fi\n'
        f'if [ ! -e pid ]; then echo $$ > pid; exec "{sys.executable}" -I -S "$@"; fi\n'
        'echo $$ > pid; echo "arctic: ready"; exec sleep 600\n'
    )
    strange.chmod(0o755)
    settings = arctic.spark_conf(warehouse=str(tmp_path / "warehouse"))
    settings |= {"spark.pyspark.python": str(strange)}
    asked = "SHOW TABLES IN arctic.shop"
    done = subprocess.run(
        [
            *(str(BIN / "spark-sql"), *flags({**QUIET, **settings, **NO_METASTORE})),
            *("--hiveconf", "hive.cli.errors.ignore=true", "-e", f"{asked}; {asked}"),
        ],
        cwd=tmp_path,
        env=without_python(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    said = done.stderr + done.stdout
    assert f"{strange} -m arctic.spark.companion ended" in said
    assert "spark.pyspark.python" in said
    assert f"{strange} -m arctic.spark.companion answers no catalog" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_python_with_another_spark_is_refused() -> None:
    """Before it calls what the driver does not have; patches of a release go together."""
    check_release("4.1.4", "4.1.0-vendor")

    with pytest.raises(arctic.UnsupportedError, match=r"PySpark 4\.3\.0 of .*Spark 4\.1\.4"):
        check_release("4.3.0", "4.1.4")
