"""How a catalog of each kind is opened: the embedded one of a folder, and those that have a name.

Rules:
    - Locations are ``file://`` URIs: Java and position deletes compare them as text.
    - A reader never creates a folder or a file, and needs no permission to.
    - Metadata is loaded whole, whatever a configuration or a server wishes: files of snapshots that
      were left out of it would be taken for nobody's, and deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.rest import SNAPSHOT_LOADING_MODE
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchPropertyException, NotInstalledError
from pyiceberg.utils.config import Config
from sqlalchemy import create_engine

from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.in_database.transaction_end import heed_last_steps
from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.catalogs.read_only import ReadOnlySqlCatalog, check_writable, may_only_read
from arctic.iceberg.catalogs.sqlite import database_of, first_use, harden, sqlite_uri
from arctic.iceberg.translate import catalog_errors
from arctic.redact import Secrets, without_secrets

CATALOG_NAME = "arctic"
"""The catalog's name inside SQL catalogs, where the options give none."""

_MOST_SESSIONS = 15
"""Of one process with one database; more threads wait for each other."""


class MissingCatalogError(NotFoundError):
    """The file of a catalog is not there: to those who had it open, it is away for a while."""


def local_folder(warehouse: str) -> str:
    """Return the absolute folder of an embedded catalog.

    Raises:
        InvalidInputError: one that it cannot live in.
    """
    path = re.sub(r"^file:(//(localhost)?(?=/))?", "", warehouse)
    if path != warehouse and "%" in path:
        raise InvalidInputError(
            f"warehouse {warehouse!r}: percent-encoding is not decoded; give the plain path"
        )
    if re.match(r"[A-Za-z][\w+.-]*://", path):
        raise InvalidInputError(
            f"warehouse {without_secrets(warehouse)!r}: the embedded SQLite catalog needs a local "
            "folder; for remote storage set catalog.uri"
        )
    path = os.path.abspath(os.path.expanduser(path))
    if re.search(r"[#?\x00-\x1f]", path):
        raise InvalidInputError(
            f"warehouse {path!r}: '#', '?' and control characters cannot stand in a location URI"
        )
    return path


def settings_of_server(
    name: str, warehouse: str | None, settings: Mapping[str, str]
) -> tuple[tuple[str, str], ...] | None:
    """Return all that a catalog is opened with; None: it is no database on a server.

    Args:
        name: of the catalog, and what it was given with it: as for ``open_named``.
        warehouse: as for ``open_named``.
        settings: as for ``open_named``.
    """
    known = {key: str(value) for key, value in _known(name, settings).items()}
    uri = known.get("uri", "")
    is_sql = known.get("type", "").lower() == "sql" or uri.startswith("postgresql")
    if not is_sql or uri.startswith("sqlite"):
        return None
    given = ("warehouse", warehouse or "")
    if re.match(r"[A-Za-z][\w+.-]*:|/|\Z", known.get("warehouse") or warehouse or ""):
        return (("", name), given, *sorted(known.items()))
    # A folder without a root is another one after the working directory has changed.
    return (("", name), ("", os.getcwd()), given, *sorted(known.items()))


def _known(name: str, properties: Mapping[str, str]) -> dict[str, object]:
    """Return the properties of a catalog, with those that PyIceberg's configuration has of it."""
    return {**(Config().get_catalog_config(name) or {}), **properties}


def _load_catalog(name: str, properties: Mapping[str, str], *, create: bool) -> Catalog:
    known = _known(name, properties)
    uri = str(known.get("uri", ""))
    if uri.startswith("sqlite") and may_only_read(database_of(uri)):
        return _read_only(name, {key: str(text) for key, text in known.items()}, create=create)
    if _is_rest(known) and "py-catalog-impl" not in properties:
        return TimedRestCatalog(name, **cast("dict[str, str]", known))
    if _is_hive(known) and "py-catalog-impl" not in properties:
        return _open_hive(name, cast("dict[str, str]", known))
    if str(known.get("type") or "").lower() == "glue" and "py-catalog-impl" not in properties:
        return _open_glue(name, cast("dict[str, str]", known))
    return first_use(partial(load_catalog, name, **properties))


def _is_rest(properties: Mapping[str, object]) -> bool:
    """Say whether PyIceberg would take settings for those of a REST catalog."""
    kind, uri = str(properties.get("type") or "").lower(), str(properties.get("uri", ""))
    return bool(uri) and (kind == "rest" or (not kind and uri.startswith("http")))


def _is_hive(properties: Mapping[str, object]) -> bool:
    """Say the same of a metastore of Hive."""
    kind, uri = str(properties.get("type") or "").lower(), str(properties.get("uri", ""))
    return bool(uri) and (kind == "hive" or (not kind and uri.startswith("thrift")))


def _open_hive(name: str, properties: Mapping[str, str]) -> Catalog:
    with _extra("hive"):
        from arctic.iceberg.catalogs.over_thrift.safe_hive import (  # noqa: PLC0415 - an extra
            SafeHiveCatalog,
        )
    return SafeHiveCatalog(name, **properties)


