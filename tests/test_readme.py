"""Every example in README.md and docs/ runs, and prints what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.other_python import write_bare_python
from tests.snippets import run, snippets_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def _needs_spark(page: Path) -> bool:
    code = "".join(snippet.code for snippet in snippets_of(page))
    return any(name in code for name in ("pyspark", "local_session", "spark-conf"))


WITHOUT_SPARK = [page for page in PAGES if snippets_of(page) and not _needs_spark(page)]
WITH_SPARK = [page for page in PAGES if _needs_spark(page)]


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=lambda page: page.name)
def test_a_page_runs_as_it_is_printed(page: Path, tmp_path: Path) -> None:
    """A reader who types the examples in gets what the page shows."""
    run(snippets_of(page), tmp_path)


@pytest.fixture
def another_python(tmp_path: Path) -> Path:
    """Return a folder whose ``python3`` is the one that this environment was made of."""
    folder = tmp_path / "bin"
    folder.mkdir()
    write_bare_python(folder)
    return folder


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_SPARK, ids=lambda page: page.name)
def test_a_page_with_spark_runs_as_it_is_printed(
    page: Path, tmp_path: Path, another_python: Path
) -> None:
    """In a process of its own, called by its path as editors, notebooks and schedulers do.

    No variable names the Python of Spark's workers, and the first one of the path has no package.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith("PYSPARK_")
    }
    environment["PATH"] = os.pathsep.join([str(another_python), os.environ["PATH"]])
    outcome = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "snippets.py"), str(page)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr[-4_000:]
    assert "replaced a" not in outcome.stderr


def test_the_readme_has_examples_with_and_without_spark() -> None:
    """The pages are found at all: an empty list would pass."""
    assert ROOT / "README.md" in WITH_SPARK
    assert WITHOUT_SPARK
