"""An environment as an archive on a cluster: ``make test-archive``.

It takes a minute or more, most of it to unpack and import all that is in there: no part of CI.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import driver

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
PACKED = Path(sys.prefix) / "packed"


def test_workers_run_an_environment_that_is_sent_as_an_archive(master: str, tmp_path: Path) -> None:
    """It is packed by venv-pack, with Arctic; the driver plans reads by its Python too."""
    if not (PACKED / ".installed").exists():
        pytest.skip(f"`make test-archive` makes the environment {PACKED}")
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    pack = ("-m", "venv_pack", "-q", "-p", PACKED, "--compress-level", "1")
    archive = tmp_path / "env.tar.gz"
    for each in ((*install, "--force-reinstall", ROOT), (*pack, "-o", archive)):
        subprocess.run([PACKED / "bin" / "python", *each], check=True)
    (tmp_path / "env").symlink_to(PACKED)

    done = subprocess.run(
        [sys.executable, driver.__file__, "archived", master, tmp_path, f"{archive}#env"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYSPARK_PYTHON": "./env/bin/python"},
    )
    assert done.stdout.splitlines() == ["archived 2"]
