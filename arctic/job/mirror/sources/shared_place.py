"""How far a table is, where the source remembers one place of its log for all tables of a mirror.

A slot forgets its log for all of them at once, while a batch is committed only to the tables that
it has events for. So what a table holds cannot be told from its own batches: the others are asked.

Rules:
    - The commits of a batch say which tables have a share of it, and up to where everything was in
      all tables before it. A table without a share holds the batch once another one does.
    - What no commit says is noted in the state of one table, before the source may forget it.
    - The source is told of no place that the tables do not know. One that it has beyond them came
      from somebody else, or from a run without the table: what lies between is lost to it.

Must not know: which source it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from arctic.errors import FormatError, NotFoundError, UnsupportedError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.mirror.mirror_settings import MirrorSettings
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.write_changes import last_batch
from arctic.table.property_names import STREAM_POSITION_PREFIX, STREAM_PREFIX
from arctic.table.streams.stream_batch import batches_of


def shares_of(sources: Sequence[str], after: int) -> str:
    """Return what the commits of a batch say of it.

    Args:
        sources: those whose tables have a share of it.
        after: everything up to here of the log is in all tables.
    """
    return json.dumps({"after": after, "sources": sorted(sources)}, separators=(",", ":"))


def tables_beside(
    mirrors: Mapping[str, tuple[MirrorState, OpenTable]], settings: MirrorSettings
) -> dict[str, OpenTable]:
    """Return mirrors, and the tables that have a writer in common with them, as far as there.

    Args:
        mirrors: some of them, by name, with what they remember.
        settings: where they are.
    """
    found = {name: opened for name, (_, opened) in mirrors.items()}
    others = {name for state, _ in mirrors.values() for name in state.beside}
    for name in sorted(others - found.keys()):
        # What is no mirror any more, or cannot be read, says nothing: at worst tables are copied.
        with suppress(NotFoundError, UnsupportedError, FormatError):
            opened = settings.reference(name).open()
            MirrorState.of(opened.table.properties)
            found[name] = opened
    return found


def held_up_to(state: MirrorState, opened: OpenTable, there: Mapping[str, OpenTable]) -> int:
    """Return up to where of the log everything is in a table; -1: nothing, or it is not known.

    Args:
        state: what the table remembers.
        opened: the table.
        there: ``tables_beside`` it.

    Raises:
        FormatError: a commit says of its batch what a mirror does not write.
    """
    writer = state.writer
    own = last_batch(opened, writer)
    place, latest, said = max(own, state.place), -1, None
    for each in [there[name] for name in state.beside if name in there]:
        theirs = MirrorState.of(each.table.properties)
        if theirs is not None and theirs.writer == writer:
            place = max(place, theirs.noted)
        stores = [each.base] if each.change is None else [each.base, each.change]
        known = batches_of(*(store.properties for store in stores))
        last = int(known.get(f"{STREAM_PREFIX}{writer}", "-1"))
        if last > latest:
            latest, said = last, known.get(f"{STREAM_POSITION_PREFIX}{writer}")
    if said is None:
        return place
    try:
        shares = json.loads(said)
        sources, after = frozenset(shares["sources"]), int(shares["after"])
    except (ValueError, TypeError, KeyError) as error:
        name = f"{STREAM_POSITION_PREFIX}{writer}"
        raise FormatError(
            f"table property {name} = {said[:200]!r} is not what a mirror writes"
        ) from error
    return max(place, after if state.table in sources and own < latest else latest)
