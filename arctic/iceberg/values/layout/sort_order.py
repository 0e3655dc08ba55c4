"""What rows are sorted by, as a property of the table and as Iceberg's sort order.

Rules:
    - Iceberg is told of the columns before the first that count alike, for which it has no word.
    - Nulls come last and texts are compared by their bytes, as optimizing sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import (
    UNSORTED_SORT_ORDER,
    UNSORTED_SORT_ORDER_ID,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
)
from pyiceberg.table.update import (
    AddSortOrderUpdate,
    AssertDefaultSortOrderId,
    SetDefaultSortOrderUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.transforms import IdentityTransform

from arctic.errors import InvalidInputError
from arctic.options import SORT_COLUMNS

_NO_RANKS = ("uuid",)
_LAST_ADDED = -1


def check_sort_columns(properties: Mapping[str, str], schema: Schema) -> None:
    """Refuse columns that rows cannot be sorted by.

    Args:
        properties: of the table; the columns that they name are there.
        schema: its columns.

    Raises:
        InvalidInputError: naming the column and its type.
    """
    for term in SORT_COLUMNS.value({}, properties) or ():
        for name in term:
            kind = schema.find_field(name).field_type
            if not kind.is_primitive or (term.curve and str(kind) in _NO_RANKS):
                raise InvalidInputError(
                    f"table property {SORT_COLUMNS.name}: column {name!r} of type {kind} has no "
                    "order; expected columns of numbers, texts or times"
                )


def sort_order(properties: Mapping[str, str], schema: Schema) -> SortOrder:
    """Return what Iceberg is told of a table's order; unsorted where that is nothing."""
    fields = []
    for term in SORT_COLUMNS.value({}, properties) or ():
        if term.curve:
            break
        fields.append(
            SortField(
                source_id=schema.find_field(term.columns[0]).field_id,
                transform=IdentityTransform(),
                direction=SortDirection.ASC,
                null_order=NullOrder.NULLS_LAST,
            )
        )
    return SortOrder(*fields) if fields else UNSORTED_SORT_ORDER


def order_id(metadata: TableMetadata, properties: Mapping[str, str], schema: Schema) -> int | None:
    """Return the number of an order that a table has declared; None: it has not, or has none.

    Args:
        metadata: of the base store.
        properties: what says by what rows are sorted.
        schema: the columns of the table.
    """
    fields = sort_order(properties, schema).fields
    orders = metadata.sort_orders if fields else []
    return next((each.order_id for each in orders if each.fields == fields), None)


def order_updates(
    store: Table, properties: Mapping[str, str], schema: Schema
) -> tuple[TableUpdate, ...]:
    """Return what declares the order of a table anew; nothing where it stays as it was.

    Args:
        store: base, as it is.
        properties: as they will be.
        schema: the columns, as they will be.

    Raises:
        InvalidInputError: a column goes that the order needs.
    """
    metadata = store.metadata
    if _said(properties) == _said(metadata.properties):
        # An order that somebody else declared is not ours to change.
        _check_kept(store, schema)
        return ()
    wanted = sort_order(properties, schema)
    known = next((each for each in metadata.sort_orders if each.fields == wanted.fields), None)
    if known is not None:
        is_default = known.order_id == metadata.default_sort_order_id
        return () if is_default else (_made_default(known.order_id),)
    if wanted.is_unsorted:
        # Its number is fixed by the format.
        number = default = UNSORTED_SORT_ORDER_ID
    else:
        number = max((each.order_id for each in metadata.sort_orders), default=0) + 1
        default = _LAST_ADDED
    added = SortOrder(*wanted.fields, order_id=number)
    return (AddSortOrderUpdate.model_validate({"sort-order": added}), _made_default(default))


def same_order(
    metadata: TableMetadata, updates: Iterable[TableUpdate]
) -> tuple[TableRequirement, ...]:
    """Return what a commit asks for that changes the order: numbers follow from what is there.

    Args:
        metadata: of the base store, as it was seen.
        updates: of the commit.
    """
    if not any(isinstance(update, SetDefaultSortOrderUpdate) for update in updates):
        return ()
    order = metadata.default_sort_order_id
    return (AssertDefaultSortOrderId.model_validate({"default-sort-order-id": order}),)


def _check_kept(store: Table, schema: Schema) -> None:
    there = {field.field_id for field in schema.fields}
    known = {field.field_id: field.name for field in store.schema().fields}
    for each in store.sort_order().fields:
        if each.source_id in known.keys() - there:
            raise InvalidInputError(
                f"table {'.'.join(store.name())!r}: column {known[each.source_id]!r} is in the "
                "sort order that another engine has declared, so it cannot be dropped; declare "
                f"one without it, such as by table property {SORT_COLUMNS.name}"
            )


def _said(properties: Mapping[str, str]) -> str | None:
    names = {name.lower() for name in SORT_COLUMNS.names}
    return next((text for name, text in properties.items() if name.lower() in names), None)


def _made_default(number: int) -> SetDefaultSortOrderUpdate:
    return SetDefaultSortOrderUpdate.model_validate({"sort-order-id": number})
