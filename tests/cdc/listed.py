"""Events as they are read the slow way, whatever could be read by columns."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from arctic.cdc.events import BROKEN, EVENTS, Events


def listed(found: Events) -> Events:
    """Return events that all have their values in lists."""
    waiting = found.events.filter(found.events["place"].is_valid())
    if found.unread is None or not waiting.num_rows:
        return found
    events, broken = (
        each.set_column(0, "seq", waiting["seq"].take(each["seq"]))
        for each in found.unread.listed(waiting["place"].to_numpy())
    )
    rest = found.events.filter(found.events["place"].is_null())
    return replace(
        found,
        events=pa.concat_tables([rest, events.cast(EVENTS)]).sort_by("seq"),
        broken=pa.concat_tables([found.broken, broken.cast(BROKEN)]).sort_by("seq"),
        unread=None,
    )
