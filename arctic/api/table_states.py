"""The states that a table was in: named, listed, and brought back as the newest one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from arctic.api import calls
from arctic.api.calls import Version
from arctic.iceberg.commits.refs.commit_branch import Branch
from arctic.job.past.named_states import (
    Tag,
    branch_table,
    drop_table_branch,
    drop_table_tag,
    forward_branch,
    list_branches,
    list_tags,
    list_versions,
    tag_table,
)
from arctic.job.past.restore_job import RestoreReport
from arctic.job.past_state import Moment
from arctic.job.reference import table_reference


class TableStates:
    """What ``Table`` does with them."""

    _options: Mapping[str, str]

    def versions(self) -> pa.Table:
        """Return the states that commits have made, oldest first, with their numbers and tags."""
        return list_versions(table_reference(self._options))

    def tags(self) -> tuple[Tag, ...]:
        """Return the tags of the table, by name."""
        return list_tags(table_reference(self._options))

    def tag(self, name: str, version: Version | None = None, *, as_of: Moment | None = None) -> Tag:
        """Name a state of the table, the newest one if nothing is said; expiry keeps it."""
        return tag_table(table_reference(self._options), name, calls.past_state(as_of, version))

    def drop_tag(self, name: str) -> None:
        """Forget a tag, so that expiry may take what only it needed."""
        drop_table_tag(table_reference(self._options), name)

    def branches(self) -> tuple[Branch, ...]:
        """Return the branches of the table, by name; none where it has a key."""
        return list_branches(table_reference(self._options))

    def create_branch(
        self, name: str, version: Version | None = None, *, as_of: Moment | None = None
    ) -> Branch:
        """Let a branch begin at a state of the table, the newest one if nothing is said.

        ``arctic.open_table("namespace.table.branch_name")`` reads and writes it, beside the table.
        """
        moment = calls.past_state(as_of, version)
        return branch_table(table_reference(self._options), name, moment)

    def drop_branch(self, name: str) -> None:
        """Forget a branch, so that expiry may take what only it needed."""
        drop_table_branch(table_reference(self._options), name)

    def fast_forward(self, branch: str, to: str) -> tuple[int, int]:
        """Move a branch, such as ``main``, to the head of one that goes on from it.

        Returns:
            The snapshot at the head of the branch before, and after.
        """
        return forward_branch(table_reference(self._options), branch, to)

    def restore(
        self, version: Version | None = None, *, as_of: Moment | None = None
    ) -> RestoreReport:
        """Bring an earlier state back as the newest one, both stores together, in one commit.

        Args:
            version: a number of ``versions``, the name of a tag, or the id of a snapshot.
            as_of: a time with a zone, or the id of a snapshot, instead.

        Raises:
            NotFoundError: a state that is unknown or has expired.
            ConflictError: other writers won every attempt; nothing was restored.
            CommitStateUnknownError: the catalog did not answer; look before restoring again.
        """
        return calls.restore(self._options, version=version, as_of=as_of)

    def set_current_version(self, version: Version) -> RestoreReport:
        """Restore a version."""
        return self.restore(version)

    def rollback_to_timestamp(self, moment: datetime | str) -> RestoreReport:
        """Restore the state at a time."""
        return self.restore(as_of=moment)

    def rollback_to_snapshot(self, snapshot_id: int) -> RestoreReport:
        """Restore the state of a snapshot of either store."""
        return self.restore(as_of=snapshot_id)
