"""What `make mutants` breaks, and the page that it prints."""

from __future__ import annotations

from tests.mutants import MUTATED, ROOT, TESTS_OF, page


def test_every_file_and_test_that_is_named_exists() -> None:
    """A file that is renamed would be left out without a word."""
    assert [name for name in MUTATED if not (ROOT / name).is_file()] == []
    assert all(any(name.startswith(f"{each}/") for each in TESTS_OF) for name in MUTATED)
    assert all((ROOT / name).exists() for names in TESTS_OF.values() for name in names)


def test_the_page_counts_by_module() -> None:
    """With all together last, and whatever became of a mutant in some column."""
    lines = page(
        {
            "arctic.tree.node.xǁTreeNodeǁparent__mutmut_1": "killed",
            "arctic.scan.divide.split.x_split__mutmut_1": "survived",
            "arctic.scan.divide.split.x_split__mutmut_2": "segfault",
        }
    )
    numbers = [line.split() for line in lines if line.strip()]

    assert numbers == [
        ["mutants", "killed", "survived", "timeout", "no", "tests", "not", "checked", "other"],
        ["arctic.scan.divide.split", "2", "0", "1", "0", "0", "0", "1"],
        ["arctic.tree.node", "1", "1", "0", "0", "0", "0", "0"],
        ["all", "3", "1", "1", "0", "0", "0", "1"],
    ]
