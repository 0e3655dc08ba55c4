"""Glue as a catalog that loses no commit to a table whose name changes, or becomes another's.

Glue renames nothing. PyIceberg looks at a table, makes it anew under its other name, and drops the
first: what was committed after the look is lost, though its writer was told that it had landed.

Strategy:
    1. The table is made under its new name, as it was seen.
    2. Its first entry is made one of no Iceberg table, if it still is as it was seen: an update
       with the version of the entry, as of a commit. Else the new entry follows what has landed,
       and the first one is tried again.
    3. The first entry is dropped.

Rules:
    - Nothing is committed to an entry that is about to be dropped: whoever looked at it before
      loses by its version, and whoever looks after it finds no table there.
    - A table can be read under one of its names at every moment. Who stops in between leaves it
      under both, or under the new one beside an entry that is no table.
    - An entry that is no table any more is dropped by who made it so, and by nobody else: Glue
      drops whatever has a name, and that would be a new table by then.
    - Glue's client asks again where an answer was lost, and is told of a conflict with itself: so
      an entry says who made it, and who made it no table.
    - A commit looks at the entry again right before it changes it. Versions are counted anew for a
      table that was dropped and made again, so the number alone could be that of another table.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import uuid4

from pyiceberg.catalog import METADATA_LOCATION, PREVIOUS_METADATA_LOCATION, TABLE_TYPE
from pyiceberg.catalog.glue import GlueCatalog, _construct_rename_table_input
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchIcebergTableError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from arctic.iceberg.catalogs.asked_twice import NothingSentError
from arctic.retry import SMALL_RACES
from arctic.table.property_names import GLUE_RENAME

_RENAMED = "ARCTIC-RENAMED"
"""The type of an entry whose table has another name; every client takes such a one for no table."""

_Names = tuple[str, str]


class SafeGlueCatalog(GlueCatalog):
    """Glue, whose tables are changed and renamed only from what they were seen to be."""

    def rename_table(
        self, from_identifier: str | Identifier, to_identifier: str | Identifier
    ) -> Table:
        """Rename, with all that was committed.

        Raises:
            NoSuchTableError: no such table, or others renamed or dropped it meanwhile.
            TableAlreadyExistsError: the new name is taken.
            CommitFailedException: others were committing; nothing was renamed.
        """
        old = self.identifier_to_database_and_table(from_identifier, NoSuchTableError)
        new = self.identifier_to_database_and_table(to_identifier)
        seen = self._seen(old)
        made = self._made(new, seen)
        for _ in SMALL_RACES.tries():
            if self._ends(old, seen):
                return self.load_table(to_identifier)
            try:
                seen = self._seen(old)
            except NoSuchTableError:
                self._ends(new, made)
                raise
            made = self._followed(new, made, seen)
        self._ends(new, made)
        raise CommitFailedException(f"{'.'.join(old)} was committed to again and again")

    def _update_glue_table(
        self, database_name: str, table_name: str, table_input: Any, version_id: str
    ) -> None:
        """Commit, if the entry still names the metadata that the commit was made on."""
        try:
            now = _metadata_of(self._get_glue_table(database_name, table_name))
        except NoSuchTableError as error:  # said of the look: nothing of the commit was sent
            raise NothingSentError(f"{database_name}.{table_name} is gone by now") from error
        if now != table_input["Parameters"].get(PREVIOUS_METADATA_LOCATION):
            raise NothingSentError(f"{database_name}.{table_name} names {now!r} by now")
        super()._update_glue_table(database_name, table_name, table_input, version_id)

    def _seen(self, names: _Names) -> Any:
        """Return the entry of an Iceberg table."""
        entry = self._get_glue_table(*names)
        kind = entry.get("Parameters", {}).get(TABLE_TYPE, "")
        if kind.upper() != "ICEBERG":
            raise NoSuchIcebergTableError(f"{'.'.join(names)} is of the type {kind!r}")
        return entry

    def _made(self, names: _Names, seen: Any) -> Any:
        """Make the new entry, and return it."""
        mine = str(uuid4())
        made = _construct_rename_table_input(names[1], seen)
        made["Parameters"] = {**seen["Parameters"], GLUE_RENAME: mine}
        try:
            self._create_glue_table(*names, table_input=made)
        except TableAlreadyExistsError:
            if self._rename_of(names) != mine:
                raise
        return self._entry(names, seen)

    def _rename_of(self, names: _Names) -> object:
        """Return which rename wrote an entry; None: none, or there is no entry."""
        with suppress(NoSuchTableError):
            return self._get_glue_table(*names).get("Parameters", {}).get(GLUE_RENAME)
        return None

    def _followed(self, names: _Names, made: Any, seen: Any) -> Any:
        """Let the new entry, as it was made, name what has been committed to the first one."""
        table_input = _construct_rename_table_input(names[1], seen)
        with suppress(CommitFailedException):  # of itself, or there is another commit to be seen
            super()._update_glue_table(*names, table_input, made["VersionId"])
        return self._entry(names, seen)

    def _entry(self, names: _Names, seen: Any) -> Any:
        """Return the new entry, which still names what was seen."""
        entry = self._get_glue_table(*names)
        if _metadata_of(entry) != _metadata_of(seen):
            first, second = ".".join((seen["DatabaseName"], seen["Name"])), ".".join(names)
            raise CommitFailedException(
                f"{second!r} was committed to before it had the name alone; both {first!r} and "
                f"{second!r} are there, drop one of them without its files"
            )
        return entry

    def _ends(self, names: _Names, seen: Any) -> bool:
        """Drop an entry if it still is as it was seen; say whether it was."""
        mine = str(uuid4())
        ended = _construct_rename_table_input(names[1], seen)
        ended["Parameters"] = {**seen["Parameters"], TABLE_TYPE: _RENAMED, GLUE_RENAME: mine}
        try:
            super()._update_glue_table(*names, ended, seen["VersionId"])
        except CommitFailedException:
            if self._rename_of(names) != mine:
                return False
        except NoSuchTableError:
            return False
        with suppress(NoSuchTableError):
            self.drop_table(names)
        return True


def _metadata_of(entry: Any) -> object:
    return entry.get("Parameters", {}).get(METADATA_LOCATION)
