"""What a merge is to do, clause by clause, before any row is read.

Rules:
    - Clauses of one kind are tried in their order; the first whose condition is true acts.
    - Two columns or none of a name, a clause behind one without a condition, and a source that
      lacks what a clause takes are refused here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.job.edit.expressions import (
    SOURCE,
    TARGET,
    check_expressions,
    mentioned,
    reads_target,
)
from arctic.job.edit.sql_rows import column_of
from arctic.job.edit.update_job import checked_assignments

_NAME = r'(?:"((?:[^"]|"")+)"|([^\W\d]\w*))'
_EQUALITY = re.compile(
    rf"\s*\(?\s*(target|source)\s*\.\s*{_NAME}\s*=\s*(target|source)\s*\.\s*{_NAME}\s*\)?\s*",
    re.IGNORECASE,
)


class When(Enum):
    """Which rows a clause is for."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One thing that a merge does."""

    when: When
    condition: str | None
    """None: always."""
    values: Mapping[str, str] | None
    """Column -> expression: what an update sets, or an insert inserts. None: a delete."""

    @property
    def sets(self) -> bool:
        """Whether it changes stored rows."""
        return self.when is not When.NOT_MATCHED and self.values is not None

    @property
    def texts(self) -> list[str]:
        """Every expression in it."""
        own = [] if self.condition is None else [self.condition]
        return [*own, *(self.values or {}).values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePlan:
    """A merge that can be carried out."""

    on: str
    """The condition, as SQL."""
    key: Mapping[str, str] | None
    """Key column -> column of the source, where the condition says nothing but that they are
    equal; None: it says something else."""
    clauses: tuple[Clause, ...]

    @property
    def deletes(self) -> bool:
        """Whether some clause deletes rows."""
        return any(clause.values is None for clause in self.clauses)

    @property
    def updates(self) -> bool:
        """Whether some clause changes stored rows."""
        return any(clause.sets for clause in self.clauses)

    def of(self, when: When) -> list[Clause]:
        """Return the clauses for some rows, in their order."""
        return [clause for clause in self.clauses if clause.when is when]

    def needs_no_target(self, names: Sequence[str]) -> bool:
        """Say whether no expression reads a row of the table."""
        if self.key is None or self.of(When.NOT_MATCHED_BY_SOURCE):
            return False
        return not any(reads_target(clause.texts, names) for clause in self.clauses)

    def target_columns(self, names: Sequence[str], needed: Iterable[str]) -> list[str]:
        """Return the columns of the table that must be read, in its order."""
        wanted = {*needed, *mentioned([self.on], names)}
        for clause in self.clauses:
            wanted |= mentioned(clause.texts, names)
            if clause.sets:
                wanted |= set(names) - set(clause.values or ())
        return [name for name in names if name in wanted]


def merge_plan(
    on: str | Sequence[str] | None,
    clauses: Sequence[Clause],
    *,
    schema: pa.Schema,
    key: Sequence[str],
    source: pa.Schema,
    name: str,
) -> MergePlan:
    """Check what a merge is to do.

    Args:
        on: columns that are equal in both, or a condition of SQL; None: the key.
        clauses: in the order in which they were given.
        schema: of the table.
        key: its key columns.
        source: the columns of the source.
        name: of the table.

    Raises:
        InvalidInputError: something that cannot be done.
    """
    _refuse_doubles(source)
    if not clauses:
        raise InvalidInputError(f"merge into table {name!r}: no clause says what to do")
    for when in When:
        own = [clause for clause in clauses if clause.when is when]
        if any(clause.condition is None for clause in own[:-1]):
            raise InvalidInputError(
                f"merge into table {name!r}: a clause for rows {when.value} stands behind one "
                "without a condition, so it would never act"
            )
    if on is None and not key:
        raise InvalidInputError(
            f"merge into table {name!r} on no condition: it has no primary key; expected on=, the "
            'columns that are equal or a condition such as "target.id = source.user_id"'
        )
    on = list(key) if on is None else on
    equal = _equal_names(on, schema, source, name)
    text = (
        " AND ".join(
            f"{column_of(TARGET, ours)} = {column_of(SOURCE, theirs)}"
            for ours, theirs in equal.items()
        )
        if equal
        else str(on)
    )
    texts = [text, *(each for clause in clauses for each in clause.texts)]
    check_expressions(texts, [*schema.names, *source.names])
    is_key = equal is not None and set(equal) == set(key)
    return MergePlan(
        on=text,
        key={each: equal[each] for each in key} if is_key and equal else None,
        clauses=tuple(clauses),
    )


def all_columns(when: When, schema: pa.Schema, source: pa.Schema, name: str) -> dict[str, str]:
    """Return every column of the table with that of the source.

    Raises:
        InvalidInputError: the source lacks one.
    """
    theirs = {each.lower(): each for each in source.names}
    lacking = [each for each in schema.names if each.lower() not in theirs]
    if lacking:
        raise InvalidInputError(
            f"merge into table {name!r}: the source lacks column {lacking[0]!r}, which the clause "
            f"for rows {when.value} takes from it; name the columns instead"
        )
    return {each: column_of(SOURCE, theirs[each.lower()]) for each in schema.names}


def inserted(values: Mapping[str, Any], schema: pa.Schema, name: str) -> dict[str, str]:
    """Return what an insert inserts: null where it says nothing.

    Raises:
        InvalidInputError: an unknown column, or none for one that must have a value.
    """
    given = checked_assignments(values, schema, name)
    for field in schema:
        if field.name not in given and not field.nullable:
            raise InvalidInputError(
                f"merge into table {name!r}: an insert says nothing of column {field.name!r}, "
                "which must have a value"
            )
    return {each: given.get(each, "NULL") for each in schema.names}


def _equal_names(
    on: str | Sequence[str], schema: pa.Schema, source: pa.Schema, name: str
) -> dict[str, str] | None:
    """Return columns of the table -> of the source that must be equal, if that is all."""
    ours = {each.lower(): each for each in schema.names}
    theirs = {each.lower(): each for each in source.names}
    names = [on] if isinstance(on, str) and on.strip().lower() in ours else on
    if not isinstance(names, str):
        if not names:
            raise InvalidInputError(
                f"merge into table {name!r} on no column: expected one at least"
            )
        for each in map(str, names):
            if each.strip().lower() not in ours or each.strip().lower() not in theirs:
                raise InvalidInputError(
                    f"merge into table {name!r} on {each!r}: expected a column of both sides, or a "
                    'condition such as "target.id = source.user_id"'
                )
        lowered = [each.strip().lower() for each in names]
        return {ours[each]: theirs[each] for each in lowered}
    found: dict[str, str] = {}
    for part in re.split(r"\band\b", names, flags=re.IGNORECASE):
        equality = _EQUALITY.fullmatch(part)
        if equality is None or part.count("(") != part.count(")"):
            return None
        left, *first, right, second_quoted, second_plain = equality.groups()
        sides = {
            left.lower(): _plain(*first),
            right.lower(): _plain(second_quoted, second_plain),
        }
        if set(sides) != {TARGET, SOURCE} or sides[TARGET] not in ours:
            return None
        if sides[SOURCE] not in theirs or ours[sides[TARGET]] in found:
            return None
        found[ours[sides[TARGET]]] = theirs[sides[SOURCE]]
    return found


def _plain(quoted: str | None, plain: str | None) -> str:
    return (quoted.replace('""', '"') if quoted else plain or "").lower()


def _refuse_doubles(source: pa.Schema) -> None:
    lowered = [name.lower() for name in source.names]
    twice = [name for name in source.names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidInputError(f"source has column {twice[0]!r} twice; expected it once")
