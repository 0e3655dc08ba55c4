"""A merge as it is put together, clause by clause, and then carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.merging.merge_aliases import unaliased
from arctic.job.edit.merging.merge_clauses import Clause, When, all_columns, inserted
from arctic.job.edit.merging.merge_job import merge_rows
from arctic.job.edit.update_job import checked_assignments
from arctic.job.publish.after_edit import committed
from arctic.job.write.asked_write import AskedWrite

_Asked = tuple[When, str | None, Mapping[str, Any] | str | None]
_ALL = "*"


class Merge:
    """What a merge is to do; nothing happens before ``execute``.

    Expressions are SQL. In them ``target`` is a row of the table and ``source`` one of the source,
    unless the merge was given other names. Clauses of one kind are tried in their order, and the
    first whose condition is true acts.
    """

    def __init__(
        self,
        asked: AskedWrite,
        source: pa.Table,
        on: str | Sequence[str] | None,
        aliases: Mapping[str, str],
    ) -> None:
        self._table = asked
        self._source = source
        self._aliases = aliases
        self._on = unaliased(on, aliases)
        self._asked: list[_Asked] = []

    def when_matched_update(self, set: Mapping[str, Any], *, condition: str | None = None) -> Merge:
        """Set columns of stored rows that a row of the source matches."""
        return self._with(When.MATCHED, condition, set)

    def when_matched_update_all(self, *, condition: str | None = None) -> Merge:
        """Set every column of the stored rows that a row of the source matches to its values."""
        return self._with(When.MATCHED, condition, _ALL)

    def when_matched_delete(self, *, condition: str | None = None) -> Merge:
        """Delete stored rows that a row of the source matches."""
        return self._with(When.MATCHED, condition, None)

    def when_not_matched_insert(
        self, values: Mapping[str, Any], *, condition: str | None = None
    ) -> Merge:
        """Insert rows of the source that match no stored row; other columns are null."""
        return self._with(When.NOT_MATCHED, condition, values)

    def when_not_matched_insert_all(self, *, condition: str | None = None) -> Merge:
        """Insert rows of the source that match no stored row, with all of their columns."""
        return self._with(When.NOT_MATCHED, condition, _ALL)

    def when_not_matched_by_source_update(
        self, set: Mapping[str, Any], *, condition: str | None = None
    ) -> Merge:
        """Set columns of stored rows that no row of the source matches."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, condition, set)

    def when_not_matched_by_source_delete(self, *, condition: str | None = None) -> Merge:
        """Delete stored rows that no row of the source matches."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, condition, None)

    def execute(self) -> EditReport:
        """Carry the merge out, in one commit.

        Raises:
            InvalidInputError: a clause that cannot be carried out, several rows of the source for
                one stored row, or two rows with one key; nothing was changed.
            UnsupportedError: a table without a key has a column whose name the merge needs for
                itself.
            ConflictError: others committed during every attempt; nothing was changed.
            CommitStateUnknownError: the catalog did not answer; look before merging again.
        """
        done = merge_rows(self._table.reference.whole(), self._source, self._on, self._clauses)
        return committed(self._table, done)

    def _with(self, when: When, condition: str | None, what: Any) -> Merge:
        self._asked.append(
            (when, unaliased(condition, self._aliases), unaliased(what, self._aliases))
        )
        return self

    def _clauses(self, schema: pa.Schema, name: str) -> list[Clause]:
        return [
            Clause(when=when, condition=condition, values=self._values(when, what, schema, name))
            for when, condition, what in self._asked
        ]

    def _values(
        self, when: When, what: Mapping[str, Any] | str | None, schema: pa.Schema, name: str
    ) -> Mapping[str, str] | None:
        if what is None:
            return None
        if isinstance(what, str):
            return all_columns(when, schema, self._source.schema, name)
        if when is When.NOT_MATCHED:
            return inserted(what, schema, name)
        return checked_assignments(what, schema, name)
