"""A view once its sources are open: how it is kept, and the columns that its table has.

Rules:
    - What DuckDB says of types decides, on tables without rows: what it cannot evaluate is refused
      before anything is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.types as pt

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.schema import arrow_schema, iceberg_schema
from arctic.job.read.scan_job import ScanJob
from arctic.job.views.most_rows import most_rows
from arctic.job.views.source_rows import SourceTable
from arctic.job.views.workspace import Workspace, workspace
from arctic.views.parse_view import parse_view
from arctic.views.sql_tree import called_functions, not_kept, quoted, whole_statement
from arctic.views.view_definition import DAYS, HISTORY, ViewDefinition
from arctic.views.view_query import (
    DAY,
    IS_CURRENT,
    VALID_FROM,
    VALID_TO,
    VERSION,
    Output,
    Source,
)
from arctic.views.view_statements import Statements

_TIME = pa.timestamp("us", tz="UTC")
_OF_KINDS: Mapping[str, Sequence[pa.Field]] = {
    HISTORY: (
        pa.field(VALID_FROM, _TIME),
        pa.field(VALID_TO, _TIME),
        pa.field(IS_CURRENT, pa.bool_()),
        pa.field(VERSION, pa.int64()),
    ),
    DAYS: (pa.field(DAY, pa.date32()),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPlan:
    """A view that can be computed."""

    definition: ViewDefinition
    sources: Mapping[str, SourceTable]
    """By name."""
    statements: Statements | None
    """None: every refresh computes all rows anew."""
    schema: pa.Schema
    """Of its table."""

    @property
    def key(self) -> tuple[str, ...]:
        """Its primary key; empty: it has none."""
        if self.statements is None:
            return ()
        key = self.statements.query.key
        return (*key, VERSION) if self.definition.kind == HISTORY else key


def relation(place: int) -> str:
    """Return the table of a source's rows in a workspace."""
    return f"source{place}"


def plan_view(definition: ViewDefinition, sources: Mapping[str, SourceTable]) -> ViewPlan:
    """Decide how a view is kept, from its statement and its sources.

    Args:
        definition: what it is of.
        sources: its tables.

    Raises:
        InvalidInputError: a statement that cannot be evaluated.
        NotFoundError: a column that no source has.
        UnsupportedError: a view that cannot be kept from changes, with the reason.
    """
    known, schemas = [], []
    for name, each in sources.items():
        schema = each.opened.arrow_schema
        if definition.is_whole:
            schema = pa.schema([schema.field(e) for e in each.named_in(definition.sql)])
        else:
            known.append((name, each.source))
        schemas.append((name, schema))
    statements, schema = _planned(definition, tuple(known), tuple(schemas))
    return ViewPlan(definition=definition, sources=sources, statements=statements, schema=schema)


@lru_cache(maxsize=256)
def _planned(
    definition: ViewDefinition,
    known: tuple[tuple[str, Source], ...],
    schemas: tuple[tuple[str, pa.Schema], ...],
) -> tuple[Statements | None, pa.Schema]:
    """Return the statements of a view that is kept from changes, and the schema of its table.

    Args:
        definition: what it is of.
        known: what a statement may know of each source; nothing where all is computed anew.
        schemas: of the sources, by name.
    """
    # A service asks for the same few views at every refresh, and DuckDB takes a while to begin.
    relations = {name: relation(place) for place, (name, _) in enumerate(schemas)}
    with workspace() as space:
        for name, schema in schemas:
            space.declare(relations[name], schema)
        if definition.is_whole:
            statements, statement = None, whole_statement(definition.sql, relations)
        else:
            statements = _statements(definition, dict(known), relations, space)
            aliases = {each.alias: relations[each.identifier] for each in statements.query.sources}
            statement = statements.whole(aliases)
        found = space.table(f"SELECT * FROM ({statement}) LIMIT 0").schema
    return statements, _schema(_storable(found), definition.kind)


def whole_rows(
    space: Workspace, plan: ViewPlan, jobs: Mapping[str, ScanJob], day: str | None = None
) -> pa.RecordBatchReader:
    """Return what a statement makes of rows of its sources.

    Args:
        space: an empty workspace, which the rows come to lie in.
        plan: of a view that is never kept from changes.
        jobs: the rows, by the name of the source.
        day: SQL of the column that says whose rows they are; None: there is none.
    """
    relations = {name: relation(place) for place, name in enumerate(jobs)}
    space.drop(*relations.values())
    for name, job in jobs.items():
        space.expect(most_rows(job))
        space.load(relations[name], job)
    statement = whole_statement(plan.definition.sql, relations)
    return space.batches(
        space.held(statement if day is None else f"SELECT *, {day} AS {DAY} FROM ({statement})")
    )


def _schema(fields: Sequence[pa.Field], kind: str) -> pa.Schema:
    """Return the columns of a view's table: those of its statement, and those of its kind."""
    more = _OF_KINDS.get(kind, ())
    taken = {each.name.lower() for each in more} & {each.name.lower() for each in fields}
    if taken:
        raise InvalidInputError(
            f"view: column {min(taken)!r} has a name that a view of kind {kind!r} needs; give it "
            "another with AS"
        )
    return pa.schema([*fields, *more])


def check_lasting(definition: ViewDefinition, space: Workspace) -> None:
    """Refuse to keep a view from changes if it calls functions whose result changes with time.

    Raises:
        UnsupportedError: naming the function.
    """
    changing = space.not_lasting(sorted(called_functions(definition.sql)))
    if changing and not definition.is_whole:
        raise not_kept(f"{changing[0]}() is not the same at every refresh")


def _statements(
    definition: ViewDefinition,
    known: Mapping[str, Source],
    relations: Mapping[str, str],
    space: Workspace,
) -> Statements:
    query = parse_view(definition.sql, known)
    if definition.kind == HISTORY and (query.is_grouped or query.join is not None):
        raise UnsupportedError(
            f"view: kind {HISTORY!r} keeps the versions of rows of one table, not of groups or a "
            "join; materialize these as a view, and the history of that view"
        )
    first = f"FROM {relations[query.first.identifier]} AS {quoted(query.first.alias)}"
    exact = [each.name for each in query.aggregates if _is_exact(each, first, space)]
    for group in query.groups:
        if not space.is_exact(f"SELECT {group.sql} {first}"):
            raise not_kept(
                f"it groups by {group.name!r}, a number that rounds, by which no row could be "
                "found again; cast it to a decimal"
            )
    return Statements.of(query, exact)


def _is_exact(output: Output, relation: str, space: Workspace) -> bool:
    """Say whether what is added to a sum can be taken back."""
    made = output.aggregate
    if made is None or made.function not in ("sum", "avg"):
        return False
    found = f"SELECT sum({made.argument}) {relation}"
    # A sum that is cast to whole numbers must be one: else each refresh would round.
    return space.types(found) == ["HUGEINT"] if made.cast else space.is_exact(found)


def _storable(found: pa.Schema) -> list[pa.Field]:
    """Return columns of DuckDB as a table has them once it is made."""
    stored = arrow_schema(iceberg_schema(pa.schema([_signed(field) for field in found])))
    return [pa.field(field.name, field.type) for field in stored]


def _signed(field: pa.Field) -> pa.Field:
    kind = field.type
    if pt.is_integer(kind) and not pt.is_int64(kind):
        wide = {"uint32": pa.int64(), "uint64": pa.decimal128(20, 0)}
        kind = wide.get(str(kind), pa.int32())
    elif pt.is_timestamp(kind) and kind.tz is not None:
        kind = pa.timestamp("us", tz="UTC")
    return pa.field(field.name, kind)
