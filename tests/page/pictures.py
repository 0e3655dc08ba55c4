"""Draws the pictures of docs/page.md from tables that were really written: ``make pictures``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

import arctic
from arctic.page.static_report import write_report
from tests.page.browser import opened_browser, opened_page

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
_SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("amount", pa.float64())])


def _rows(seed: int, count: int, below: int) -> pa.Table:
    drawn = np.random.default_rng(seed)
    return pa.table(
        {
            "id": drawn.choice(below, count, replace=False),
            "city": drawn.choice(["Rome", "Oslo", "Bern", "Lima"], count),
            "amount": drawn.random(count),
        },
        _SCHEMA,
    )


def _make_tables(place: str) -> None:
    properties = {"self-optimizing.minor.trigger.file-count": "20"}
    for number in range(24):
        table = arctic.create_table(
            f"shop.orders_{number:02}",
            _SCHEMA,
            primary_key=["id"],
            properties={**properties, "self-optimizing.group": "etl" if number % 4 else "default"},
            warehouse=place,
        )
        table.write(_rows(number, 400, 1_000), mode="upsert")
        for turn in range(number % 3):
            table.write(_rows(100 * number + turn, 50, 1_000), mode="upsert")
        if number % 2:
            table.optimize(type="full")
    users = arctic.create_table(
        "shop.users", _SCHEMA, primary_key=["id"], properties=properties, warehouse=place
    )
    users.write(_rows(0, 200_000, 400_000), mode="upsert")
    for seed in range(1, 6):
        users.write(_rows(seed, 20_000, 400_000), mode="upsert")
        if seed == 3:
            users.optimize(type="full")
    users.evolve_schema(add={"note": pa.string()}, rename={"city": "town"})


@contextmanager
def _report() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "lake")
        _make_tables(place)
        written = write_report(Path(folder) / "report", with_cleaning=True, warehouse=place)
        # What is drawn must not depend on where it was drawn.
        index = written.place.read_text(encoding="utf-8").replace(place, "/lake")
        written.place.write_text(index, encoding="utf-8")
        yield written.place.parent


def main() -> None:
    """Draw them."""
    PICTURES.mkdir(exist_ok=True)
    with _report() as folder, opened_browser() as browser:
        (table,) = (folder / "tables").glob("*shop.users.html")
        for name, path, dark, width in (
            ("page-overview", folder / "index.html", False, 1_000),
            ("page-table", table, False, 1_000),
            ("page-table-dark", table, True, 1_000),
            ("page-narrow", table, True, 400),
        ):
            with opened_page(browser, width=width, height=900, dark=dark) as (page, _):
                page.goto(path.as_uri())
                page.screenshot(path=PICTURES / f"{name}.png")
        with opened_page(browser, width=1_000) as (page, _):
            page.goto(table.as_uri())
            page.locator("section[aria-labelledby=read]").screenshot(
                path=PICTURES / "page-read.png"
            )


if __name__ == "__main__":
    main()
