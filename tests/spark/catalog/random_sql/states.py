"""What a table once was, read, named and brought back; and the steps of a life."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.spark.catalog.random_sql import row_statements, table_statements
from tests.spark.catalog.random_sql.sql_history import NAME, SQL_NAME, History, in_order

DUE = (
    "map('self-optimizing.min-plan-interval', '0', 'self-optimizing.minor.trigger.file-count', '1')"
)
AT_ONCE = "map('snapshot.keep.duration', '0', 'change.data.ttl.minutes', '0')"


def optimize(history: History) -> None:
    """Rows stay."""
    kind = history.pick.one(["minor", "major", "full"])
    history.run(f"CALL arctic.system.optimize('{NAME}', type => '{kind}', options => {DUE})")


def expire(history: History) -> None:
    """What was before goes, but what has a tag."""
    history.run(f"CALL arctic.system.expire('{NAME}', options => {AT_ONCE})")


def restore(history: History) -> None:
    """An earlier version comes back, with the columns of today."""
    if not history.versions:
        return
    state, rows = _state(history)
    verb = history.pick.one(["restore", "set_current_version"])
    history.run(f"CALL arctic.system.{verb}('{NAME}', {state})")
    history.model.rows = rows


def travel(history: History) -> None:
    """Read a version as it was, with the columns of today."""
    if not history.versions:
        return
    state, rows = _state(history)
    names = ", ".join(each.name for each in history.model.columns)
    found = history.run(f"SELECT {names} FROM {SQL_NAME} VERSION AS OF {state}")
    assert in_order(found) == in_order(history.model.now(rows))


def _state(history: History) -> tuple[str, list[dict[int, object]]]:
    """Draw a state, by its number or its tag."""
    if history.tags and history.pick.chance(50):
        tag = history.pick.one(list(history.tags))
        return f"'{tag}'", history.tags[tag]
    version = history.pick.one(list(history.versions))
    return str(version), history.versions[version]


def tag(history: History) -> None:
    """Name a version, or forget a name."""
    if history.tags and history.pick.chance(30):
        name = history.pick.one(list(history.tags))
        history.run(f"CALL arctic.system.drop_tag('{NAME}', '{name}')")
        del history.tags[name]
    elif history.versions:
        name, version = f"tag {history.made}", history.pick.one(list(history.versions))
        history.made += 1
        history.run(f"CALL arctic.system.create_tag('{NAME}', '{name}', {version})")
        history.tags[name] = history.versions[version]


STEPS: list[Callable[[History], None]] = [
    *[row_statements.insert] * 2,
    row_statements.insert_more,
    *[row_statements.delete] * 2,
    *[row_statements.update] * 3,
    *[row_statements.merge] * 5,
    row_statements.select,
    row_statements.aggregate,
    table_statements.overwrite,
    table_statements.overwrite_own,
    table_statements.overwrite_partitions,
    table_statements.overwrite_partition,
    table_statements.truncate,
    table_statements.recreate,
    *[table_statements.alter] * 2,
    *[optimize] * 2,
    expire,
    restore,
    travel,
    tag,
]
"""As often as each stands here."""


def live(history: History) -> None:
    """Have some rows to speak of, then run statements that are drawn, and look after each."""
    row_statements.insert(history, least=3)
    history.looks_right()
    history.remember()
    for _ in range(history.draw(st.integers(3, 10))):
        history.pick.one(STEPS)(history)
        history.looks_right()
        history.remember()
