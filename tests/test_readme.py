"""Every example in README.md and docs/ runs, and prints what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snippets import run, snippets_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def _needs_spark(page: Path) -> bool:
    code = "".join(snippet.code for snippet in snippets_of(page))
    return "pyspark" in code or "arctic.spark" in code


WITHOUT_SPARK = [page for page in PAGES if snippets_of(page) and not _needs_spark(page)]
WITH_SPARK = [page for page in PAGES if _needs_spark(page)]


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=lambda page: page.name)
def test_a_page_runs_as_it_is_printed(page: Path, tmp_path: Path) -> None:
    """A reader who types the examples in gets what the page shows."""
    run(snippets_of(page), tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("page", WITH_SPARK, ids=lambda page: page.name)
def test_a_page_with_spark_runs_as_it_is_printed(page: Path, tmp_path: Path) -> None:
    """In a process of its own: the page starts its session as a reader would."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        # As in an activated environment: Spark's workers take the first Python of the path.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    outcome = subprocess.run(
        [sys.executable, "-m", "tests.snippets", str(page)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr[-4_000:]


def test_the_readme_has_examples_with_and_without_spark() -> None:
    """The pages are found at all: an empty list would pass."""
    assert ROOT / "README.md" in WITH_SPARK
    assert WITHOUT_SPARK
