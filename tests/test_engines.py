"""The matrix of engines that the pages show: what of it can be tried here is tried anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.iceberg.storage import many_snapshots, packed_metadata
from benchmarks.engines import one_liners
from benchmarks.engines.__main__ import (
    AWAY,
    BEGIN,
    END,
    JAVA,
    LINES,
    PAGES,
    READERS,
    ROOT,
    SPARK,
    SPARK_READER,
    TITLES,
)
from benchmarks.engines.histories import OUTPUTS, publish_histories
from benchmarks.engines.java_reader import outcomes, version
from benchmarks.engines.readers import ENGINES, outcome
from tests.java.plain_java import PlainIceberg, running_java

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = ("pyiceberg", "duckdb", "polars", "polars-native", "arrow", JAVA)
"""Engines that the environment of the tests has."""
BESIDE = ("daft", "datafusion")
"""Engines that it cannot have, in one of their own."""
LAYOUTS = ("day", "adopted")
STEPS = (1, 3, 5)
"""Of a history: some deletes, columns that changed, and what comes after all is merged."""


def shown(page: Path) -> dict[str, list[str]]:
    """Return the cells of a page's matrix, by the names of its rows."""
    text = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {name: rest for name, *rest in filter(None, cells)}


@pytest.fixture(scope="module")
def java() -> Iterator[PlainIceberg]:
    """Start Iceberg's library."""
    with running_java() as jvm:
        yield PlainIceberg(jvm)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Publish tables, and return where, and the states that are read."""
    folder = tmp_path_factory.mktemp("engines")
    return folder, list(publish_histories(folder, LAYOUTS, STEPS))


@pytest.fixture(scope="module")
def in_gzip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a table, and return where a file says which metadata it has, and one its rows."""
    folder = tmp_path_factory.mktemp("gzip")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = arctic.create_table(
        "db.t",
        schema,
        primary_key=(),
        properties={"write.metadata.compression-codec": "gzip"},
        warehouse=str(folder / "lake"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_snapshots, "_BLOCK_BYTES", 1_000)
        patch.setattr(packed_metadata, "LONG_PART", 1_000)
        for number in range(12):
            table.write(pa.table({"id": [number]}, schema=schema), mode="append")
    place = table.refresh()._opened.base.metadata_location
    assert Path(place.removeprefix("file://")).read_bytes().count(b"\x00\x00\xff\xff") > 5
    (folder / "t.txt").write_text(place)
    pq.write_table(table.read().read_all(), folder / "t.parquet")
    return folder


@pytest.fixture(scope="module")
def beside() -> str:
    """Return the Python that has the other engines."""
    python = Path(sys.prefix) / "engines" / "bin" / "python"
    if not python.exists():
        pytest.skip("the other engines are not there; make test-servers installs them")
    return str(python)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")  # engines warn of what they like
@pytest.mark.parametrize("engine", [*HERE, *BESIDE, SPARK])
def test_engines_read_what_the_pages_say(
    engine: str, states: tuple[Path, list[str]], request: pytest.FixtureRequest
) -> None:
    """Row by row: right where it is so, and refused at most where that is said."""
    said = _said(engine, *states, request)
    if engine in (*BESIDE, SPARK):
        printed = _printed(*_reader(engine, request), "--version").strip()
        assert shown(ROOT / "README.md")[TITLES[engine]][0] == printed

    assert len(said) == len(LAYOUTS) * len(STEPS) * len(OUTPUTS)
    _, *cells = shown(ROOT / "README.md")[TITLES[engine]]
    for output, cell in zip(OUTPUTS, cells, strict=True):
        for each in said:
            if each["state"].startswith(f"{output}-") and each["verdict"] != "right":
                assert each["verdict"] == "refused", each
                assert "refused" in cell, each


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("engine", [*HERE, *BESIDE])
def test_engines_read_metadata_that_is_compressed_in_pieces(
    engine: str, in_gzip: Path, request: pytest.FixtureRequest
) -> None:
    """As what it is: one member of gzip."""
    assert [each["verdict"] for each in _said(engine, in_gzip, ["t"], request)] == ["right"]


def _reader(engine: str, request: pytest.FixtureRequest) -> Sequence[object]:
    """Return the program that reads with an engine which the environment of the tests lacks."""
    if engine != SPARK:
        return (request.getfixturevalue("beside"), READERS, engine)
    missing = [name for name in ("iceberg-spark", "oldest-pyspark") if not _has(name)]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}, which `make test-servers` installs")
    return SPARK_READER


def _has(name: str) -> bool:
    return (Path(sys.prefix) / name / ".installed").exists()


def test_the_pages_show_every_engine_in_the_version_that_is_tried() -> None:
    """None of them with wrong rows, and both pages the same."""
    first, second = (shown(page) for page in PAGES)
    assert first == second
    heading, line, *rows = first
    assert heading.startswith("of ")
    assert set(line) == {"-"}
    assert rows == list(TITLES.values())
    assert not any("wrong" in cell for cells in first.values() for cell in cells)

    group = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["engines"]
    pins = dict(each.split("==") for each in group if "==" in each)
    pins = {name.partition("[")[0]: number for name, number in pins.items()}
    for engine, (title, packages, _) in ENGINES.items():
        pinned = [pins[package] for package in packages if package in pins]
        assert not pinned or first[title][0] == " / ".join(pinned), engine
    assert first[TITLES[JAVA]][0] == version()


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make the table that lines of a page read."""
    place = str(tmp_path_factory.mktemp("lines"))
    one_liners.fill(place)
    return place


@pytest.mark.parametrize("title", [each for each in one_liners.lines() if each not in AWAY])
def test_lines_of_the_page_find_rows(
    title: str, warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand there."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)

    assert one_liners.found(title) == one_liners.due(one_liners.lines()[title])


@pytest.mark.slow
def test_lines_for_libraries_that_are_not_here_find_rows(beside: str) -> None:
    """As they stand on the page, where Arctic can be imported too."""
    printed = _printed(beside, LINES, *AWAY).splitlines()

    assert [line.partition(":")[0] for line in printed] == list(AWAY)


def test_every_library_of_the_page_has_a_line() -> None:
    """So that none is forgotten where the page is written anew."""
    named = {title.partition(",")[0] for title in one_liners.lines()}
    assert named == {"DuckDB", "Polars", "pandas", "pyarrow", *AWAY}


def _said(
    engine: str, folder: Path, names: list[str], request: pytest.FixtureRequest
) -> list[dict[str, Any]]:
    """Return what an engine makes of states."""
    if engine == JAVA:
        return [*outcomes(request.getfixturevalue("java"), folder, names)]
    if engine in (*BESIDE, SPARK):
        lines = _printed(*_reader(engine, request), folder, *names)
        return [json.loads(line) for line in lines.splitlines()]
    return [outcome(engine, folder, name) for name in names]


def _printed(*command: object) -> str:
    """Return what a program prints, which imports Arctic from here."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [str(each) for each in command],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
