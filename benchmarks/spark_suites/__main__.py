"""Run Spark's own suites on Arctic's catalog: ``make spark-suites``.

Their classes come from Maven as Spark publishes them. ``ArcticSuites.scala`` gives each another
catalog. A test that fails for none of the known reasons fails the run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.spark_suites.reasons import reason_of

SOURCE = Path(__file__).with_name("ArcticSuites.scala")
PACKAGE = "org.apache.spark.sql.connector"
SUITES = (
    *("ArcticDelete", "ArcticUpdate", "ArcticMerge", "ArcticMergeFrame"),
    *("ArcticKeyedDelete", "ArcticKeyedUpdate", "ArcticKeyedMerge", "ArcticKeyedMergeFrame"),
    *("ArcticInsert", "ArcticInsertFrame", "ArcticAlter"),
)
OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
"""What Spark opens of Java, as its own scripts do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each suite, and what else than the known reasons has failed."""
    parser = argparse.ArgumentParser(prog="make spark-suites", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="of Spark and its suites")
    parser.add_argument("--verbose", action="store_true", help="name each test that is left out")
    parser.add_argument("suite", nargs="*", help=f"of {', '.join(SUITES)}; all")
    given = parser.parse_args(arguments)
    unknown = 0
    with tempfile.TemporaryDirectory(prefix="arctic-suites-") as folder:
        runner = Runner(given.home, Path(folder))
        for suite in given.suite or SUITES:
            failed = dict(runner.run(suite))
            reasons = {name: reason_of(name, text) for name, text in failed.items() if text}
            passed = sum(not text for text in failed.values())
            print(f"{suite}: {passed} of {len(failed)}", flush=True)
            for reason, count in Counter(reasons.values()).most_common():
                if reason is not None:
                    print(f"  {count} left out: {reason}", flush=True)
            for name, reason in reasons.items():
                if reason is None or given.verbose:
                    print(f"  {reason or 'FAILED'}: {name}: {failed[name][:300]}", flush=True)
            unknown += list(reasons.values()).count(None) + (not failed)
    return min(unknown, 1)


class Runner:
    """Spark with its suites and ours, compiled."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder
        self.spark = home / "python" / "pyspark"
        # Spark has a newer library of Scala than what its suites are run by asks for.
        theirs = [jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith("scala-")]
        jars = [*theirs, *(self.spark / "jars").glob("*.jar")]
        self.jars = os.pathsep.join(str(jar) for jar in jars)
        self.classes = folder / "classes"
        self.classes.mkdir()
        self._java(
            *("-cp", self.jars, "scala.tools.nsc.Main", "-usejavacp", "-nowarn"),
            *("-d", str(self.classes), str(SOURCE)),
        )

    def run(self, suite: str) -> Iterator[tuple[str, str]]:
        """Yield each test with what its failure says first; empty: it passed."""
        warehouse = self.folder / suite
        warehouse.mkdir()
        settings = self._settings(str(warehouse / "tables"))
        written = "\n".join(f"{name} {value}" for name, value in settings.items())
        conf = warehouse / "arctic.conf"
        conf.write_text(written, encoding="utf-8")
        path = [str(self.classes), settings["spark.driver.extraClassPath"], self.jars]
        said = self._java(
            *("-Xmx2g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED),
            *("-Dspark.testing=true", f"-Dspark.test.home={self.spark}", f"-Darctic.conf={conf}"),
            *(f"-Djava.io.tmpdir={warehouse}", "-cp", os.pathsep.join(path)),
            *("org.scalatest.tools.Runner", "-R", str(self.classes), "-oW"),
            *("-s", f"{PACKAGE}.{suite}"),
        )
        yield from results(said)

    def _settings(self, warehouse: str) -> Mapping[str, str]:
        program = Path(sys.executable).with_name("arctic")
        done = subprocess.run(
            [str(program), "spark-conf", "--name", "cat", "--warehouse", warehouse],
            env=self._environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return dict(line.split(" ", 1) for line in done.stdout.splitlines())

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "SPARK_HOME": str(self.spark),
            "PYTHONPATH": str(self.home / "python"),
        }

    def _java(self, *arguments: str) -> str:
        done = subprocess.run(
            ["java", *arguments],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        # A run with failures is one that has ended, too.
        if not done.stdout and done.returncode:
            raise SystemExit(done.stderr[-4_000:])
        return done.stdout


def results(said: str) -> Iterator[tuple[str, str]]:
    """Yield each test that a run of scalatest tells of, and the first line of its failure."""
    for name, failed, text in re.findall(
        r"^- (.*?)( \*\*\* FAILED \*\*\*.*)?\n((?:  .*\n)*)", said, re.MULTILINE
    ):
        yield name, text.strip().split("\n")[0] or "failed" if failed else ""


if __name__ == "__main__":
    sys.exit(main())
