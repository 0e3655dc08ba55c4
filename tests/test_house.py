"""The rooms are as the pages draw them, and no module is without a test."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.house import (
    LONG,
    PAGE,
    ROOT,
    House,
    circles,
    files_that_test,
    floors,
    folder,
    layers,
    with_counts,
    with_drawing,
)

FULL = 14
"""Modules in a folder, at most: more are several subjects."""
EDGES = (
    "arctic/api/",
    "arctic/cli/",
    "arctic/spark/",
    "arctic/with_mirrors.py",
    "arctic/with_spark.py",
)
MAKERS = {
    "arctic/iceberg/catalogs/catalog.py",
    "arctic/job/changes/asked_changes.py",
    "arctic/job/edit/retention.py",
    "arctic/job/mirror/write_changes.py",
    "arctic/job/past_state.py",
    "arctic/job/read/asked_read.py",
    "arctic/job/reference.py",
    "arctic/job/upkeep/asked_upkeep.py",
    "arctic/job/write/asked_write.py",
    "arctic/optimizing/settings.py",
    "arctic/options/option.py",
    "arctic/writing/target.py",
}
"""What makes records of options, and the writes that a caller may carry out elsewhere."""


@pytest.fixture(scope="module")
def house() -> House:
    """As the code is now."""
    return House.of(ROOT)


def test_the_architecture_page_draws_the_rooms_as_they_are(house: House) -> None:
    """A new room, or an arrow that moved, shows up in the page of the same commit."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_drawing(page, house), "run: make docs"


def test_the_architecture_page_counts_as_the_code_is_now(house: House) -> None:
    """To three in a hundred: what is off by more is written anew."""
    page = PAGE.read_text(encoding="utf-8")

    assert page == with_counts(page, house), "run: make docs"
    wrong = page.replace("modules, lines | 258, 33,521 | ", "modules, lines | 258, 33,521 | 1")
    assert page != wrong
    assert with_counts(wrong, house) == with_counts(with_counts(wrong, house), house) != wrong


@pytest.mark.parametrize("page", [PAGE, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    """A file that moved would leave a reader at a dead end."""
    named = set(re.findall(r"`(arctic/[\w./]+)`", page.read_text(encoding="utf-8")))

    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_what_the_architecture_page_locates_is_there() -> None:
    """A function that moved or got another name would leave a reader at a dead end too."""
    section = PAGE.read_text(encoding="utf-8").partition("## Where is\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if "`arctic/" in line]
    places = [
        (re.findall(r"`(arctic/[\w./]+)`", files), name.strip("` |")) for _, files, name in rows
    ]

    assert places
    assert [
        (files, name)
        for files, name in places
        if not any(
            re.search(rf"^ *(def|class) {name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE)
            for file in files
        )
    ] == []


def test_every_module_is_reached_by_a_test(house: House) -> None:
    """By a file that carries its name, or one that imports what imports it."""
    assert set(house.modules) == set(files_that_test(house))


def test_no_two_modules_share_a_file_name(house: House) -> None:
    """A name in a traceback then says which file it is."""
    names = Counter(module.rpartition(".")[2] for module in house.modules)

    assert [name for name, count in names.items() if count > 1] == []


def test_no_folder_is_a_drawer(house: House) -> None:
    """Rooms show their subject; what holds more is to be divided."""
    counts = Counter(folder(module) for module in house.modules)

    assert {name: count for name, count in counts.items() if count > FULL} == {}


def test_no_file_is_a_book() -> None:
    """In Python or in Java: what is longer holds more than one idea."""
    files = [path for kind in ("py", "java") for path in (ROOT / "arctic").rglob(f"*.{kind}")]
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}

    assert {path: count for path, count in lines.items() if count > LONG} == {}


def test_options_are_texts_at_the_edges_only() -> None:
    """Below, a function takes what was asked, or the one value it needs."""
    asked = re.compile(r"\boptions: Mapping\[str, str\]")
    takers = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "arctic").rglob("*.py")
        if asked.search(path.read_text(encoding="utf-8"))
    }

    assert {path for path in takers if not path.startswith(EDGES)} == MAKERS


def test_the_architecture_page_has_every_layer(house: House) -> None:
    """One of which pyproject.toml says nothing would not be drawn."""
    lines = [line.partition("  ")[0] for line in layers(ROOT).splitlines()[1:-1]]

    assert {room for line in lines for room in line.split(" | ")} == {
        module.split(".")[1] for module in house.modules
    }


def test_circles_are_counted_with_what_is_in_them() -> None:
    """A place that reaches itself by another one, and all that do with it."""
    none = frozenset[str]()
    arrows = {
        "a": frozenset({"b"}),
        "b": frozenset({"c"}),
        "c": frozenset({"a"}),
        "d": frozenset({"a"}),
        "e": none,
    }

    assert circles(arrows) == {frozenset({"a", "b", "c"})}
    assert circles({"a": frozenset({"b"}), "b": none}) == frozenset()


def test_floors_count_the_longest_way_down() -> None:
    """In places; a circle has no floors."""
    none = frozenset[str]()

    assert floors({"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": none}) == 3
    assert floors({"a": frozenset({"b"}), "b": frozenset({"a"})}) is None


def test_a_module_that_nothing_tested_imports_is_found(tmp_path: Path) -> None:
    """Else the check above would pass for ever."""
    (tmp_path / "arctic").mkdir()
    (tmp_path / "arctic" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_roof.py").write_text("", encoding="utf-8")
    arrows = {"arctic.roof": frozenset({"arctic.wall"}), "arctic.wall": frozenset[str]()}
    small = House(root=tmp_path, modules=arrows | {"arctic.shed": frozenset({"arctic.wall"})})

    assert files_that_test(small) == {
        "arctic.roof": "tests/test_roof.py",
        "arctic.wall": "tests/test_roof.py",
    }


def test_a_module_is_not_tested_by_what_only_has_its_name(tmp_path: Path) -> None:
    """Its own file lies in its room, or imports it."""
    for path, text in {
        "arctic/__init__.py": "",
        "tests/attic/test_roof.py": "from arctic.attic import roof",
        "tests/cellar/test_roof.py": "",
        "tests/cellar/test_wall.py": "",
        "tests/garden/test_wall.py": "from arctic.attic.wall import brick",
        "tests/garden/test_wood.py": "from arctic.attic.beam import wood",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    names = ("attic.roof", "attic.wall", "attic.beam", "cellar.roof")
    small = House(root=tmp_path, modules={f"arctic.{name}": frozenset[str]() for name in names})

    assert files_that_test(small) == {
        "arctic.attic.beam": "tests/garden/test_wood.py",
        "arctic.attic.roof": "tests/attic/test_roof.py",
        "arctic.attic.wall": "tests/garden/test_wall.py",
        "arctic.cellar.roof": "tests/cellar/test_roof.py",
    }
