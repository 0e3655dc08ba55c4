"""The parts of ``make bench-peers`` that need neither the network nor another environment."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import pyarrow_to_schema

from benchmarks.peers.chart import chart
from benchmarks.peers.commands import COMMANDS, phases_of, steps
from benchmarks.peers.environments import PEERS, Peer
from benchmarks.peers.inputs import BATCHES, WIDE_SCHEMA, Inputs, write_inputs
from benchmarks.peers.oracle import COMMANDED, Oracle
from benchmarks.peers.page import page, with_commands
from benchmarks.peers.report import command_table, comparisons, remarks, table
from benchmarks.peers.result import Phase, SystemResult, load_result, save_result
from benchmarks.peers.run import measure
from benchmarks.peers.systems.iceberg_eq import write_parquet

ROWS = 2_000
RAW = Peer(name="pyarrow", script="pyarrow_copy")
OURS = Peer(name="arctic", script="arctic_plain")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Few orders, in the shape of the real run."""
    return write_inputs(tmp_path_factory.mktemp("input"), ROWS)


@pytest.fixture(scope="module")
def oracle(inputs: Inputs) -> Oracle:
    """The rows that every system must hold in the end."""
    return Oracle(inputs)


def merged(inputs: Inputs) -> dict[int, dict[str, object]]:
    """Return the expected rows by key, as a dict would hold them."""
    rows: dict[int, dict[str, object]] = {}
    for source in (inputs.load, *inputs.upserts):
        rows.update({row["order_id"]: row for row in pq.read_table(source).to_pylist()})
    for row in pq.read_table(inputs.delete).to_pylist():
        del rows[row["order_id"]]
    return rows


def test_input_is_the_same_every_time(inputs: Inputs, tmp_path: Path) -> None:
    """Two generations give the same rows, twelve columns wide."""
    again = write_inputs(tmp_path, ROWS)

    assert pq.read_table(again.load).equals(pq.read_table(inputs.load))
    assert pq.read_table(again.delete).equals(pq.read_table(inputs.delete))
    assert len(pq.read_schema(next(inputs.load.iterdir()))) == 12


def test_oracle_agrees_with_a_dict(inputs: Inputs, oracle: Oracle, tmp_path: Path) -> None:
    """Rows merged by a dict are equal to those that DuckDB expects, and so is their number."""
    rows = merged(inputs)
    pq.write_table(
        pa.Table.from_pylist(list(rows.values()), schema=WIDE_SCHEMA), tmp_path / "0.parquet"
    )

    assert oracle.rows == len(rows)
    assert oracle.difference(tmp_path) == ""


def test_oracle_sees_one_wrong_value(inputs: Inputs, oracle: Oracle, tmp_path: Path) -> None:
    """One changed column of one row is one missing row and one other."""
    rows = list(merged(inputs).values())
    rows[7] = {**rows[7], "comment": "wrong"}
    pq.write_table(pa.Table.from_pylist(rows, schema=WIDE_SCHEMA), tmp_path / "0.parquet")

    assert oracle.difference(tmp_path) == "1 expected rows are missing, 1 others are there"


def test_oracle_of_commands_agrees_with_a_dict(
    inputs: Inputs, oracle: Oracle, tmp_path: Path
) -> None:
    """Merges, sums, updates and deletes of few rows come to the same by hand."""
    rows = {row["order_id"]: row for row in pq.read_table(inputs.load).to_pylist()}
    for source in inputs.upserts:
        rows.update({row["order_id"]: row for row in pq.read_table(source).to_pylist()})
    for source in inputs.upserts[:3]:
        for row in pq.read_table(source).to_pylist():
            rows[row["order_id"]]["quantity"] += row["quantity"]
    changed = 0
    for row in rows.values():
        if 2_000 <= row["customer_id"] < 8_000:
            row["status"], row["quantity"], changed = "returned", row["quantity"] + 1, changed + 1
    left = [row for row in rows.values() if not 10_000 <= row["customer_id"] < 16_000]
    pq.write_table(pa.Table.from_pylist(left, schema=WIDE_SCHEMA), tmp_path / "0.parquet")

    oracle.run_commands()

    assert 0 < changed < len(rows)
    assert 0 < len(left) < len(rows)
    assert oracle.difference(tmp_path, expected=COMMANDED) == ""
    assert oracle.difference(tmp_path) != ""


def test_steps_are_the_figures_of_the_report(inputs: Inputs) -> None:
    """Each step that is measured stands for one figure of a line, and each line has its steps."""
    shown = [name for command in COMMANDS for name in phases_of(command)]

    assert [step.phase for step in steps(inputs)] == shown


def test_commands_alone_replace_their_section_of_the_page() -> None:
    """All else stays as it was written, whether the section was there or not."""
    result = _result("arctic-spark", 2.0)
    phases = {name: Phase(seconds=3.0) for command in COMMANDS for name in phases_of(command)}
    with_them = SystemResult(
        name="arctic-spark", phases={**result.phases, **phases}, checked="commands: equal"
    )
    without = page([result], rows=ROWS, machine="2 cores", limit_seconds=60)

    text = with_commands(without, [with_them])

    lines = {line[0]: line[1:] for line in command_table([with_them])}
    assert command_table([result]) == []
    assert lines["for comparison: upsert of a frame"] == ["2.00 s"]
    assert lines["UPDATE of 1 % by a filter, median"] == ["3.00 s"]
    assert text.count("\n## Row-level commands in SQL\n") == 1
    assert "| UPDATE of 1 % by a filter, median | 3.00 s |" in text
    assert "The rows afterwards: arctic-spark equal." in text
    assert with_commands(text, [with_them]) == text
    assert [line for line in without.splitlines() if line not in text.splitlines()] == []


