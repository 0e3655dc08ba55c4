"""Storage that hangs: whoever opens the file waits, until it is let go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog


@contextmanager
def hanging(*files: Path) -> Iterator[None]:
    """Let files hang for as long as the block; then who waits for one finds it empty, once."""
    for file in files:
        file.rename(_aside(file))
        os.mkfifo(file)
    try:
        yield
    finally:
        for file in files:
            # Opened before it goes: whoever waits is let go on by its end.
            end = os.open(file, os.O_RDWR | os.O_NONBLOCK)
            file.unlink()
            _aside(file).rename(file)
            os.close(end)


def metadata_file(config: CatalogConfig, store: str) -> Path:
    """Return the file of a store's metadata."""
    table = load_table(open_catalog(config), tuple(store.split(".")))
    assert table is not None
    return Path(urlparse(table.metadata_location).path)


def manifest_list(config: CatalogConfig, store: str) -> Path:
    """Return the file that a listing of a store's files begins with."""
    table = load_table(open_catalog(config), tuple(store.split(".")))
    assert table is not None
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return Path(urlparse(snapshot.manifest_list).path)


def _aside(file: Path) -> Path:
    return file.with_name(f"{file.name}.aside")
