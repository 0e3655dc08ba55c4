"""Draws the rooms of the package from its imports, and counts: ``make house``.

``ARGS="--tree ../other"`` counts another checkout, ``ARGS=--tests`` lists the test of each module.
What one write and one read pass through is counted by ``tests/hops.py`` of the same checkout.
``make docs`` puts the drawing and the counts into docs/architecture.md, where a test compares them
with the code.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "arctic"
PAGE = ROOT / "docs" / "architecture.md"
LONG = 300
"""Lines above which a module is named."""
DRIFT = 0.03
"""By how much a count in the page may be off."""
_PUBLIC = "tests/test_public_api.py"
"""Calls whatever `import arctic` offers."""
_LAYER = re.compile(r'^ +"(?P<rooms>[a-z_| ]+)", # (?P<says>.+)$', re.MULTILINE)
"""A layer of pyproject.toml, and what it says of it."""

_ROWS = {
    "modules, lines": ("modules", "lines"),
    "folders, modules in the fullest": ("folders", "modules in the fullest folder"),
    "arrows between modules, between folders": ("arrows between modules", "arrows between folders"),
    "floors of modules, of folders": ("floors of modules", "floors of folders"),
    "circles of modules, of folders": ("circles of modules", "circles of folders"),
    "modules with one importer": ("modules with one importer",),
}
"""Rows of a table in docs/architecture.md, each with what it counts."""

Arrows = Mapping[str, frozenset[str]]
"""What each imports, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """The modules of a checkout, and what they import of one another."""

    root: Path
    modules: Arrows
    """Without the ``__init__`` of folders, which hold a docstring."""

    @classmethod
    def of(cls, root: Path) -> House:
        """Read the imports of a checkout; nothing of it is run."""
        sys.path.insert(0, str(root))
        try:
            graph = grimp.build_graph(PACKAGE, cache_dir=None)
        finally:
            sys.path.remove(str(root))
        names = {name for name in graph.modules if _file(root, name).is_file()}
        return cls(
            root=root,
            modules={
                name: frozenset(graph.find_modules_directly_imported_by(name)) & names
                for name in sorted(names)
            },
        )

    def lines(self, module: str) -> int:
        """Return the length of a module."""
        return len(_file(self.root, module).read_text(encoding="utf-8").splitlines())

    def between(self, place: Callable[[str], str]) -> Arrows:
        """Return the arrows between places, such as folders, of their modules."""
        arrows: dict[str, set[str]] = {place(module): set() for module in self.modules}
        for module, imported in self.modules.items():
            arrows[place(module)] |= {place(each) for each in imported} - {place(module)}
        return {name: frozenset(others) for name, others in arrows.items()}


def folder(module: str) -> str:
    """Return the folder of a module: ``arctic.scan.divide`` of ``arctic.scan.divide.pack``."""
    return module.rpartition(".")[0]


def floors(arrows: Arrows) -> int | None:
    """Return the length of the longest chain of arrows, counted in places; None in a circle."""
    depth: dict[str, int] = {}
    try:
        for name in TopologicalSorter(arrows).static_order():
            depth[name] = 1 + max((depth[each] for each in arrows[name]), default=0)
    except CycleError:
        return None
    return max(depth.values())


def circles(arrows: Arrows) -> frozenset[frozenset[str]]:
    """Return the places that reach one another, in sets as large as they are."""
    reach = {name: _reached(arrows, name) for name in arrows}
    return frozenset(
        frozenset(each for each in reach[name] if name in reach[each])
        for name in arrows
        if name in reach[name]
    )


