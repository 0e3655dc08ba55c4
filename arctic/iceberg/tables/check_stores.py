"""What is refused of the two stores of a table before they are read or written.

Rules:
    - Only what a table's properties say counts, never its name.
"""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import FormatError, InvalidInputError, UnsupportedError
from arctic.iceberg.catalogs.pair import base_name_of, primary_key_of, store_of
from arctic.iceberg.catalogs.sqlite import file_of
from arctic.tree.key_hash import check_key_type, type_name


def check_is_base(table: Table, parts: tuple[str, ...]) -> None:
    """Refuse an Iceberg table that is not the base store of one of ours.

    Raises:
        InvalidInputError: a change store.
        UnsupportedError: a plain Iceberg table.
    """
    name = ".".join(parts)
    store = store_of(table.properties)
    if store == "change":
        raise InvalidInputError(
            f"table {name!r} is the change store of {base_name_of(parts)!r}; name that table, with "
            "the option store=change to look at its change files"
        )
    if store is None:
        raise UnsupportedError(
            f"table {name!r} is a plain Iceberg table, not one of Arctic's; read it with "
            "format('iceberg') or PyIceberg, or create a table and write its rows there"
        )


def check_store(store: Table, *, subject: str, versions: tuple[int, ...] = (2,)) -> None:
    """Refuse a store whose files this version would misread.

    Raises:
        UnsupportedError: naming the subject.
    """
    version = store.metadata.format_version
    if version not in versions:
        expected = " or ".join(map(str, versions))
        raise UnsupportedError(f"{subject}: Iceberg format version {version}; expected {expected}")
    if len(store.metadata.partition_specs) != 1:
        raise UnsupportedError(
            f"{subject}: its partition spec was changed, so its files do not all have the same "
            "partition fields; rewrite it into a new table"
        )


def checked_key(base: Table, name: str) -> tuple[str, ...]:
    """Return the primary key of a base store, once its columns are known to be ones.

    Raises:
        FormatError: a column that is not there.
        UnsupportedError: a type that cannot be a key, or that was another one before.
    """
    key = primary_key_of(base.properties)
    check_key_columns(base, key, name)
    return key


def check_key_columns(base: Table, key: tuple[str, ...], name: str) -> None:
    """Refuse columns of a store that cannot be its primary key; raises as ``checked_key``."""
    types = {column.name: str(column.field_type) for column in base.schema().columns}
    for column in key:
        if column not in types:
            raise FormatError(
                f"table {name!r}: primary key column {column!r} is none of its columns "
                f"{', '.join(types)}"
            )
        try:
            check_key_type(types[column], column)
        except InvalidInputError as error:
            raise UnsupportedError(f"table {name!r}: {error.message}") from error
        _check_same_hash(base, column, types[column], name)


def _check_same_hash(base: Table, column: str, now: str, name: str) -> None:
    """Refuse a key whose type was changed to one with another hash: its old rows would be lost.

    A negative int and the same long fall into different nodes, and so do float and double.
    """
    field_id = base.schema().find_field(column).field_id
    for schema in base.metadata.schemas:
        for field in schema.columns:
            then = str(field.field_type)
            if field.field_id == field_id and type_name(then) != type_name(now):
                raise UnsupportedError(
                    f"table {name!r}: key column {column!r} was changed from {then} to {now}, so "
                    "the same key has another hash now and its older rows would not be found; "
                    "write the rows into a new table"
                )


def check_change(catalog: Catalog, base: Table, change: Table, name: str) -> None:
    """Refuse a change store that does not fit its base store.

    Raises:
        UnsupportedError: files of it would be misread.
        FormatError: other partition fields.
    """
    subject = f"table {name!r}: change store {'.'.join(change.name())!r}{file_of(catalog)}"
    check_store(change, subject=subject)
    if not base.spec().compatible_with(change.spec()):
        raise FormatError(f"{subject} has other partition fields than the base store")
