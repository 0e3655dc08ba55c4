"""The versions and tags of a table, for both edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from arctic.iceberg.commits.commit_tag import drop_tag, make_tag
from arctic.iceberg.snapshots.tags import TagState, tags_of
from arctic.iceberg.snapshots.versions import table_versions
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.past.restore_job import PastState
from arctic.job.reference import table_reference

VERSIONS_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("committed_at", pa.timestamp("us", tz="UTC")),
        ("store", pa.string()),
        ("operation", pa.string()),
        ("base_snapshot_id", pa.int64()),
        ("change_snapshot_id", pa.int64()),
        ("tags", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A name for a state of a table."""

    name: str
    base_snapshot_id: int | None
    change_snapshot_id: int | None


def list_versions(options: Mapping[str, str]) -> pa.Table:
    """Return the versions of a table, oldest first.

    Args:
        options: ``path`` and catalog options.
    """
    opened = _opened(options)
    tags = tags_of(opened.base.properties)
    rows = []
    for each in table_versions(opened):
        state = TagState(
            base_snapshot_id=each.base_snapshot_id, change_snapshot_id=each.change_snapshot_id
        )
        rows.append(
            {
                "version": each.number,
                "committed_at": each.committed_ms * 1000,
                "store": each.store,
                "operation": each.operation,
                "base_snapshot_id": each.base_snapshot_id,
                "change_snapshot_id": each.change_snapshot_id,
                "tags": [name for name, tagged in tags.items() if tagged == state],
            }
        )
    return pa.Table.from_pylist(rows, schema=VERSIONS_SCHEMA)


def list_tags(options: Mapping[str, str]) -> tuple[Tag, ...]:
    """Return the tags of a table that Arctic made, by name."""
    found = tags_of(_opened(options).base.properties)
    return tuple(_tag(name, state) for name, state in found.items())


def tag_table(options: Mapping[str, str], name: str, moment: PastState) -> Tag:
    """Name a state of a table, so that expiry leaves what it needs.

    Args:
        options: ``path`` and catalog options.
        name: of the tag.
        moment: the state; the newest one if it says nothing.

    Raises:
        InvalidInputError: a name that no tag can have.
        AlreadyExistsError: the name says something else.
        NotFoundError: no such table or state.
        ConflictError: other commits won every retry.
    """
    opened = _opened(options)
    state = TagState.of(moment.pinned(opened, is_fresh=True))
    make_tag(opened, name, state)
    return _tag(name, state)


def drop_table_tag(options: Mapping[str, str], name: str) -> None:
    """Forget a tag of a table; raises as ``drop_tag``."""
    drop_tag(_opened(options), name)


def _tag(name: str, state: TagState) -> Tag:
    return Tag(
        name=name,
        base_snapshot_id=state.base_snapshot_id,
        change_snapshot_id=state.change_snapshot_id,
    )


def _opened(options: Mapping[str, str]) -> OpenTable:
    reference = table_reference(options)
    return open_table(reference.config, reference.identifier)
