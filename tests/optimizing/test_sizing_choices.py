"""What a table says of what it chose for itself, and that this is in force."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import arctic
from arctic.optimizing.settings import OptimizeSettings
from arctic.optimizing.sizing_choices import sizing_choices
from arctic.table.table_sizing import TableSizing

MIB = 2**20
LARGE = TableSizing(
    target_bytes=256 * MIB,
    minor_interval_ms=7_200_000,
    rest_ms=240_000,
    base_bytes=2**40,
    run_ms=(60_000, 70_000, 50_000),
)
PROPERTIES = {"arctic.sizing": LARGE.text()}


def test_what_was_chosen_is_in_force_and_said() -> None:
    """Each value with what was measured; what counts as small does not follow it."""
    settings = OptimizeSettings.of({}, PROPERTIES)
    assert settings.target_bytes == settings.max_task_bytes == 256 * MIB
    assert (settings.minor_interval_ms, settings.min_plan_interval_ms) == (7_200_000, 240_000)
    plain = OptimizeSettings.of({}, {})
    assert settings.fragment_bytes == plain.fragment_bytes
    assert settings.min_target_bytes == plain.min_target_bytes
    said = {each.name: (each.value, each.source) for each in sizing_choices(PROPERTIES)}
    assert said["self-optimizing.target-size"] == (
        "256 MiB",
        "measured: base held 1 TiB at the last run",
    )
    assert said["self-optimizing.minor.trigger.interval"] == (
        "120 minutes",
        "measured: 60.0 s, the median of the last 3 runs but fulls",
    )


def test_what_a_property_or_a_call_states_is_kept() -> None:
    """However its name is spelt."""
    stated = {**PROPERTIES, "Self-Optimizing.Target-Size": "1000", "x": "y"}
    settings = OptimizeSettings.of({"self-optimizing.min-plan-interval": "-1"}, stated)
    assert (settings.target_bytes, settings.min_plan_interval_ms) == (1_000, None)
    assert settings.minor_interval_ms == 7_200_000
    names = [each.name for each in sizing_choices(stated)]
    assert names == ["self-optimizing.minor.trigger.interval", "self-optimizing.min-plan-interval"]


def test_runs_of_a_table_measure_themselves(tmp_path: Path) -> None:
    """Three runs, and the next goes by them; a full does not count."""
    place = str(tmp_path)
    table = arctic.create_table(
        "shop.t", pa.schema([("id", pa.int64())]), primary_key=["id"], warehouse=place
    )
    for kind in ("minor", "minor", "full", "minor"):
        table.write(pa.table({"id": [1, 2]}), mode="upsert")
        arctic.optimize("shop.t", type=kind, warehouse=place)
    sizing = arctic.status("shop.t", warehouse=place).sizing
    assert "the last 3 runs but fulls" in sizing[1].source
    assert sizing[1].value == "30 minutes"
    assert sizing[0].source.startswith("measured: base held ")
