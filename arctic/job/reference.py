"""What a caller names: a catalog, a table in it, perhaps one of its metadata tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.values.names import METADATA_TABLES
from arctic.options import CATALOG_PREFIX, OPTIONS, PATH, WAP_BRANCH, WAREHOUSE, Scope

Catalog = str | Mapping[str, str]
"""A PyIceberg catalog, by name or by properties."""

_PLACE_NAMES = frozenset(
    name.lower() for option in OPTIONS if Scope.CATALOG in option.scopes for name in option.names
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReference:
    """Where a table is and which part of it is meant."""

    config: CatalogConfig
    identifier: str
    """Namespace and name, dotted."""
    metadata_table: str | None
    """``snapshots``, ``files``, ...; None for the rows themselves."""
    options: Mapping[str, str] = field(repr=False)
    """``path`` and catalog options, as they were given; not printed, as they may hold passwords."""

    takes_branch: bool = False
    """Whether what is asked for can be done on a branch of the table."""

    def open(self, *, for_writing: bool = False, suggests: bool = True) -> OpenTable:
        """Open the table; arguments and errors are those of ``open_table``."""
        return open_table(
            self.config,
            self.identifier,
            for_writing=for_writing,
            suggests=suggests,
            takes_branch=self.takes_branch,
        )

    def on_no_branch(self) -> TableReference:
        """Return it for what is done to a table, whatever branch its session works on."""
        given = self.options.items()
        place = {name: text for name, text in given if name.lower() != WAP_BRANCH.name}
        config = replace(self.config, wap_branch=None)
        return replace(self, config=config, options=place, takes_branch=False)

    def whole(self) -> TableReference:
        """Return it, unless it names a metadata table.

        Raises:
            InvalidInputError: it does.
        """
        if self.metadata_table is not None:
            raise InvalidInputError(
                f"'{self.identifier}.{self.metadata_table}' is a metadata table of "
                f"{self.identifier!r}; name the table"
            )
        return self


def parse_reference(options: Mapping[str, str]) -> TableReference:
    """Read the ``path`` and catalog options of a call that reads or writes rows.

    ``ns.table.snapshots`` is the metadata table: no table can have such a name.

    Raises:
        InvalidInputError: no path, or a name without a namespace.
    """
    path = PATH.value(options)
    if not path or not path.strip():
        raise InvalidInputError("no table named; expected load('namespace.table')")
    parts = path.strip().split(".")
    if len(parts) < 2 or not all(parts):
        raise InvalidInputError(f"table {path!r}: expected 'namespace.table'")
    metadata_table = None
    if len(parts) > 2 and parts[-1] in METADATA_TABLES:
        metadata_table = parts.pop()
    return TableReference(
        config=CatalogConfig.from_options(options),
        identifier=".".join(parts),
        metadata_table=metadata_table,
        options=_place(options),
        takes_branch=metadata_table is None,
    )


def table_reference(options: Mapping[str, str]) -> TableReference:
    """Work out which table a call means that takes neither a metadata table nor a branch.

    Raises:
        InvalidInputError: as ``parse_reference``, and for a metadata table.
    """
    return parse_reference(options).whole().on_no_branch()


def as_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names that an argument lists; a text alone is one name.

    >>> as_names("id"), as_names(["id", "region"])
    (('id',), ('id', 'region'))
    """
    return (given,) if isinstance(given, str) else tuple(given)


def placed(options: Mapping[str, str]) -> dict[str, str]:
    """Return options that mean the same catalog in every process and folder.

    Where no catalog is named, the warehouse depends on a variable of the process and on its working
    directory. Here it is written out.

    Raises:
        InvalidInputError: a warehouse that the embedded catalog cannot live in.
    """
    config = CatalogConfig.from_options(options)
    if config.name is not None or WAREHOUSE.value(options) == config.warehouse:
        return dict(options)
    left = {name: text for name, text in options.items() if name.lower() != WAREHOUSE.name}
    return {**left, WAREHOUSE.name: str(config.warehouse)}


def call_options(
    identifier: object, warehouse: str | None, catalog: Catalog | None
) -> dict[str, str]:
    """Return the arguments of a call as the options that say the same.

    >>> call_options("ns.t", "/lake", None)
    {'path': 'ns.t', 'warehouse': '/lake'}

    Args:
        identifier: the name of a table; None: the call is about no table.
        warehouse: folder of the embedded catalog.
        catalog: another catalog.

    Raises:
        InvalidInputError: a table that is no name, such as one that is open.
    """
    options: dict[str, str] = {}
    if isinstance(identifier, str):
        options["path"] = identifier
    elif identifier is not None:
        raise InvalidInputError(
            f"table {identifier!r}: expected its name, 'namespace.table'; a table that is open has "
            "verbs of its own, such as table.publish(), and its name is table.name"
        )
    if warehouse is not None:
        options["warehouse"] = str(warehouse)
    if isinstance(catalog, str):
        options["catalog"] = catalog
    elif catalog is not None:
        options |= {f"{CATALOG_PREFIX}{key}": str(value) for key, value in catalog.items()}
    return options


def _place(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that say where a table is, and no others.

    >>> _place({"path": "ns.t", "catalog.uri": "u", "ordering-column": "at"})
    {'path': 'ns.t', 'catalog.uri': 'u'}
    """
    return {
        name: text
        for name, text in options.items()
        if name.lower() in _PLACE_NAMES or name.lower().startswith(CATALOG_PREFIX)
    }
