"""How often a command names a key: what nobody may decide silently is refused.

Rules:
    - Of a command that counts every row, a key is in one row only.
    - Of any other, a key may be deleted and written in one command, and is written once.
    - A key that is inserted is not stored, unless the command deletes it too.

Memory: the keys of a task.

Must not know: files, partitions.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arctic.columns.key_codes import KeyIndex, first_repeated
from arctic.columns.row_text import key_text
from arctic.errors import InternalError, InvalidInputError
from arctic.writing.rows.actions import Action, is_insert
from arctic.writing.rows.gather import take_rows
from arctic.writing.target import Locate, WriteTarget
from arctic.writing.write_request import KeyRule

_SOURCE = "let the source have one row for each key"
_TARGET = (
    "narrow the condition or the source if the command gives one key to several rows; if appends "
    "have stored the key several times, upsert it first, which leaves one row"
)


class RepeatedKeyError(InvalidInputError):
    """Several rows of a command have one key."""


def repeated_key(rule: KeyRule, table_name: str, key: str) -> RepeatedKeyError:
    """Return what to say of a key that is there too often."""
    which, remedy = ("of its source ", _SOURCE) if rule.counts_all else ("", _TARGET)
    return RepeatedKeyError(
        f"{rule.command} of table {table_name!r}: several rows {which}have the key ({key}), where "
        f"one is expected; {remedy}"
    )


class KeyCount:
    """Counts the keys of one task."""

    def __init__(self, rule: KeyRule, *, target: WriteTarget, locate: Locate | None) -> None:
        """Take the rule, and what finds stored rows, if that is needed."""
        self._rule = rule
        self._key = list(target.key)
        self._table_name = target.table.name
        self._locate = locate
        self._written: list[pa.RecordBatch] = []
        self._inserted: list[pa.RecordBatch] = []
        self._deleted: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch, actions: np.ndarray | None) -> None:
        """Take rows of the command; without actions each of them counts."""
        keys = rows.select(self._key)
        if actions is None:
            self._written.append(keys)
            return
        stays = is_insert(actions)
        self._written.append(keys if self._rule.counts_all else keys.filter(pa.array(stays)))
        if self._rule.checks_inserts:
            self._inserted.append(keys.filter(pa.array(actions == Action.INSERT)))
            self._deleted.append(keys.filter(pa.array(~stays)))

    def check(self) -> None:
        """Look at all of them together.

        Raises:
            RepeatedKeyError: a key is there too often.
            InvalidInputError: an inserted key is stored.
        """
        if not self._written:
            return
        keys = pa.Table.from_batches(self._written)
        repeated = first_repeated(keys)
        if repeated is not None:
            raise repeated_key(self._rule, self._table_name, key_text(keys, repeated, self._key))
        if self._rule.checks_inserts:
            self._check_inserted()

    def _check_inserted(self) -> None:
        inserted = pa.Table.from_batches(self._inserted)
        deleted = pa.Table.from_batches(self._deleted)
        if deleted.num_rows and inserted.num_rows:
            columns = [inserted.column(name).combine_chunks() for name in self._key]
            codes = KeyIndex(deleted).lookup(columns)
            inserted = take_rows(inserted, np.flatnonzero(codes < 0))
        if not inserted.num_rows:
            return
        if self._locate is None:
            raise InternalError("inserted keys are to be looked up, and nothing finds them")
        stored = self._locate(inserted)
        if stored.num_rows:
            raise InvalidInputError(
                f"{self._rule.command} of table {self._table_name!r}: a row with the key "
                f"({key_text(stored, 0, self._key)}) is there already, and the command neither "
                "deletes it nor gives it another key; a key has one row"
            )
