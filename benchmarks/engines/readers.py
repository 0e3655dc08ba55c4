"""Reads tables with one engine, in an environment without Arctic, and says how it went.

``python readers.py ENGINE FOLDER STATE...`` prints a line of JSON for each state: what the engine
made of the table whose metadata file ``FOLDER/STATE.txt`` names, compared row by row with
``FOLDER/STATE.parquet``. ``python readers.py ENGINE --version`` prints its version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_JAR_PACKAGE = "snowpark_connect_deps_iceberg"
_MAVENS = Path(sys.prefix) / "iceberg-spark"


def _pyiceberg(place: str) -> pa.Table:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(place).scan().to_arrow()


def _duckdb(place: str) -> pa.Table:
    import duckdb

    with duckdb.connect(config={"autoload_known_extensions": "false"}) as connection:
        for each in ("avro", "iceberg"):
            spec = importlib.util.find_spec(f"duckdb_extension_{each}")
            assert spec is not None
            assert spec.submodule_search_locations is not None
            (found,) = Path(spec.submodule_search_locations[0]).rglob("*.duckdb_extension")
            connection.execute(f"LOAD '{found}'")
        return connection.execute(f"SELECT * FROM iceberg_scan('{place}')").to_arrow_table()


def _polars(place: str) -> pa.Table:
    import polars

    return polars.scan_iceberg(place).collect().to_arrow()


def _polars_native(place: str) -> pa.Table:
    import polars

    return polars.scan_iceberg(place, reader_override="native").collect().to_arrow()


def _arrow(place: str) -> pa.Table:
    """Read what an Iceberg library lists: a dataset of pyarrow is a list of files, and no more."""
    import pyarrow.dataset as ds
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(place)
    tasks = list(table.scan().plan_files())
    if any(task.delete_files for task in tasks):
        raise NotImplementedError("files with deletes, which pyarrow.dataset does not apply")
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    paths = [task.file.file_path.removeprefix("file://") for task in tasks]
    for path in paths:
        if not set(schema.names) <= set(pq.read_schema(path).names):
            raise NotImplementedError("files from before a rename, which pyarrow.dataset goes by")
    return ds.dataset(paths, schema=schema, format="parquet").to_table()


def _daft(place: str) -> pa.Table:
    import daft
    from pyiceberg.table import StaticTable

    return daft.read_iceberg(StaticTable.from_metadata(place)).to_arrow()


def _datafusion(place: str) -> pa.Table:
    from datafusion import SessionContext
    from pyiceberg_core.datafusion import IcebergDataFusionTable

    context = SessionContext()
    table = IcebergDataFusionTable(
        identifier=["shop", "t"], metadata_location=place, file_io_properties={}
    )
    context.register_table("t", table)
    return context.sql("SELECT * FROM t").to_arrow_table()


@cache
def spark_session(warehouse: str) -> Any:
    """Return a session with Iceberg's runtime and a catalog, ``lake``, that is a folder."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
    catalog = "spark.sql.catalog.lake"
    for name, text in {
        "spark.jars": str(_jar()),
        "spark.driver.memory": "4g",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": warehouse,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(name, text)
    return builder.getOrCreate()


def _jar() -> Path:
    """Return the runtime for this Spark: Maven's, or what a package brings for Spark 3.5."""
    places = [_MAVENS]
    spec = importlib.util.find_spec(_JAR_PACKAGE)
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "jars")
    spark = ".".join(importlib.metadata.version("pyspark").split(".")[:2])
    scala = "2.12" if spark == "3.5" else "2.13"  # of PyPI's Spark
    name = f"iceberg-spark-runtime-{spark}_{scala}-*.jar"
    return next(jar for place in places for jar in place.glob(name))


def _spark(place: str) -> pa.Table:
    session = spark_session(tempfile.gettempdir())
    frame = session.read.format("iceberg").load(place)
    return pa.Table.from_batches(frame._collect_as_arrow())


ENGINES: dict[str, tuple[str, tuple[str, ...], Callable[[str], pa.Table]]] = {
    "pyiceberg": ("PyIceberg", ("pyiceberg",), _pyiceberg),
    "duckdb": ("DuckDB", ("duckdb",), _duckdb),
    "polars": ("Polars", ("polars",), _polars),
    "polars-native": ("Polars, its own reader", ("polars",), _polars_native),
    "arrow": ("pyarrow.dataset, of the files that PyIceberg lists", ("pyarrow",), _arrow),
    "daft": ("Daft", ("daft",), _daft),
    "datafusion": ("DataFusion", ("datafusion", "pyiceberg-core"), _datafusion),
    "spark": ("Spark with Iceberg's runtime", ("pyspark",), _spark),
}
"""Name -> what the page calls it, the packages that are its version, how it reads."""


def outcome(engine: str, folder: Path, state: str) -> dict[str, Any]:
    """Read a state, and say what came of it."""
    expected = pq.read_table(folder / f"{state}.parquet")
    try:
        found = ENGINES[engine][2]((folder / f"{state}.txt").read_text())
        is_right = _rows(found, expected.column_names) == _rows(expected, expected.column_names)
    except BaseException as error:  # noqa: BLE001 - whatever an engine raises is its answer
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"state": state, "verdict": "refused", "said": text[:160]}
    said = "" if is_right else f"{found.num_rows} rows; {expected.num_rows} were due"
    return {"state": state, "verdict": "right" if is_right else "wrong", "said": said}


def _rows(table: pa.Table, names: list[str]) -> list[str]:
    columns = []
    for name in names:
        column = table[name]
        if pa.types.is_timestamp(column.type):  # engines call the zone of an instant differently
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        columns.append(column.to_pylist())
    return sorted(map(repr, zip(*columns, strict=True)))


def main() -> None:
    """Print what is asked for."""
    engine, folder, *names = sys.argv[1:]
    if folder == "--version":
        numbers = [importlib.metadata.version(each) for each in ENGINES[engine][1]]
        if engine == "spark":
            numbers.append(_jar().stem.rpartition("-")[2])
        print(" / ".join(numbers))
        return
    for name in names:
        print(json.dumps(outcome(engine, Path(folder), name)), flush=True)


if __name__ == "__main__":
    main()
