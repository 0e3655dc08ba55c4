from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import arctic
from arctic.options import OPTIONS, Scope
from arctic.table import property_names
from arctic.table.property_names import OPTION_PREFIXES, is_own

PACKAGE = Path(arctic.__file__).parent
REGISTRY = Path(property_names.__file__)
NO_METADATA = frozenset({"arctic.question"})
"""What Python and Java ask each other through a column of a query; no table ever holds it."""


def test_no_name_of_ours_stands_outside_the_registry() -> None:
    """A literal elsewhere would be a second home, which a rename or a reservation forgets."""
    found = {
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != REGISTRY
        for text in _literals(path)
        if is_own(text) and text not in NO_METADATA and not _is_address(text)
    }

    assert found == set()


def test_each_name_is_reserved_and_there_once() -> None:
    """Two constants of one value would be two meanings of one property."""
    names = [text for name, text in vars(property_names).items() if _is_name(name, text)]

    assert len(set(names)) == len(names) > 15
    assert all(is_own(text) for text in names)


def test_what_begins_like_an_option_is_an_option() -> None:
    """Each prefix is of some option that a table keeps, so a typo behind it is told."""
    kept = [name for option in OPTIONS if Scope.TABLE in option.scopes for name in option.names]

    assert all(any(name.startswith(prefix) for name in kept) for prefix in OPTION_PREFIXES)


def _is_name(name: str, value: object) -> bool:
    return name.isupper() and not name.startswith("_") and isinstance(value, str)


def _literals(path: Path) -> Iterator[str]:
    """Yield each text of a module without blanks: what has one is a message or a docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and not any(each.isspace() or each == "(" for each in text):
            yield text


def _is_address(text: str) -> bool:
    """Say whether a text names something of the package: a module, a class of it, or of Java's."""
    parts = text.split(".")
    if parts[0] != "arctic":
        return False
    if any(character in text for character in "_$"):
        return True
    return find_spec(text if parts[-1].islower() else ".".join(parts[:-1])) is not None
