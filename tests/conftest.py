"""What every test shares: Hypothesis profiles, and the rule that a skip is not a pass.

Kept small on purpose: factories and fixtures live beside the tests that use them.
"""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

from tests.spent_time import SHORTEST_SECONDS, spent_by_file, told
from tests.warm_python import serve_python

# Every run draws the same examples, so that a red run is red for everybody; `deep` explores, by
# hand: HYPOTHESIS_PROFILE=deep make test. `make mutants` asks only whether a test fails, many
# thousand times.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "deep", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "mutants",
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
_TESTS = Path(__file__).parent
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
settings.load_profile(_PROFILE)

SERVERS = (
    *("catalogs", "java", "kafka", "mariadb", "mysql", "postgres", "s3", "stores"),
    *("http/test_page_calls.py", "http/test_served_pages.py", "page/test_browser.py"),
    *("spark/cluster", "spark/connect", "spark/test_chain.py"),
    *("spark/test_companion.py", "spark/test_dbt.py", "spark/test_hdfs.py"),
    *("spark/test_mirror_postgres.py", "spark/test_object_store.py", "spark/test_vended_keys.py"),
    *("spark/catalog/test_other_catalogs.py", "test_ch_benchmark.py", "test_engines.py"),
    "test_serve.py",
)
"""Below this folder: tests that begin a server, a cluster, a browser or another engine."""

# Their tests run them in another process: with dbt, which has its own environment; in a pipeline.
collect_ignore = ["spark/dbt_suites.py", "spark/pipeline_cases.py"]


def _begins_servers(path: Path) -> bool:
    place = path.relative_to(_TESTS) if path.is_relative_to(_TESTS) else path
    return any(place.is_relative_to(each) for each in SERVERS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what a run of the one kind leaves to the other: seconds for each process."""
    asked = config.option.markexpr
    if asked not in ("servers", "not servers") or collection_path.is_dir():
        return None
    return _begins_servers(collection_path) != (asked == "servers") or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what begins servers; begin with slow files, or with what one failure ends the run of.

    A file is one process's work: a long one that begins last leaves the others idle.
    """
    for item in items:
        if _begins_servers(item.path):
            item.add_marker("servers")
    if _PROFILE == "mutants":
        items.sort(key=lambda item: is_hypothesis_test(getattr(item, "obj", None)))
        return
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected from Python's collector, which would go over it again.

    It is most of what a process of tests holds, and stays until the process ends.
    """
    gc.collect()
    gc.freeze()


_WARM = pytest.StashKey[tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Let the workers of Spark start from one process, for all processes of this run."""
    if hasattr(config, "workerinput") or "PYSPARK_PYTHON" in os.environ:
        return
    folder = tempfile.TemporaryDirectory(prefix="arctic-python-")
    script, server = serve_python(Path(folder.name))
    config.stash[_WARM] = server, folder
    os.environ["PYSPARK_PYTHON"] = str(script)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End that process."""
    if _WARM in config.stash:
        server, folder = config.stash[_WARM]
        del os.environ["PYSPARK_PYTHON"]
        server.communicate()
        folder.cleanup()


def skips_are_failures() -> bool:
    """Say whether this run must not leave anything out."""
    return os.environ.get("CI", "").lower() == "true"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if skips_are_failures() and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under CI=true, where a missing part fails: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failure under CI=true."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failure under CI=true."""
    report = yield
    _refuse_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the time of a long run went."""
    reports = (each for found in terminalreporter.stats.values() for each in found)
    by_file = spent_by_file(reports)
    if sum(by_file.values()) >= SHORTEST_SECONDS:
        terminalreporter.section("where the time went: folders, files")
        for line in told(by_file):
            terminalreporter.write_line(line)
