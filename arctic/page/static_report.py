"""Pages as files, for whoever has no server: a folder, or one file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arctic.errors import InvalidInputError, StorageError
from arctic.job.reference import Catalog
from arctic.page.facts.lake_facts import BrokenTable, LakeFacts
from arctic.page.gather.gather_lake import gather_lake, told
from arctic.page.gather.gather_table import gather_table
from arctic.page.pages import failure_page, overview_page, table_page
from arctic.page.rendered import Frame

_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_ALONE = Frame(home="", is_served=False)
_BESIDE = Frame(home="../", is_served=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """What was written."""

    place: Path
    """The file to open first."""
    tables: int
    broken: tuple[BrokenTable, ...]


def write_report(
    place: Path,
    tables: Sequence[str] = (),
    *,
    row_filter: str | None = None,
    with_cleaning: bool = False,
    threads: int = 10,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> WrittenReport:
    """Look at tables, and write pages about them; the tables are not changed.

    Args:
        place: a name that ends in ``.html`` is one file, with the page of the only table that is
            named, or with the overview. Any other is a folder, which is made: ``index.html``, and a
            page for each table.
        tables: that are looked at; none: all of the catalog.
        row_filter: of the read that is planned for the page of a table.
        with_cleaning: find what a cleaning would remove.
        threads: that look at tables.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: several tables for one file.
        NotFoundError: no such warehouse, or the only table that is named is not there.
        StorageError: a file cannot be written.
    """

    def page_of(name: str, frame: Frame) -> str:
        facts = gather_table(
            name,
            row_filter=row_filter,
            with_cleaning=with_cleaning,
            warehouse=warehouse,
            catalog=catalog,
        )
        return table_page(facts, frame)

    is_file = place.suffix.lower() in (".html", ".htm")
    if is_file and len(tables) > 1:
        raise InvalidInputError(
            f"report {str(place)!r} is one file, for one table or for the overview, and "
            f"{len(tables)} tables are named; expected a folder"
        )
    if is_file and tables:
        _write(place, page_of(tables[0], _ALONE))
        return WrittenReport(place=place, tables=1, broken=())
    lake = gather_lake(tables or None, threads=threads, warehouse=warehouse, catalog=catalog)
    if is_file:
        _write(place, overview_page(lake, _ALONE, links={}))
        return _written(place, lake)
    links = {}
    for number, row in enumerate(lake.tables, start=1):
        links[row.name] = f"tables/{_file_name(number, row.name)}"
        try:
            text = page_of(row.name, _BESIDE)
        except Exception as error:  # noqa: BLE001 - a table must not keep the others from being shown
            text = failure_page(row.name, f"cannot be looked at: {told(error)}", _BESIDE)
        _write(place / links[row.name], text)
    index = place / "index.html"
    _write(index, overview_page(lake, _ALONE, links=links))
    return _written(index, lake)


def _written(place: Path, lake: LakeFacts) -> WrittenReport:
    return WrittenReport(place=place, tables=len(lake.tables), broken=lake.broken)


def _file_name(number: int, name: str) -> str:
    """Return the file of a table: readable, and no other table's, whatever a file system folds.

    >>> _file_name(7, "shop.<users>")
    '7-shop._users_.html'
    """
    return f"{number}-{_IN_A_FILE_NAME.sub('_', name)[:80]}.html"


def _write(place: Path, text: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"report {str(place)!r} cannot be written: {error}") from error
