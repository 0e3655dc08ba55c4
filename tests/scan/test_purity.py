from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

import arctic
from arctic.scan.plan_scan import STEPS
from arctic.scan.scan_input import ScanInput
from arctic.scan.task import ScanOptions

PACKAGE = Path(arctic.__file__).parent
PURE = ("scan", "table", "optimizing/planning")
WORLD = frozenset(
    {"gc", "io", "os", "pathlib", "random", "secrets", "socket", "tempfile", "threading", "time"}
)
"""What is the same for no two calls, or belongs to the whole process."""


def test_what_decides_touches_nothing_of_its_process() -> None:
    """A plan is a value: no file, no clock, no chance, no thread, no collector."""
    touched = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for folder in PURE
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        for name in _imports(path)
        if name in WORLD
    }

    assert touched == set()


def test_no_option_of_a_plan_has_a_default_of_its_own() -> None:
    """Defaults stand with the options alone: a second one would differ some day."""
    for record in (ScanOptions, ScanInput):
        assert all(each.default is MISSING for each in fields(record))


def test_each_step_of_planning_is_there_once() -> None:
    """In the order of reading them."""
    assert [getattr(step, "__name__", "") for step in STEPS] == [
        "choose_files",
        "assemble_tasks",
        "take_clean_files_out",
        "take_dirty_files_out",
        "divide_into_groups",
    ]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
