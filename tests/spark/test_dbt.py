"""dbt's project in ``examples/dbt``, run as docs/dbt.md shows, and dbt's own tests of adapters."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import arctic

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "dbt"
DBT = Path(sys.prefix) / "dbt"
"""Where ``make test-servers`` installs it."""
LATER = {
    "raw_customers.csv": "id,city\n1,Rome\n2,Bern\n3,Lima\n4,Kyiv\n",
    "raw_orders.csv": "order_id,customer_id,amount,placed_on\n"
    "10,1,77.0,2026-01-01\n12,1,8.25,2026-01-02\n13,4,99.0,2026-02-03\n",
}
"""One customer has moved, one is new. Of the orders one is corrected and one new; one is too old to
be looked at, and one is not told of any more."""
RUNNER = """
import json, sys
from pathlib import Path
from dbt.cli.main import dbtRunner

first, *others = json.loads(sys.argv[1])
for arguments in (first, first, *others):
    done = dbtRunner().invoke(arguments)
    if not done.success:
        raise SystemExit(f"{arguments}: {done.exception or done.result}")
    for name, text in json.loads(sys.argv[2]).items():
        Path("seeds", name).write_text(text)
refused = dbtRunner().invoke(["run", "--select", "seen"])
print([each.message for each in refused.result])
"""
"""dbt keeps state of its own in a process, and a session of Spark: this is one for all of them."""
SMALL = "spark.master local[2]\\nspark.sql.shuffle.partitions 2\\nspark.ui.enabled false\\n"
"""Settings for few rows."""


def blocks(language: str) -> list[str]:
    """Return the blocks of the page in one language."""
    page = (ROOT / "docs" / "dbt.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def with_dbt(warehouse: Path | None = None) -> dict[str, str]:
    """Return the environment of a process that knows dbt."""
    given = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYSPARK_", "DBT_"))
    }
    if warehouse is not None:
        given["ARCTIC_WAREHOUSE"] = str(warehouse)
    programs = os.pathsep.join([str(Path(sys.executable).parent), given["PATH"]])
    return given | {
        "PATH": programs,
        "PYTHONPATH": str(DBT),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }


def rows(project: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    """Return the rows of a table, in order, without Spark."""
    warehouse = str(project / "warehouse")
    found = arctic.read(table, columns=columns, warehouse=warehouse).read_all()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_a_project_is_built_and_built_again(tmp_path: Path) -> None:
    """Seeds, a merge by key, a snapshot, tests and docs; a view is refused by name."""
    if not DBT.exists():
        pytest.skip("dbt is not there; make test-servers installs it")
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("target", "logs", "conf"))
    (project / "models" / "seen.sql").write_text("{{ config(materialized='view') }} select 1 as id")
    [script] = blocks("sh")
    shell = [line for line in script.splitlines() if "dbt" not in line]
    shell.append(f"printf '{SMALL}' >> conf/spark-defaults.conf")
    words = [shlex.split(line) for line in script.splitlines() if "dbt" in line]
    commands = [[*line[line.index("dbt") + 1 :], "--exclude", "seen"] for line in words]
    runner = shlex.join([sys.executable, "-c", RUNNER, json.dumps(commands), json.dumps(LATER)])
    done = subprocess.run(
        ["bash", "-ec", "\n".join([*shell, runner])],
        cwd=project,
        env=with_dbt() | {"SPARK_CONF_DIR": str(project / "conf")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert "holds no views" in done.stdout.splitlines()[-1]
    assert rows(project, "shop.orders", "order_id", "amount", "placed_on") == [
        (10, Decimal("12.50"), date(2026, 1, 1)),
        (11, Decimal("30.00"), date(2026, 1, 1)),
        (12, Decimal("8.25"), date(2026, 1, 2)),
        (13, Decimal("99.00"), date(2026, 2, 3)),
    ]
    assert rows(project, "shop.revenue", "city", "amount") == [
        ("Bern", Decimal("30.00")),
        ("Kyiv", Decimal("99.00")),
        ("Rome", Decimal("20.75")),
    ]
    history = rows(project, "shop.customer_history", "id", "city", "dbt_valid_to")
    assert [(id_, city, until is None) for id_, city, until in history] == [
        (1, "Rome", True),
        (2, "Bern", True),
        (2, "Oslo", False),
        (3, "Lima", True),
        (4, "Kyiv", True),
    ]
    keys = {
        table: arctic.open_table(table, warehouse=str(project / "warehouse")).primary_key
        for table in ("shop.orders", "shop.customer_history", "shop.raw_orders")
    }
    assert keys == {
        "shop.orders": ("order_id",),
        "shop.customer_history": ("dbt_scd_id",),
        "shop.raw_orders": (),
    }
    documented = json.loads((project / "target" / "catalog.json").read_text())["nodes"]
    assert set(documented["model.shop.orders"]["columns"]) >= {"order_id", "amount", "placed_on"}


def test_dbts_own_tests_of_adapters_pass(tmp_path: Path) -> None:
    """Of basic, incremental and snapshot those that the page names, but the slow ones."""
    if not DBT.exists():
        pytest.skip("dbt is not there; make test-servers installs it")
    program = (sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={tmp_path}")
    plugins = ("-p", "dbt.tests.fixtures.project", "-p", "no:cacheprovider", "-p", "no:xdist")
    chosen = ("-m", "not slow", "--tb=short", str(Path(__file__).with_name("dbt_suites.py")))
    done = subprocess.run(
        [*program, *plugins, *chosen],
        cwd=tmp_path,
        env=with_dbt(tmp_path / "warehouse"),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout.splitlines()[-1]


def test_the_page_shows_what_the_project_says() -> None:
    """Its blocks are parts of files below ``examples/dbt``."""
    files = [path.read_text() for path in EXAMPLE.rglob("*") if path.suffix in (".yml", ".sql")]

    shown = blocks("yaml") + blocks("sql")
    assert len(shown) > 2
    assert [block for block in shown if not any(block in text for text in files)] == []
