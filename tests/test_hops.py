"""What one small write and one read pass through, as ``make house`` counts it."""

from __future__ import annotations

from pathlib import Path

from tests.hops import measure


def test_a_write_opens_its_table_once_and_looks_once_more(tmp_path: Path) -> None:
    """Its commit does, and nobody in between; a read only opens."""
    found = measure(str(tmp_path))

    for title in ("an upsert", "an upsert of Spark"):
        counts = {what: found[title].count(what) for what in ("opens", "pins", "refreshes")}
        assert counts == {"opens": 1, "pins": 1, "refreshes": 0}
        assert found[title].count("looks before a commit") == 1
    assert found["a read"].count("opens") == 1
    assert found["a read"].count("refreshes") == 0
    assert all("option reads" in hops.text(title) for title, hops in found.items())
