"""What a mirror of MySQL remembers of the log, and what of it is still to be followed."""

from __future__ import annotations

from dataclasses import replace

from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.sources.mysql_source import BinlogLog
from arctic.mysql.binlog import Binlog
from arctic.mysql.binlog_stream import place_of
from arctic.mysql.statements import Alteration

BEGUN = MirrorState(
    system="s", writer="w", table="a.b", columns=(), oid=1, filenode=0, is_complete=True
)


def _log(file: int, position: int, mark: str) -> BinlogLog:
    place = place_of(f"log.{file:06d}", position)
    binlog = Binlog(
        connection=None, server={}, server_id=1, sources=frozenset(), place=place, mark=mark
    )
    return BinlogLog(binlog=binlog, limit=1)


def test_a_table_that_is_in_a_later_file_keeps_what_tells_that_one() -> None:
    """The earlier file is read for another table, which is behind."""
    ahead = replace(BEGUN, place=place_of("log.000007", 900), log="seven")
    copied = replace(BEGUN, place=place_of("log.000007", 900))
    log = _log(6, 400, "six")

    assert log.noted(ahead, log.binlog.place) == ahead
    assert log.noted(copied, log.binlog.place) == copied


def test_a_place_is_noted_once_for_each_file() -> None:
    """With what tells that file, and never behind where the table is."""
    seven = _log(7, 400, "seven")
    copied = replace(BEGUN, place=place_of("log.000007", 900))
    noted = seven.noted(replace(BEGUN, place=place_of("log.000006", 1), log="six"), 7 << 32)

    assert (noted.place, noted.log) == (7 << 32, "seven")
    assert seven.noted(noted, place_of("log.000007", 500)) == noted
    assert seven.noted(copied, seven.binlog.place) == replace(copied, log="seven")


def test_a_later_place_makes_the_state_forget_which_piece_of_the_log_it_was_in() -> None:
    """A copy may have been made in the next file."""
    state = replace(BEGUN, place=place_of("log.000006", 900), log="six")

    assert state.beyond(state.place - 1) == state
    assert state.beyond(7 << 32) == replace(state, place=7 << 32, log="")


MOVED = Alteration(renames=(("a", "b"), ("b", "a")))
ADDED = Alteration(adds=("c",))


def test_what_a_table_has_followed_is_not_done_to_it_again() -> None:
    """The log is read from further back for another table, and has both statements at once."""
    log = _log(6, 400, "six")
    log.altered = {"a.b": ((MOVED, 500), (ADDED, 600))}

    assert log.done_to(BEGUN) == ((MOVED, 500), (ADDED, 600))
    assert log.done_to(replace(BEGUN, place=500)) == ((ADDED, 600),)
    assert log.done_to(replace(BEGUN, place=600)) == ()
    assert log.done_to(replace(BEGUN, table="a.c")) == ()
    assert [log.may_differ(replace(BEGUN, place=place)) for place in (599, 600)] == [True, False]


def test_names_that_moved_before_rows_were_copied_have_them_copied_again() -> None:
    """The copy has them under the new names already; what came by name alone is right in it."""
    log = _log(6, 400, "six")
    log.altered = {"a.b": ((MOVED, 500), (ADDED, 600))}
    copied = replace(MOVED, rewrites=True)

    assert log.done_to(replace(BEGUN, copied=499)) == ((MOVED, 500), (ADDED, 600))
    assert log.done_to(replace(BEGUN, copied=700)) == ((copied, 500), (ADDED, 600))
