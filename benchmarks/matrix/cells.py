"""Which versions are tried together, from what ``pyproject.toml`` allows.

Not every pair of them: each Python with the newest of everything, and on one Python the ends of
what is allowed for each package, one at a time, then all oldest at once.

Must not know: what is on this machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from packaging.requirements import Requirement

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
USUAL = "3.11"
"""The Python of the cells that are about another package."""
SPARKS = ("4.1", "4.2", "4.3")
SHOWN = ("pyspark", "pyarrow", "pandas", "numpy", "pyiceberg")
"""Packages whose versions a row of the table says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One environment."""

    about: str
    """What of it is not usual."""
    python: str
    pins: tuple[str, ...] = ()
    """Requirements beside those of the package."""
    pandas: str = "pandas"
    """The requirement of a package that Arctic does not need, or nothing."""


def cells(dependencies: Sequence[str]) -> list[Cell]:
    """Return what is tried.

    Args:
        dependencies: of the package, as ``pyproject.toml`` has them.
    """
    least = oldest(dependencies)
    return [
        *[Cell(about=f"Python {python}", python=python) for python in PYTHONS],
        *[
            Cell(about=f"PySpark {spark}", python=USUAL, pins=(f"pyspark=={spark}.*",))
            for spark in SPARKS
        ],
        Cell(about="oldest PySpark", python=USUAL, pins=(least["pyspark"],)),
        Cell(about="oldest pyarrow", python=USUAL, pins=(least["pyarrow"],)),
        Cell(about="pandas 2", python="3.12", pandas="pandas<3"),
        Cell(about="pandas 3", python="3.12", pandas="pandas>=3"),
        Cell(about="no pandas", python=USUAL, pandas=""),
        Cell(
            about="oldest of everything",
            python=PYTHONS[0],
            pins=tuple(least.values()),
            pandas="pandas<3",
        ),
    ]


def read_project() -> dict[str, Any]:
    """Return what ``pyproject.toml`` says of the package."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def oldest(dependencies: Sequence[str]) -> dict[str, str]:
    """Return a requirement of the oldest version that each dependency allows, by its name."""
    found = {}
    for text in dependencies:
        each = Requirement(text)
        [least] = [part.version for part in each.specifier if part.operator == ">="]
        marker = f"; {each.marker}" if each.marker else ""
        found[re.sub(r"[-_.]+", "-", each.name).lower()] = f"{each.name}=={least}{marker}"
    return found
