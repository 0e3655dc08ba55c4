"""What is imported late."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from arctic.late_import import imported


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_left_as_it_was(collects: bool) -> None:
    """Whoever has turned it off finds it off, also when the import fails."""
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()

        assert imported("arctic.errors").__name__ == "arctic.errors"
        with pytest.raises(ImportError):
            imported("arctic.no_such_module")

        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


def test_the_first_name_that_is_used_is_imported_without_collections() -> None:
    """In a process of its own, as a program begins."""
    code = (
        "import gc, arctic\n"
        "older = [each['collections'] for each in gc.get_stats()][1:]\n"
        "arctic.create_table\n"
        "print([each['collections'] for each in gc.get_stats()][1:] == older, gc.isenabled())"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["True", "True"]
