"""Merge engines: which one a table has, and which it can have.

Rules:
    - An engine is given when the table is created, and stays: base files hold what it has decided.
    - The key decides the partition: a row is never merged with one in another partition.
    - A table with any engine but the default lists it among what readers must know, and versions
      that do not know it refuse the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.ordering import ORDERED_TYPES, check_ordering, ordering_columns
from arctic.iceberg.values.partitioning import key_decides_partition
from arctic.options import (
    AGGREGATE_FUNCTIONS,
    MERGE_ENGINE,
    ORDERING_COLUMNS,
    SEQUENCE_GROUPS,
)
from arctic.table.merge_engine import FoldRules, Function, MergeEngine, RowRules, SequenceGroup
from arctic.table.property_names import REQUIRES

_RULES = (ORDERING_COLUMNS, MERGE_ENGINE, AGGREGATE_FUNCTIONS, SEQUENCE_GROUPS)
"""What a table says of the rows of a key; most say nothing."""
_REQUIREMENT, _ORDERED = "merge-engine", "ordering-columns"
_NUMBERS = ("int", "long", "float", "double", "decimal(")
_COMPARED = (*_NUMBERS, "boolean", "string", "date", "time", "timestamp", "timestamptz")
_TAKES: Mapping[Function, tuple[str, ...]] = {
    Function.SUM: _NUMBERS,
    Function.COUNT: ("int", "long"),
    # A product of decimals would be rounded, and so depend on what was folded first.
    Function.PRODUCT: ("int", "long", "float", "double"),
    Function.MAX: _COMPARED,
    Function.MIN: _COMPARED,
    Function.BOOL_OR: ("boolean",),
    Function.BOOL_AND: ("boolean",),
    Function.LISTAGG: ("string",),
    Function.COLLECT: ("list<",),
}
"""How the types of columns begin that a function takes; it takes any type where it is not here."""
_KNOWN = frozenset({_REQUIREMENT, _ORDERED})


def row_rules(
    properties: Mapping[str, str], schema: Schema, spec: PartitionSpec, key: Sequence[str]
) -> RowRules:
    """Return which row of a key is read.

    Args:
        properties: of a table; the columns that they name are there.
        schema: its columns.
        spec: its partition fields.
        key: its key columns.

    Raises:
        InvalidInputError: the table has no key, or columns of types that do not do, or an engine
            and ordering columns as well.
        UnsupportedError: the key does not decide the partition.
    """
    if not any(rule.is_given(properties) for rule in _RULES):
        return RowRules()
    check_ordering(properties, schema, spec, key)
    engine = merge_engine(properties)
    _check_engine(engine, properties, schema, spec, key)
    return RowRules(
        ordering_columns=ordering_columns(properties),
        engine=engine,
        fold=_fold_rules(properties, schema) if engine.folds else None,
    )


def merge_engine(properties: Mapping[str, str]) -> MergeEngine:
    """Return the engine that the properties of a base store name.

    Raises:
        InvalidInputError: they name none that is known.
    """
    return MergeEngine(MERGE_ENGINE.value({}, properties))


def required_by(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what a new table's base store says that its readers must know."""
    found = [] if merge_engine(properties) is MergeEngine.LAST_ROW else [_REQUIREMENT]
    if ordering_columns(properties):
        found.append(_ORDERED)
    return {REQUIRES: ",".join(found)} if found else {}


def check_required(properties: Mapping[str, str], name: str) -> None:
    """Refuse a table whose readers must know what is not known here.

    Raises:
        UnsupportedError: naming it.
    """
    wanted = {each for each in properties.get(REQUIRES, "").split(",") if each}
    unknown = sorted(wanted - _KNOWN)
    if unknown:
        raise UnsupportedError(
            f"table {name!r}: {REQUIRES} = {', '.join(unknown)!r}, which this version does not "
            f"know, so it would read other rows than the table has; expected at most "
            f"{', '.join(sorted(_KNOWN))}; use a newer version of Arctic"
        )


