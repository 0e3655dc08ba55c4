"""What a cell of the matrix must do: each verb once, compared with the rows that must be there.

``python smoke.py FOLDER`` in the environment of the cell; it imports nothing of the repository. The
last line that it prints is JSON: the versions of what it ran on.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import arctic

TABLE, COPY = "shop.users", "shop.copies"
Rows = list[tuple[Any, ...]]


def by_python(folder: Path) -> Rows:
    """Create, upsert and delete without Spark."""
    place: dict[str, Any] = {"warehouse": str(folder / "warehouse")}
    schema = pa.schema([("id", pa.int64()), ("city", pa.string())])
    users = arctic.create_table(TABLE, schema, primary_key=["id"], **place)
    cities = ["Rome", "Oslo", "Lima", "Baku"]
    users.write(pa.table({"id": [1, 2, 3, 4], "city": cities}, schema), mode="upsert")
    users.write(pa.table({"id": [2, 5], "city": ["Bern", "Kiel"]}, schema), mode="upsert")
    users.write(pa.table({"id": [3]}), mode="delete")
    return [(1, "Rome"), (2, "Bern"), (4, "Baku"), (5, "Kiel")]


def by_spark(folder: Path, expected: Rows) -> Rows:
    """Read, upsert, MERGE, optimize and follow the table in a session."""
    place: dict[str, Any] = {"warehouse": str(folder / "warehouse")}
    session = {"spark.sql.catalog.arctic.warehouse": place["warehouse"], "spark.log.level": "ERROR"}
    spark = arctic.local_session(master="local[2]", app_name="arctic-matrix", conf=session)
    more = spark.createDataFrame([(5, "Bonn"), (6, "Cork")], "id long, city string")
    if importlib.util.find_spec("pandas") is not None:
        spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
        more = spark.createDataFrame(more.toPandas(), more.schema)
    more.write.format("arctic").options(**place).mode("upsert").save(TABLE)
    spark.sql(
        f"MERGE INTO arctic.{TABLE} t USING (SELECT id, 'Pisa' AS city FROM range(6, 8)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql(f"DELETE FROM arctic.{TABLE} WHERE city = 'Rome'")
    expected = [*expected[1:3], (5, "Bonn"), (6, "Pisa"), (7, "Pisa")]
    read = spark.read.format("arctic").options(**place)
    same(read.load(TABLE).where("id > 1").collect(), expected)

    events = spark.readStream.format("arctic").options(**place).load(TABLE)
    writer = events.select("id", "city", "_change_action").writeStream.format("arctic")
    writer = writer.options(**place, primaryKey="id", **{"action-column": "_change_action"})
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.option("write-mode", "upsert").trigger(availableNow=True).start(COPY).awaitTermination()
    same(read.load(COPY).collect(), expected)

    arctic.optimize(TABLE, type="full", spark=spark, **place)
    same(spark.table(f"arctic.{TABLE}").collect(), expected)
    spark.stop()
    return expected


def by_command(folder: Path) -> None:
    """Look at the table with the program that the package installs."""
    program = str(Path(sys.executable).parent / "arctic")
    place = ["--warehouse", str(folder / "warehouse")]
    done = subprocess.run(
        [program, "show", *place, TABLE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "city" in done.stdout, done.stdout


def same(rows: Sequence[Sequence[Any]], expected: Rows) -> None:
    """Compare rows in any order."""
    assert sorted(map(tuple, rows)) == expected, sorted(map(tuple, rows))


def main(folder: Path) -> None:
    """Run all of it."""
    expected = by_spark(folder, by_python(folder))
    table = arctic.read(TABLE, warehouse=str(folder / "warehouse")).read_all()
    same(list(zip(*table.to_pydict().values(), strict=True)), expected)
    if importlib.util.find_spec("pandas") is not None:
        assert len(table.to_pandas()) == len(expected)
    by_command(folder)
    versions = {each.metadata["Name"].lower(): each.version for each in _installed()}
    print(json.dumps({"python": platform.python_version(), **versions}))


def _installed() -> list[importlib.metadata.Distribution]:
    return list(importlib.metadata.distributions())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
