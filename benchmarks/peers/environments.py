"""The virtual environments of the systems; versions are pinned here only."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".bench"
INSTALL_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One system of the comparison."""

    name: str
    """As it is chosen and printed."""
    script: str
    """Module below ``benchmarks.peers.systems``."""
    packages: tuple[str, ...] = ()
    """What pip installs; none: the environment that runs the benchmark."""
    arguments: tuple[str, ...] = ()
    """For the script."""
    on_spark: bool = False
    """Compared with Arctic through Spark, else with Arctic without it."""
    changes: bool = True
    """Its tables can be changed; else it is a limit for reads."""
    has_commands: bool = False
    """Takes MERGE, UPDATE and DELETE in SQL, and does the same with them as every other."""


_SPARK = ("pyspark==3.5.9",)
# Iceberg's runtime jar in a wheel; 1.0.3 leaves classes out that the jar itself needs.
_ICEBERG = (*_SPARK, "snowpark-connect-deps-iceberg==1.0.2")
_MAVEN = "https://repo1.maven.org/maven2"
_HUDI = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"

PEERS = (
    Peer(name="arctic-spark", script="arctic_spark", on_spark=True, has_commands=True),
    Peer(
        name="iceberg-mor",
        script="iceberg",
        packages=_ICEBERG,
        arguments=("mor",),
        on_spark=True,
        has_commands=True,
    ),
    Peer(
        name="iceberg-cow",
        script="iceberg",
        packages=_ICEBERG,
        arguments=("cow",),
        on_spark=True,
        has_commands=True,
    ),
    Peer(
        name="iceberg-eq",
        script="iceberg_eq",
        packages=(*_ICEBERG, "pyarrow==26.0.1"),
        on_spark=True,
    ),
    Peer(
        name="delta-spark",
        script="delta_spark",
        packages=_SPARK,
        arguments=("io.delta:delta-spark_2.12:3.3.2",),
        on_spark=True,
        has_commands=True,
    ),
    Peer(
        name="paimon-spark",
        script="paimon_spark",
        packages=_SPARK,
        # The newest that Maven Central has; all that it needs is in the jar.
        arguments=(
            f"{_MAVEN}/org/apache/paimon/paimon-spark-3.5/0.9.0/paimon-spark-3.5-0.9.0.jar",
        ),
        on_spark=True,
    ),
    Peer(
        name="hudi-bucket",
        script="hudi_spark",
        packages=_SPARK,
        arguments=(_HUDI, "bucket"),
        on_spark=True,
    ),
    Peer(
        name="hudi-record",
        script="hudi_spark",
        packages=_SPARK,
        arguments=(_HUDI, "record"),
        on_spark=True,
    ),
    Peer(name="parquet-spark", script="parquet_spark", on_spark=True, changes=False),
    Peer(name="arctic", script="arctic_plain"),
    Peer(name="pyarrow", script="pyarrow_copy"),
    Peer(name="delta-rs", script="delta_rs", packages=("deltalake==1.6.6", "pyarrow==26.0.1")),
    Peer(
        name="pyiceberg",
        script="pyiceberg_upsert",
        packages=("pyiceberg[pyiceberg-core,sql-sqlite]==0.12.0", "pyarrow==26.0.1"),
    ),
    Peer(
        name="ducklake",
        script="ducklake",
        packages=("duckdb==1.5.5", "duckdb-extension-ducklake==1.5.5", "pyarrow==26.0.1"),
    ),
    Peer(name="pypaimon", script="pypaimon_keyed", packages=("pypaimon==2.1.0",)),
)

LIMITS = frozenset(peer.name for peer in PEERS if not peer.changes)
"""Names of those that are a limit for reads, and no peer."""


def interpreter(peer: Peer) -> Path:
    """Return the Python that runs a system; on first use its environment is made.

    Raises:
        RuntimeError: pip could not install what the system needs.
    """
    if not peer.packages:
        return Path(sys.executable)
    wanted = "\n".join(peer.packages)
    # Systems of the same packages share it.
    folder = CACHE / "envs" / hashlib.sha256(wanted.encode()).hexdigest()[:12]
    python = folder / "bin" / "python"
    installed = folder / "installed.txt"
    # Written last, so a broken installation is never taken for a whole one.
    if installed.exists():
        return python
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
    installed.write_text(wanted)
    return python


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"not installed within {INSTALL_SECONDS} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip said nothing"]
        raise RuntimeError(f"not installed: {lines[-1]}")