def _reached(arrows: Arrows, start: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return frozenset(found)


def counted(house: House) -> Iterator[tuple[str, str]]:
    """Return what is counted, each with its name."""
    importers = Counter(each for imported in house.modules.values() for each in imported)
    folders = Counter(folder(module) for module in house.modules)
    between = house.between(folder)
    fullest, most = folders.most_common(1)[0]
    twice = [
        name
        for name, count in Counter(module.rpartition(".")[2] for module in house.modules).items()
        if count > 1
    ]
    long = [module for module in house.modules if house.lines(module) > LONG]
    yield "modules", f"{len(house.modules):,}"
    yield "folders", f"{len(folders):,}"
    yield "modules in the fullest folder", f"{most} ({fullest})"
    yield "lines", f"{sum(map(house.lines, house.modules)):,}"
    yield "arrows between modules", f"{sum(map(len, house.modules.values())):,}"
    yield "arrows between folders", f"{sum(map(len, between.values())):,}"
    yield "circles of modules", _sets(circles(house.modules))
    yield "circles of folders", _sets(circles(_without_parents(between)))
    yield "floors of modules", str(floors(house.modules) or "a circle")
    yield "floors of folders", str(floors(_without_parents(between)) or "a circle")
    yield "modules with one importer", str(list(importers.values()).count(1))
    yield "file names that occur twice", f"{len(twice)} {' '.join(sorted(twice))}".strip()
    yield f"modules above {LONG} lines", f"{len(long)} {' '.join(long)}".strip()


def _sets(found: Iterable[frozenset[str]]) -> str:
    texts = sorted(" ".join(sorted(each)) for each in found)
    return f"{len(texts)} {', '.join(texts)}".strip()


def _without_parents(between: Arrows) -> Arrows:
    """Leave out arrows between a folder and what lies in it: both are one room."""
    return {
        name: frozenset(
            each
            for each in others
            if not each.startswith(f"{name}.") and not name.startswith(f"{each}.")
        )
        for name, others in between.items()
    }


def files_that_test(house: House) -> Mapping[str, str]:
    """Return the file that tests each module: its own, or one that reaches it by few arrows.

    Its own has its name, and lies in its room or imports it. A module that no tested module imports
    is not among them.
    """
    tests = house.root / "tests"
    files = {file: frozenset(_imported(file)) for file in sorted(tests.rglob("test_*.py"))}
    public = {
        module
        for package in (house.root / PACKAGE).rglob("__init__.py")
        for module in _imported(package)
    }
    found = {}
    for module in house.modules:
        rooms, name = module.split(".")[1:-1], f"test_{module.rpartition('.')[2].strip('_')}.py"
        importing = [file for file, imported in files.items() if module in imported]
        named = [file for file in importing if file.name == name]
        near = _nearest(tests.joinpath(*rooms), named or importing)
        if tests.joinpath(*rooms, name) in files:
            found[module] = tests.joinpath(*rooms, name)
        elif module in public and not named:
            found[module] = house.root / _PUBLIC
        elif near is not None:
            found[module] = near
    waiting = deque(found)
    while waiting:
        importer = waiting.popleft()
        for module in sorted(house.modules[importer] - found.keys()):
            found[module] = found[importer]
            waiting.append(module)
    return {name: str(found[name].relative_to(house.root)) for name in sorted(found)}


def _nearest(room: Path, files: Iterable[Path]) -> Path | None:
    """Return the file whose folder shares most rooms with one; of equals the first."""

    def shared(file: Path) -> int:
        return sum(each in (room, *room.parents) for each in file.parents)

    return max(files, key=shared, default=None)


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def layers(root: Path) -> str:
    """Return the layers of the package with what pyproject.toml says of each, as Markdown."""
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    contract = project.partition(f'containers = ["{PACKAGE}"]\n')[2].partition("\n]\n")[0]
    found = [(each["rooms"], each["says"]) for each in _LAYER.finditer(contract)]
    lines = (f"{rooms:20}  {says}" for rooms, says in found)
    return "\n".join(["```", *lines, "```"])


def drawing(house: House) -> str:
    """Return the rooms and what they say of themselves, as Markdown."""
    return "\n".join(_drawing(house))


def _drawing(house: House) -> Iterator[str]:
    top = house.between(lambda module: ".".join(module.split(".")[:2]))
    yield "```mermaid"
    yield "graph TD"
    for name, others in sorted(_reduced(top).items()):
        for other in sorted(others):
            yield f"    {name.removeprefix('arctic.')} --> {other.removeprefix('arctic.')}"
    yield "```"
    yield ""
    yield "| room | modules | what is there |"
    yield "|---|---|---|"
    folders = Counter(folder(module) for module in house.modules)
    for name in sorted(folders):
        if name != PACKAGE:
            yield f"| `{name.replace('.', '/')}` | {folders[name]} | {_says(house.root, name)} |"


def _reduced(arrows: Arrows) -> Arrows:
    """Leave out every arrow that a longer way says as well."""
    reach: dict[str, frozenset[str]] = {}
    for name in TopologicalSorter(arrows).static_order():
        reach[name] = arrows[name].union(*(reach[each] for each in arrows[name]))
    return {
        name: frozenset(
            each for each in others if not any(each in reach[way] for way in others - {each})
        )
        for name, others in arrows.items()
    }


def _says(root: Path, package: str) -> str:
    text = (root / Path(*package.split(".")) / "__init__.py").read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    return " ".join(said.split("\n\n")[0].split())


def _file(root: Path, module: str) -> Path:
    return root / Path(*module.split(".")).with_suffix(".py")


def with_drawing(page: str, house: House) -> str:
    """Return the text of a page with the layers and the drawing of today, each in its place."""
    for what, text in (("layers", layers(house.root)), ("rooms", drawing(house))):
        begin, end = f"<!-- {what}: make docs -->", f"<!-- end of {what} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page


def with_counts(page: str, house: House) -> str:
    """Return the text of a page with the counts of today in the last column of their table.

    A row that is off by less than ``DRIFT`` stays, so that not every change touches the page.
    """
    found = dict(counted(house))
    for label, names in _ROWS.items():
        now = ", ".join(found[name].partition(" ")[0] for name in names)
        row = re.compile(rf"^(\| {re.escape(label)} \| .* \| )([\d, ]+)( \|)$", re.MULTILINE)
        said = row.search(page)
        if said is not None and not _is_near(said[2], now):
            page = row.sub(rf"\g<1>{now}\g<3>", page)
    return page


def _is_near(said: str, now: str) -> bool:
    pairs = zip(said.split(", "), now.split(", "), strict=True)
    numbers = ((int(old.replace(",", "")), int(new.replace(",", ""))) for old, new in pairs)
    return all(abs(old - new) <= DRIFT * new for old, new in numbers)


def main() -> None:
    """Print the counts, or what was asked for."""
    parser = argparse.ArgumentParser(prog="make house", description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT, help="a checkout to count")
    parser.add_argument("--tests", action="store_true", help="list the test of each module")
    parser.add_argument("--write", action="store_true", help=f"draw into {PAGE.name}")
    given = parser.parse_args()
    house = House.of(given.tree.resolve())
    if given.write:
        page = with_drawing(PAGE.read_text(encoding="utf-8"), house)
        PAGE.write_text(with_counts(page, house), encoding="utf-8")
    elif given.tests:
        tested = files_that_test(house)
        for module in house.modules:
            print(f"{module:48} {tested.get(module, 'nothing')}")
    else:
        for name, value in counted(house):
            print(f"{name:32} {value}", flush=True)
        if (house.root / "tests" / "hops.py").is_file():
            # From its folder, so that it is that package which is counted.
            subprocess.run([sys.executable, "-m", "tests.hops"], cwd=house.root, check=True)
        else:
            print("hops: nothing in that checkout counts them, see its history")


if __name__ == "__main__":
    main()
