"""What a report says."""

from __future__ import annotations

import pickle

from arctic.table.expire_report import SHOWN_ITEMS, ExpiredItem, ExpiredKind, ExpireReport


def item(kind: ExpiredKind, name: str, size: int | None = None) -> ExpiredItem:
    """Return one line."""
    return ExpiredItem(store="base", kind=kind, name=name, size_bytes=size, reason="old")


def report(*items: ExpiredItem, dry_run: bool = False, notes: tuple[str, ...] = ()) -> ExpireReport:
    """Return a report of items."""
    return ExpireReport(table="db.t", items=items, notes=notes, seconds=1.0, dry_run=dry_run)


MIXED = report(
    item(ExpiredKind.ORPHAN, "file:///o", 7),
    item(ExpiredKind.CHANGE_FILE, "file:///c", 5),
    item(ExpiredKind.SNAPSHOT, "17"),
    item(ExpiredKind.ORPHAN, "file:///p"),
    notes=("2 files stay",),
)


def test_kinds_are_counted_in_the_order_of_the_steps() -> None:
    """Whatever the order of the items; a size that is not known counts as nothing."""
    assert list(MIXED.counts.items()) == [
        (ExpiredKind.CHANGE_FILE, 1),
        (ExpiredKind.SNAPSHOT, 1),
        (ExpiredKind.ORPHAN, 2),
    ]
    assert MIXED.bytes[ExpiredKind.ORPHAN] == 7


def test_a_change_file_frees_nothing_yet() -> None:
    """Older snapshots still hold it."""
    assert MIXED.freed_bytes == 7


def test_the_text_names_everything_and_the_notes() -> None:
    """One line for each."""
    assert str(MIXED) == "\n".join(
        [
            "db.t: expired 1 x change file (5 bytes), 1 x snapshot, 2 x orphan (7 bytes)",
            "  base orphan file:///o, 7 bytes: old",
            "  base change file file:///c, 5 bytes: old",
            "  base snapshot 17: old",
            "  base orphan file:///p: old",
            "note: 2 files stay",
        ]
    )


def test_a_long_text_says_how_much_it_leaves_out() -> None:
    """Only when it is not asked for everything."""
    long = report(*(item(ExpiredKind.ORPHAN, f"/{n}") for n in range(SHOWN_ITEMS + 3)))

    assert str(long).splitlines()[-1] == "  ... and 3 more"
    assert len(long.explain(verbose=True).splitlines()) == SHOWN_ITEMS + 4


def test_nothing_is_said_too() -> None:
    """Of a dry run, with what it would have done."""
    assert str(report(dry_run=True)) == "db.t: would expire nothing"


def test_a_report_pickles() -> None:
    """It may have been made on another machine."""
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