def check_same_engine(
    present: Mapping[str, str], wanted: Mapping[str, str], removed: Iterable[str], *, name: str
) -> None:
    """Refuse to give a table another engine than it was created with.

    Args:
        present: its properties.
        wanted: those that are to be set.
        removed: names of those that are to go.
        name: of the table.

    Raises:
        InvalidInputError: naming both.
    """
    there = _lasting(present)
    gone = {each.lower() for each in removed}
    left = {key: text for key, text in present.items() if key.lower() not in gone}
    named = {key.lower() for key in wanted}
    left = {key: text for key, text in left.items() if key.lower() not in named}
    if _lasting({**left, **wanted}) != there:
        raise InvalidInputError(
            f"table {name!r}: {MERGE_ENGINE.name} is {there[0].value!r} since the table was "
            "created, and its rows were merged so and by the same functions and groups; create a "
            "table with another engine and copy the rows"
        )


def _lasting(properties: Mapping[str, str]) -> tuple[MergeEngine, object, object]:
    return (
        merge_engine(properties),
        AGGREGATE_FUNCTIONS.value({}, properties),
        SEQUENCE_GROUPS.value({}, properties),
    )


def _check_engine(
    engine: MergeEngine,
    properties: Mapping[str, str],
    schema: Schema,
    spec: PartitionSpec,
    key: Sequence[str],
) -> None:
    _check_rules(engine, properties, schema, key)
    if engine is MergeEngine.LAST_ROW:
        return
    subject = f"table property {MERGE_ENGINE.name} = {engine.value!r}"
    if not key:
        raise InvalidInputError(
            f"{subject}: the table has no primary key, so no rows of a key can be merged; give it "
            "a key, or leave the property out"
        )
    order = ordering_columns(properties)
    if order:
        raise InvalidInputError(
            f"{subject} and {ORDERING_COLUMNS.name} = {', '.join(order)!r}: rows are merged by the "
            "order of commits; give one of the two"
        )
    if not key_decides_partition(spec, schema, key):
        raise UnsupportedError(
            f"{subject}: the key ({', '.join(key)}) does not decide the partition, so a row could "
            "not be merged with one in another partition; partition by key columns"
        )


def _check_rules(
    engine: MergeEngine, properties: Mapping[str, str], schema: Schema, key: Sequence[str]
) -> None:
    functions = AGGREGATE_FUNCTIONS.value({}, properties)
    groups = SEQUENCE_GROUPS.value({}, properties)
    for option, value, wanted in (
        (AGGREGATE_FUNCTIONS, functions, MergeEngine.AGGREGATE),
        (SEQUENCE_GROUPS, groups, MergeEngine.PARTIAL_UPDATE),
    ):
        if value is not None and engine is not wanted:
            raise InvalidInputError(
                f"table property {option.name} without {MERGE_ENGINE.name} = {wanted.value!r}, "
                f"which alone goes by it; it is {engine.value!r}"
            )
    words = {function.value for function in Function}
    for name, word in functions or ():
        subject = f"table property {AGGREGATE_FUNCTIONS.name}: column {name!r}"
        if word not in words:
            raise InvalidInputError(f"{subject}: {word!r}; expected one of {', '.join(words)}")
        kind = str(schema.find_field(name).field_type)
        if name in key:
            raise InvalidInputError(f"{subject} is of the key, which is the same in all its rows")
        takes = _TAKES.get(Function(word), ())
        if takes and not kind.startswith(takes):
            raise InvalidInputError(
                f"{subject} is {kind}; {word} takes {', '.join(each.strip('<(') for each in takes)}"
            )
    for order, columns in groups or ():
        subject = f"table property {SEQUENCE_GROUPS.name}: column"
        for name in (*order, *columns):
            if name in key:
                raise InvalidInputError(f"{subject} {name!r} is of the key")
        for name in order:
            kind = str(schema.find_field(name).field_type)
            if kind.partition("(")[0] not in ORDERED_TYPES:
                raise InvalidInputError(
                    f"{subject} {name!r} is {kind}; expected one of {', '.join(ORDERED_TYPES)}"
                )


def _fold_rules(properties: Mapping[str, str], schema: Schema) -> FoldRules:
    def ids(names: Iterable[str]) -> tuple[int, ...]:
        return tuple(schema.find_field(name).field_id for name in names)

    functions = AGGREGATE_FUNCTIONS.value({}, properties) or ()
    groups = SEQUENCE_GROUPS.value({}, properties) or ()
    return FoldRules(
        functions={ids([name])[0]: Function(word) for name, word in functions},
        groups=tuple(
            SequenceGroup(order_ids=ids(order), column_ids=ids(columns))
            for order, columns in groups
        ),
    )
