"""Procedures for the states that a table was in, and for its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from arctic.api import calls
from arctic.errors import InvalidInputError
from arctic.job.past.clone_job import clone_table
from arctic.job.past.named_states import VERSIONS_SCHEMA
from arctic.job.past.restore_job import RestoreReport
from arctic.job.reference import table_reference
from arctic.spark.base.quoted import quoted
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.catalog.procedures.procedure import (
    PAIRS,
    TABLE,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Call,
    Parameter,
    Procedure,
)

_VERSION = "a number of versions, a tag, or the id of a snapshot"
_TAG = Parameter(name="tag", kind=TEXT, doc="name of the tag", default=None)
_BRANCH = Parameter(name="branch", kind=TEXT, doc="name of the branch", default=None)
_STATE_OF_NEW = (
    Parameter(name="version", kind=TEXT, doc=f"{_VERSION}; else the newest"),
    Parameter(name="timestamp", kind=TIME, doc="the state at this time instead"),
)
_COMMITS = pa.schema(
    [
        *(("store", pa.string()), ("committed_at", pa.timestamp("us", tz="UTC"))),
        *(("snapshot_id", pa.int64()), ("parent_id", pa.int64())),
        *(("operation", pa.string()), ("sequence_number", pa.int64())),
    ]
)
_STATE = (("base_snapshot_id", pa.int64()), ("change_snapshot_id", pa.int64()))


def _versions(call: Call) -> pa.Table:
    return call.table.versions()


def _history(call: Call) -> pa.Table:
    return call.table.history().select(_COMMITS.names)


def _create_tag(call: Call) -> Iterator[Mapping[str, Any]]:
    tag = call.table.tag(call.given("tag"), call.given("version"), as_of=call.time("timestamp"))
    yield {
        "tag": tag.name,
        "base_snapshot_id": tag.base_snapshot_id,
        "change_snapshot_id": tag.change_snapshot_id,
    }


def _drop_tag(call: Call) -> Iterator[Mapping[str, Any]]:
    call.table.drop_tag(call.given("tag"))
    yield {"tag": call.given("tag")}


def _create_branch(call: Call) -> Iterator[Mapping[str, Any]]:
    moment = {"version": call.given("version"), "as_of": call.time("timestamp")}
    branch = call.table.create_branch(call.given("branch"), **moment)
    yield {"branch": branch.name, "snapshot_id": branch.snapshot_id}


def _drop_branch(call: Call) -> Iterator[Mapping[str, Any]]:
    call.table.drop_branch(call.given("branch"))
    yield {"branch": call.given("branch")}


def _fast_forward(call: Call) -> Iterator[Mapping[str, Any]]:
    before, after = call.table.fast_forward(call.given("branch"), call.given("to"))
    yield {
        "branch_updated": call.given("branch"),
        "previous_ref": before,
        "updated_ref": after,
    }


def _clone(call: Call) -> Iterator[Mapping[str, Any]]:
    target = call.given("target")
    moment = calls.past_state(call.time("timestamp"), call.given("version"))
    report = clone_table(table_reference(call.options), target, moment)
    yield {
        "table": report.table,
        "target": report.target,
        "base_snapshot_id": report.base_snapshot_id,
        "change_snapshot_id": report.change_snapshot_id,
    }


def _restored(call: Call, **state: Any) -> Iterator[Mapping[str, Any]]:
    report: RestoreReport = calls.restore(call.options, **state, runner=call.runner)
    yield {
        "table": report.table,
        "base_snapshot_id": report.base_snapshot_id,
        "change_snapshot_id": report.change_snapshot_id,
        "snapshot_id": report.snapshot_id,
        "files_written": report.files_written,
        "seconds": report.seconds,
    }


def _restore(call: Call) -> Iterator[Mapping[str, Any]]:
    return _restored(call, version=call.given("version"), as_of=call.time("timestamp"))


def _set_current_version(call: Call) -> Iterator[Mapping[str, Any]]:
    return _restored(call, version=call.given("version"))


def _rollback_to_snapshot(call: Call) -> Iterator[Mapping[str, Any]]:
    return _restored(call, as_of=call.given("snapshot_id"))


def _rollback_to_timestamp(call: Call) -> Iterator[Mapping[str, Any]]:
    return _restored(call, as_of=call.time("timestamp"))


def _evolve_schema(call: Call) -> Iterator[Mapping[str, Any]]:
    table = call.table.evolve_schema(
        add=_types(call.given("add")),
        rename=call.given("rename") or {},
        widen=_types(call.given("widen")),
        drop=call.given("drop") or (),
    )
    for column in table.schema:
        yield {"column": column.name, "type": str(column.type), "nullable": column.nullable}


def _types(texts: Mapping[str, str] | None) -> dict[str, pa.DataType]:
    """Return what types mean that are written as in CREATE TABLE."""
    return {name: _type(name, text) for name, text in (texts or {}).items()}


def _type(name: str, text: str) -> pa.DataType:
    row = StructType.fromDDL(f"{quoted(name)} {text}")
    if not isinstance(row, StructType) or len(row) != 1 or row[0].metadata or not row[0].nullable:
        raise InvalidInputError(
            f"column {name!r}: {text!r} is more than a type; expected one such as 'decimal(9, 2)'"
        )
    return arrow_schema(row).field(0).type


def _going_back(
    doc: str, run: Callable[[Call], Iterator[Mapping[str, Any]]], *parameters: Parameter
) -> Procedure:
    return Procedure(
        doc=doc,
        parameters=(TABLE, *parameters),
        columns=pa.schema(
            [
                *(("table", pa.string()), *_STATE, ("snapshot_id", pa.int64())),
                *(("files_written", pa.int64()), ("seconds", pa.float64())),
            ]
        ),
        run=run,
        changes=TABLE.name,
    )


_EVOLVE = Procedure(
    doc="Adds, renames, widens and drops columns, all at once; returns the columns.",
    parameters=(
        TABLE,
        Parameter(name="add", kind=PAIRS, doc="new columns, as map('email', 'string')"),
        Parameter(name="rename", kind=PAIRS, doc="old name to new name"),
        Parameter(name="widen", kind=PAIRS, doc="column to its wider type"),
        Parameter(name="drop", kind=TEXTS, doc="columns, as array('old')"),
    ),
    columns=pa.schema([("column", pa.string()), ("type", pa.string()), ("nullable", pa.bool_())]),
    run=_evolve_schema,
    changes=TABLE.name,
)
PAST_PROCEDURES: Mapping[str, Procedure] = {
    "versions": Procedure(
        doc="Lists the states that commits have made, oldest first, with their numbers and tags.",
        parameters=(TABLE,),
        columns=VERSIONS_SCHEMA,
        run=_versions,
    ),
    "history": Procedure(
        doc="Lists the commits of both stores, oldest first.",
        parameters=(TABLE,),
        columns=_COMMITS,
        run=_history,
    ),
    "create_tag": Procedure(
        doc="Names a state of a table, so that expiry keeps it.",
        parameters=(
            TABLE,
            _TAG,
            *_STATE_OF_NEW,
        ),
        columns=pa.schema([("tag", pa.string()), *_STATE]),
        run=_create_tag,
    ),
    "drop_tag": Procedure(
        doc="Forgets a tag, so that expiry may take what only it needed.",
        parameters=(TABLE, _TAG),
        columns=pa.schema([("tag", pa.string())]),
        run=_drop_tag,
    ),
    "create_branch": Procedure(
        doc="Lets a branch of a table without a key begin at a state of it.",
        parameters=(TABLE, _BRANCH, *_STATE_OF_NEW),
        columns=pa.schema([("branch", pa.string()), ("snapshot_id", pa.int64())]),
        run=_create_branch,
    ),
    "drop_branch": Procedure(
        doc="Forgets a branch, so that expiry may take what only it needed.",
        parameters=(TABLE, _BRANCH),
        columns=pa.schema([("branch", pa.string())]),
        run=_drop_branch,
    ),
    "fast_forward": Procedure(
        doc="Moves a branch, such as main, to the head of one that goes on from it.",
        parameters=(
            TABLE,
            _BRANCH,
            Parameter(name="to", kind=TEXT, doc="the branch it is moved to", default=None),
        ),
        columns=pa.schema(
            [
                *(("branch_updated", pa.string()), ("previous_ref", pa.int64())),
                ("updated_ref", pa.int64()),
            ]
        ),
        run=_fast_forward,
        changes=TABLE.name,
    ),
    "clone": Procedure(
        doc="Makes a table that begins with the rows of another one, by reference to its files.",
        parameters=(
            TABLE,
            Parameter(
                name="target",
                kind=TEXT,
                doc="namespace.table, a new one",
                default=None,
                names_table=True,
            ),
            *_STATE_OF_NEW,
        ),
        columns=pa.schema([("table", pa.string()), ("target", pa.string()), *_STATE]),
        run=_clone,
    ),
    "restore": _going_back(
        "Brings an earlier state back as the newest one, in one commit.",
        _restore,
        Parameter(name="version", kind=TEXT, doc=_VERSION),
        Parameter(name="timestamp", kind=TIME, doc="the state at this time instead"),
    ),
    "set_current_version": _going_back(
        "Brings a version back as the newest one, in one commit.",
        _set_current_version,
        Parameter(name="version", kind=TEXT, doc=_VERSION, default=None),
    ),
    "rollback_to_snapshot": _going_back(
        "Brings the state of a snapshot back as the newest one, in one commit.",
        _rollback_to_snapshot,
        Parameter(name="snapshot_id", kind=WHOLE, doc="of either store", default=None),
    ),
    "rollback_to_timestamp": _going_back(
        "Brings the state at a time back as the newest one, in one commit.",
        _rollback_to_timestamp,
        Parameter(name="timestamp", kind=TIME, doc="when the table was so", default=None),
    ),
    "evolve": _EVOLVE,
    "evolve_schema": _EVOLVE,
}
