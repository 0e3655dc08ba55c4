"""Marks of services that run, where writers can see them: one property a namespace and group.

Rules:
    - A mark expires like a lease, and nothing is right or wrong by it. A writer that trusts one of
      a service that has died just now leaves its table to the next service or writer.
    - A namespace that is dropped meanwhile, or that the catalog refuses to change, keeps no other
      from being marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arctic.errors import NotFoundError, StorageError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.listing import namespaces
from arctic.iceberg.catalogs.namespaces import Parts, change_namespace, namespace_properties
from arctic.iceberg.commits.lease import Lease, lease_in
from arctic.iceberg.translate import is_refused
from arctic.iceberg.values.names import parse_identifier
from arctic.table.property_names import SERVICE_PREFIX


def mark_namespaces(config: CatalogConfig, groups: Iterable[str], mark: Lease) -> None:
    """Say in every namespace that a service looks after some groups.

    Raises:
        ArcticError: the catalog cannot be reached, refuses a namespace, or keeps no properties of
            namespaces.
    """
    wanted = {f"{SERVICE_PREFIX}{group}": f"{mark.until_ms} {mark.owner}" for group in groups}
    _for_each(config, lambda parts: change_namespace(config, parts, wanted, ()))


def unmark_namespaces(config: CatalogConfig, groups: Iterable[str], owner: str) -> None:
    """Take the marks of a service away, unless another has set its own since.

    Raises:
        ArcticError: the catalog cannot be reached, refuses a namespace, or keeps no properties of
            namespaces.
    """
    names = [f"{SERVICE_PREFIX}{group}" for group in groups]

    def unmark(parts: Parts) -> None:
        found = namespace_properties(config, parts)
        marks = {name: lease_in(found.get(name, "")) for name in names}
        own = [name for name, mark in marks.items() if mark is not None and mark.owner == owner]
        if own:
            change_namespace(config, parts, {}, own)

    _for_each(config, unmark)


def serving_mark(config: CatalogConfig, identifier: str, group: str) -> Lease | None:
    """Return the mark of the service that looks after a table's group; None: there is none.

    Raises:
        ArcticError: the catalog cannot be reached, or keeps no properties of namespaces.
    """
    found = namespace_properties(config, parse_identifier(identifier)[:-1])
    return lease_in(found.get(f"{SERVICE_PREFIX}{group}", ""))


def _for_each(config: CatalogConfig, work: Callable[[Parts], None]) -> None:
    """Work on every namespace, and raise at the end what the catalog said of one it refused."""
    refused: dict[Parts, StorageError] = {}
    for parts in namespaces(open_catalog(config), refused=refused):
        try:
            work(parts)
        except NotFoundError:  # noqa: PERF203 - one must not keep the others away
            continue
        except StorageError as error:
            if not is_refused(error):
                raise
            refused[parts] = error
    for said in refused.values():
        raise said