def test_arctic_goes_through_the_whole_workload(
    inputs: Inputs, oracle: Oracle, tmp_path: Path
) -> None:
    """Arctic without Spark has a time for every phase, and its rows are equal before and after."""
    result = measure(OURS, inputs, oracle, folder=tmp_path, limit_seconds=60, say=lambda text: None)

    assert result.failure == ""
    assert result.checked == "unmerged: equal; compacted: equal"
    assert all(phase.seconds is not None for phase in result.phases.values())
    assert result.phases["load"].bytes_written > 0
    assert result.peak_bytes > 0


def test_a_phase_over_its_limit_is_reported(inputs: Inputs, oracle: Oracle, tmp_path: Path) -> None:
    """A phase that takes too long ends the system, and says how long it was given."""
    result = measure(RAW, inputs, oracle, folder=tmp_path, limit_seconds=0, say=lambda text: None)

    assert result.failure == "first use: > 0 s"
    assert result.phases["first use"].reason == "> 0 s"


def test_a_system_that_fails_says_why(oracle: Oracle, inputs: Inputs, tmp_path: Path) -> None:
    """A script that cannot start is reported with its last words."""
    broken = Peer(name="broken", script="no_such_script")

    result = measure(
        broken, inputs, oracle, folder=tmp_path, limit_seconds=60, say=lambda text: None
    )

    assert "no_such_script" in result.failure


def test_peers_of_one_script_share_an_environment() -> None:
    """Environments are kept by script, so two sets of packages would replace each other."""
    packages = {peer.script: peer.packages for peer in PEERS}

    assert [peer.packages for peer in PEERS] == [packages[peer.script] for peer in PEERS]
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_equality_delete_peer_names_columns_by_field_id(inputs: Inputs, tmp_path: Path) -> None:
    """Iceberg finds in a written file the ids of the table, in any order, and the same rows."""
    rows = pq.read_table(inputs.upserts[0], columns=["order_id", "amount", "placed_at"])
    path = str(tmp_path / "0.parquet")

    write_parquet(path, rows, {"placed_at": 8, "order_id": 21, "amount": 6})

    found = pyarrow_to_schema(pq.read_schema(path))
    assert [(field.field_id, field.name) for field in found.fields] == [
        (21, "order_id"),
        (6, "amount"),
        (8, "placed_at"),
    ]
    assert pq.read_table(path).equals(rows)


def test_results_survive_the_disk(tmp_path: Path) -> None:
    """What is saved is what is loaded."""
    result = SystemResult(name="arctic", phases={"load": Phase(seconds=1.5)}, checked="equal")

    save_result(tmp_path / "kept" / "arctic.json", result)

    assert load_result(tmp_path / "kept" / "arctic.json") == result


def test_report_shows_ratios_limits_and_failures() -> None:
    """Times of others stand beside their multiple of Arctic's; a limit stands for a time."""
    results = [
        _result("arctic", 2.0),
        _result("delta-rs", 3.0),
        SystemResult(
            name="pyiceberg", phases={"load": Phase(reason="> 60 s")}, failure="load: > 60 s"
        ),
    ]

    (comparison,) = comparisons(results)
    lines = {line[0]: line[1:] for line in table(comparison)}
    text = page(results, rows=ROWS, machine="2 cores", limit_seconds=60)

    assert lines["load"] == ["2.00 s", "3.00 s (1.5x)", "> 60 s"]
    assert lines["upsert, median of 5"] == ["2.00 s", "3.00 s (1.5x)", "-"]
    assert remarks(results)[-1] == "pyiceberg: not checked; did not finish: load: > 60 s"
    assert "| load | 2.00 s | 3.00 s (1.5x) | > 60 s |" in text


def test_page_says_how_every_peer_is_measured() -> None:
    """No system is compared without a word on what it does."""
    text = page([], rows=ROWS, machine="2 cores", limit_seconds=60)

    assert [peer.name for peer in PEERS if peer.packages and f"`{peer.name}`" not in text] == []


def test_chart_is_well_formed() -> None:
    """The chart is XML with a bar for each figure, and none is longer than the picture."""
    comparison = comparisons([_result("arctic", 0.1), _result("delta-rs", 400.0)])

    root = ElementTree.fromstring(chart(comparison))

    bars = [element for element in root.iter() if element.get("fill") in ("#1f6feb", "#9aa7b4")]
    assert len(bars) == 4
    assert all(int(bar.get("width", "0")) <= 500 for bar in bars)


def _result(name: str, seconds: float) -> SystemResult:
    phases = {f"upsert {number}": Phase(seconds=seconds) for number in range(1, BATCHES + 1)}
    phases["load"] = Phase(seconds=seconds)
    phases["delete"] = Phase(seconds=seconds)
    return SystemResult(name=name, phases=phases, checked="unmerged: equal")