def _open_glue(name: str, properties: Mapping[str, str]) -> Catalog:
    with _extra("glue"):
        from arctic.iceberg.catalogs.over_http.safe_glue import (  # noqa: PLC0415 - an extra
            SafeGlueCatalog,
        )
    return SafeGlueCatalog(name, **properties)


@contextmanager
def _extra(name: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise NotInstalledError(
            f"{error}: install the extra, in a checkout: pip install '.[{name}]'"
        ) from error


def open_named(
    name: str, warehouse: str | None, settings: Mapping[str, str], *, create: bool
) -> Catalog:
    """Open a catalog that PyIceberg knows by its name or its settings.

    Args:
        name: of the catalog.
        warehouse: where it puts new tables; None: it knows.
        settings: PyIceberg's catalog properties.
        create: make a missing SQLite file.

    Raises:
        NotFoundError, InvalidInputError, UnsupportedError, StorageError: as ``open_catalog``.
    """
    properties = dict(settings)
    if warehouse is not None:
        properties.setdefault("warehouse", warehouse)
    if properties.get("type", "").lower() == "in-memory":
        raise InvalidInputError(
            "catalog.type = 'in-memory': it is forgotten after the call; set warehouse to a folder"
        )
    secrets = Secrets.of(properties)
    with catalog_errors(f"open catalog {name!r}", secrets):
        if properties.get("uri", "").startswith("sqlite"):
            _check_file(database_of(properties["uri"]), f"catalog {name!r}", create=create)
        try:
            catalog = _load_catalog(name, properties, create=create)
        except InvalidInputError:
            raise
        except (ValueError, AttributeError, NoSuchPropertyException) as error:
            raise InvalidInputError(
                f"catalog {name!r}: {secrets.hide(str(error))}; set catalog.uri and "
                "catalog.type, or configure it in .pyiceberg.yaml"
            ) from secrets.cause(error)
        if isinstance(catalog, SqlCatalog):
            _use_file_uri(catalog)
            if catalog.engine.dialect.name != "sqlite":
                _use_patient_pool(catalog)
            elif not isinstance(catalog, ReadOnlySqlCatalog):
                harden(catalog)
            heed_last_steps(catalog)
        elif SNAPSHOT_LOADING_MODE in catalog.properties:
            catalog.properties[SNAPSHOT_LOADING_MODE] = "all"
    return catalog


def open_embedded(database: Path, settings: Mapping[str, str], *, create: bool) -> Catalog:
    """Open the SQLite catalog of a warehouse folder.

    Args:
        database: its file.
        settings: PyIceberg's catalog properties.
        create: make a missing folder and file.

    Raises:
        NotFoundError, StorageError: as ``open_catalog``.
    """
    subject = f"warehouse {str(database.parent)!r}"
    action = f"open {subject}: {database.name}"
    with catalog_errors(action, Secrets.of(settings)):
        _check_file(database, subject, create=create)
        properties = {
            **settings,
            "uri": sqlite_uri(database),
            "warehouse": f"file://{database.parent}",
        }
        if may_only_read(database):
            catalog: SqlCatalog = _read_only(CATALOG_NAME, properties, create=create)
        else:
            catalog = first_use(partial(SqlCatalog, CATALOG_NAME, **properties))
            harden(catalog)
            heed_last_steps(catalog)
    return catalog


def _read_only(
    name: str, properties: Mapping[str, str], *, create: bool = False
) -> ReadOnlySqlCatalog:
    database = database_of(properties["uri"])
    catalog = ReadOnlySqlCatalog(name, database=database, **properties)
    if create:
        check_writable(catalog)
    return catalog


def _check_file(database: Path, subject: str, *, create: bool) -> None:
    if create:
        database.parent.mkdir(parents=True, exist_ok=True)
    elif not database.is_file():
        raise MissingCatalogError(
            f"{subject}: there is no {str(database)!r}; name an existing warehouse, or create a "
            "table in this one first"
        )


def _use_patient_pool(catalog: SqlCatalog) -> None:
    """Let a pool look whether the server has ended a session before it is asked the next thing.

    It keeps what it has begun: to begin a session takes longer than to ask it.
    """
    catalog.engine.dispose()
    catalog.engine = create_engine(
        catalog.engine.url, pool_pre_ping=True, pool_size=_MOST_SESSIONS, max_overflow=0
    )


def _use_file_uri(catalog: SqlCatalog) -> None:
    """Spell a local warehouse as the embedded catalog does; a URI of another scheme stays."""
    warehouse = catalog.properties.get("warehouse", "")
    if re.match(r"file:/(?!/)", warehouse):
        catalog.properties["warehouse"] = f"file://{warehouse[len('file:') :]}"
    elif warehouse and not re.match(r"[A-Za-z][\w+.-]*:", warehouse):
        catalog.properties["warehouse"] = f"file://{local_folder(warehouse)}"
