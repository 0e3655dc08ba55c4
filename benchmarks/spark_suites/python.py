"""Run PySpark's own tests of data sources with Arctic registered: ``make pyspark-suites``.

    make pyspark-suites ARGS="--checkout ~/spark"

No package of PySpark brings its tests, so a checkout of Spark is named. Each file runs twice, in
processes of their own: with PySpark as it is, and with sessions that know Arctic. A test that fails
only with them fails the run; what fails in both is told, for a checkout may be of another release.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark.testing.sqlutils
import pyspark.testing.utils
from pyspark import cloudpickle

import arctic

TESTS = Path("python", "pyspark", "sql", "tests")
FILES = (
    "test_python_datasource.py",
    "test_datasources.py",
    "test_readwriter.py",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each file, and what fails; 1 if anything fails only beside Arctic."""
    parser = argparse.ArgumentParser(prog="make pyspark-suites", description=__doc__)
    parser.add_argument("--checkout", type=Path, required=True, help="of Spark, with its tests")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--registered", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("file", nargs="*", default=FILES, help=f"of {TESTS}; {', '.join(FILES)}")
    given = parser.parse_args(arguments)
    if given.one is not None:
        return _run(given.checkout.resolve(), given.one, registered=given.registered)
    worse = 0
    for name in given.file:
        plain, ours = (_results(given.checkout, name, registered=each) for each in (False, True))
        only = {test: said for test, said in ours.items() if said and not plain.get(test)}
        passed = sum(not said for said in ours.values())
        print(f"{name}: {passed} of {len(ours)}", flush=True)
        for test, said in ours.items():
            if said:
                how = "FAILED" if test in only else "fails without Arctic too"
                print(f"  {how}: {test}: {said}", flush=True)
        worse += len(only) + (set(plain) != set(ours)) + (not ours)
    return min(worse, 1)


def _results(checkout: Path, name: str, *, registered: bool) -> dict[str, str]:
    """Return what the failure of each test says last; empty: it passed."""
    with tempfile.TemporaryDirectory(prefix="arctic-pyspark-") as folder:
        out = Path(folder) / "results.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", __spec__.name, "--checkout", str(checkout), "--one", name),
                *(["--registered"] if registered else []),
            ],
            env={**os.environ, "ARCTIC_RESULTS": str(out), "ARCTIC_WAREHOUSE": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.exists():
            raise SystemExit(done.stderr[-4_000:])
        found: dict[str, str] = json.loads(out.read_text(encoding="utf-8"))
        return found


def _run(checkout: Path, name: str, *, registered: bool) -> int:
    """Run a file in this process."""
    # Tests of another release look for some of these in the other module.
    old: Any = pyspark.testing.sqlutils
    new: Any = pyspark.testing.utils
    for known, value in vars(new).items():
        vars(old).setdefault(known, value)
    old.SPARK_HOME = new.SPARK_HOME = str(checkout)
    os.chdir(checkout)
    case = old.ReusedSQLTestCase
    begin = case.setUpClass.__func__

    def begin_registered(cls: Any) -> None:
        begin(cls)
        if registered:
            arctic.register(cls.spark)

    case.setUpClass = classmethod(begin_registered)
    spec = importlib.util.spec_from_file_location(Path(name).stem, checkout / TESTS / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    # Workers cannot import it.
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(module)
    result = _Told()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    Path(os.environ["ARCTIC_RESULTS"]).write_text(json.dumps(result.told), encoding="utf-8")
    return 0


class _Told(unittest.TestResult):
    """What became of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.told[test.id()] = ""

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.told[test.id()] = f"skipped: {reason}"

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.told[test.id()] = f"{err[1]}"[:300] or repr(err[1])

    addError = addFailure

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self.told[subtest.id()] = f"{err[1]}"[:300]


if __name__ == "__main__":
    sys.exit(main())
