"""What a catalog asks of namespaces, answered.

Rules:
    - A warehouse that is not there yet holds no namespace: it is made by the first thing in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.listing import list_tables
from arctic.iceberg.catalogs.namespaces import (
    Parts,
    change_namespace,
    child_namespaces,
    drop_namespace,
    held_by,
    make_namespace,
    namespace_properties,
)
from arctic.job.changes.named_tables import drop_named
from arctic.spark.base.catalog_protocol import (
    DoneAnswer,
    FailureKind,
    NamesAnswer,
    PropertiesAnswer,
)
from arctic.spark.base.namespace_questions import (
    AlterNamespaceQuestion,
    CreateNamespaceQuestion,
    DropNamespaceQuestion,
    NamespaceQuestion,
    NamespacesQuestion,
)
from arctic.spark.catalog.described import config_of, sought_namespace
from arctic.spark.catalog.failures import CatalogFailureError, failures_of


def namespaces(asked: NamespacesQuestion) -> NamesAnswer:
    """List the namespaces right inside one."""
    config = config_of(asked.catalog)
    try:
        return NamesAnswer(names=child_namespaces(config, sought_namespace(asked.name)))
    except NotFoundError as error:
        if asked.name:
            raise CatalogFailureError(error.message, FailureKind.NO_SUCH_NAMESPACE) from error
        return NamesAnswer(names=())


def namespace(asked: NamespaceQuestion) -> PropertiesAnswer:
    """Say what is known of a namespace."""
    config = config_of(asked.catalog)
    if not asked.name:
        return PropertiesAnswer(properties={})
    with failures_of(missing=FailureKind.NO_SUCH_NAMESPACE):
        found = namespace_properties(config, sought_namespace(asked.name))
        return PropertiesAnswer(properties=found)


def new_namespace(asked: CreateNamespaceQuestion) -> DoneAnswer:
    """Make a namespace."""
    _check_properties(asked.properties)
    with failures_of(exists=FailureKind.NAMESPACE_EXISTS):
        make_namespace(config_of(asked.catalog), _parts(asked.name), asked.properties)
    return DoneAnswer(found=True)


def changed_namespace(asked: AlterNamespaceQuestion) -> DoneAnswer:
    """Change the properties of a namespace."""
    wanted: dict[str, str] = {}
    removed: set[str] = set()
    for change in asked.changes:
        if change["kind"] == "set_property":
            wanted[change["name"]] = change["value"]
        elif change["kind"] == "remove_property":
            removed.add(change["name"])
        else:
            raise InvalidInputError(
                f"namespace {'.'.join(asked.name)!r}: {change['kind']} is not known; expected "
                "properties to be set or removed"
            )
    _check_properties(wanted)
    with failures_of(missing=FailureKind.NO_SUCH_NAMESPACE):
        change_namespace(config_of(asked.catalog), _parts(asked.name), wanted, removed)
    return DoneAnswer(found=True)


def dropped_namespace(asked: DropNamespaceQuestion) -> DoneAnswer:
    """Remove a namespace, and with ``cascade`` its tables and what is in it."""
    config, parts = config_of(asked.catalog), _parts(asked.name)
    try:
        if asked.cascade:
            _drop_contents(config, parts)
        held = held_by(config, parts)
        if held:
            raise CatalogFailureError(
                f"namespace {'.'.join(parts)!r} holds {'.'.join(held[0])!r}",
                FailureKind.NAMESPACE_NOT_EMPTY,
            )
        drop_namespace(config, parts)
    except NotFoundError:
        return DoneAnswer(found=False)
    return DoneAnswer(found=True)


def _drop_contents(config: CatalogConfig, parts: Parts) -> None:
    for child in child_namespaces(config, parts):
        _drop_contents(config, child)
        if not held_by(config, child):
            drop_namespace(config, child)
    for name in list_tables(config, ".".join(parts)):
        drop_named(config, name)


def _parts(name: object) -> Parts:
    parts = tuple(str(part) for part in name)  # type: ignore[attr-defined]
    if any("." in part or not part.strip() for part in parts):
        raise InvalidInputError(f"namespace {parts!r}: a name is not empty and has no dot")
    return parts


def _check_properties(properties: Mapping[str, str]) -> None:
    for name in properties:
        if name == "location":
            raise InvalidInputError(
                "LOCATION of a namespace: tables lie in the warehouse of their catalog; leave it "
                "out"
            )
