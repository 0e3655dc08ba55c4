"""Tables that are made with their rows: whole under their name, or not there.

Rules:
    - A new table has its name at once, so that nobody takes it meanwhile, and is taken back when
      its rows fail. One that replaces another is made aside.
    - What must be known to settle it travels through the JVM and comes back.
"""

from __future__ import annotations

import base64
import logging
import pickle
from contextlib import suppress
from dataclasses import dataclass

from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.new_table import NewTable, new_tables, take_back
from arctic.iceberg.tables.open_table import open_table
from arctic.job.write.replace_table import FoundTable, find_replaced, replace_table, staged_name
from arctic.spark.base.catalog_protocol import DoneAnswer, FailureKind, TableAnswer
from arctic.spark.base.catalog_questions import CreateTableQuestion, SettleQuestion
from arctic.spark.catalog.described import config_of, described, dotted
from arctic.spark.catalog.failures import failures_of
from arctic.spark.catalog.new_definition import new_definition

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """A table that waits for its rows."""

    config: CatalogConfig
    name: str
    """Where it is."""
    replaces: str | None
    """Whose name it gets; None: it has its name."""
    found: FoundTable | None
    """What had that name when the statement began; None: nothing."""
    made: tuple[NewTable, ...]
    """As it was made."""


def new_table(asked: CreateTableQuestion) -> TableAnswer:
    """Make a table, to be settled if rows follow."""
    config, name = config_of(asked.catalog), dotted(asked.name)
    wanted = new_definition(asked)
    found = None
    replaces = name if asked.stage in ("replace", "create_or_replace") else None
    if asked.stage == "replace":
        with failures_of(missing=FailureKind.NO_SUCH_TABLE):
            open_table(config, name, suggests=False)
    if replaces is not None:
        found = find_replaced(config, name)
    place = name if replaces is None else staged_name(name)
    with failures_of(exists=FailureKind.TABLE_EXISTS), new_tables() as made:
        create_table(
            config,
            place,
            wanted.schema,
            primary_key=wanted.primary_key,
            partition_by=wanted.partition_by,
            properties=wanted.properties,
        )
    if asked.stage is None:
        return described(asked.catalog, asked.name)
    staged = _Staged(config=config, name=place, replaces=replaces, found=found, made=tuple(made))
    token = base64.b64encode(pickle.dumps(staged)).decode()
    return described(asked.catalog, place.split("."), staged=token)


def settled(asked: SettleQuestion) -> DoneAnswer:
    """Give a staged table its name, or take it back."""
    staged: _Staged = pickle.loads(base64.b64decode(asked.staged))
    if asked.keeps and staged.replaces is not None:
        replace_table(staged.config, staged.name, staged.replaces, staged.found)
    elif not asked.keeps and staged.replaces is not None:
        with suppress(NotFoundError):
            drop_table(staged.config, staged.name, purge=True)
    elif not asked.keeps:
        for new in staged.made:
            why = take_back(new)
            if why is not None:
                _log.warning("%s", why)
    return DoneAnswer(found=True)
