"""Which files an engine reads by itself, decided on records alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from arctic.job.read.engine_share import FilesAsFound, Share, share_of, shared_plan
from arctic.scan.plan_scan import plan_scan
from arctic.scan.scan_input import SetApart
from arctic.table.files import FileKind
from tests.factories.engines import ABLE
from tests.factories.files import name_of, named_file
from tests.factories.scans import NO_FILES, store_files

PLAIN = FilesAsFound(
    is_merged_view=True,
    unreached=None,
    odd_columns={"tags": "it is a list"},
    odd_for_others={"region": "it may be missing"},
    hides_columns=False,
)
ALL = Share(set_apart=SetApart.CLEAN_AND_DIRTY, hindrance=None, hindrance_of_others=None)


@pytest.mark.parametrize(
    ("engine", "found", "expected"),
    [
        ({}, {}, SetApart.CLEAN_AND_DIRTY),
        ({"is_filtered": True}, {}, SetApart.CLEAN_AND_DIRTY),
        ({"skips_rows": False}, {}, SetApart.CLEAN),
        ({"limit": 5}, {}, SetApart.CLEAN),
        ({}, {"hides_columns": True}, SetApart.CLEAN),
        ({"reads_files": False}, {}, SetApart.NOTHING),
        ({}, {"is_merged_view": False}, SetApart.NOTHING),
        ({}, {"unreached": "it is elsewhere"}, SetApart.NOTHING),
        ({}, {"odd_columns": {"name": "it was called 'n' before"}}, SetApart.NOTHING),
    ],
)
def test_an_engine_reads_what_it_reads_as_arctic_does(
    engine: dict[str, Any], found: dict[str, Any], expected: SetApart
) -> None:
    """Every condition alone takes files from it, and no row is read that Arctic would not read."""
    asked, seen = replace(ABLE, **engine), replace(PLAIN, **found)

    share = share_of(asked, ["id", "name"], seen)

    assert share.set_apart is expected
    is_hindered = seen.unreached is not None or "name" in seen.odd_columns
    assert (share.hindrance is not None) is is_hindered


def test_columns_that_are_not_wanted_do_not_matter() -> None:
    """A nested column beside those of the query is not read."""
    share = share_of(ABLE, ["id", "name"], PLAIN)

    assert share == ALL


def test_a_hindrance_names_its_column() -> None:
    """That which hinders most comes first: what is not reached, all files, those of others."""
    wanted = ["id", "region", "tags"]
    far = replace(PLAIN, unreached="it is elsewhere")

    assert share_of(ABLE, wanted, far).hindrance == "it is elsewhere"
    assert share_of(ABLE, wanted, PLAIN).hindrance == "column 'tags': it is a list"
    assert share_of(ABLE, ["id", "region"], PLAIN) == replace(
        ALL, hindrance_of_others="column 'region': it may be missing"
    )


@pytest.mark.parametrize(
    ("limit", "is_filtered", "expected"), [(3, False, 3), (3, True, None), (None, False, None)]
)
def test_rows_that_are_filtered_later_do_not_count(
    limit: int | None, is_filtered: bool, expected: int | None
) -> None:
    """Each task may end early only where all of its rows are the query's."""
    assert replace(ABLE, limit=limit, is_filtered=is_filtered).counted_limit == expected


def test_an_engine_is_told_of_each_file_once() -> None:
    """Those with deletes first, each with its rows; what must be merged is not among them."""
    base = [
        named_file(FileKind.BASE, name_of(FileKind.BASE, node_id=4, number=1), keys=(0, 9)),
        named_file(FileKind.BASE, name_of(FileKind.BASE, node_id=4, number=2), keys=(10, 19)),
    ]
    foreign = replace(base[1], path="s3://w/db/t/data/part-1.parquet", bounds={})
    delete = named_file(
        FileKind.CHANGE_DELETE,
        name_of(FileKind.CHANGE_DELETE, node_id=4, transaction_id=5),
        sequence_number=5,
        keys=(0, 9),
    )

    def told(
        *files: Any, apart: SetApart, of_others: str | None = "it may be missing"
    ) -> tuple[int, list[str], list[str], int, int, str | None]:
        given = replace(
            NO_FILES,
            files=store_files(files, (delete,)),
            set_apart=apart,
            takes_others=of_others is None,
        )
        plan = plan_scan(given)
        shared = shared_plan(plan, replace(ALL, set_apart=apart, hindrance_of_others=of_others))
        assert shared.snapshot is NO_FILES.snapshot
        return (
            shared.merged,
            [file.path for file in shared.files],
            [file.path for file in shared.dirty_files],
            shared.rows,
            shared.size_bytes,
            shared.hindrance,
        )

    dirty, clean = (file.path for file in base)
    both = SetApart.CLEAN_AND_DIRTY
    assert told(*base, apart=both) == (0, [dirty, clean], [dirty], 20, 200, None)
    assert told(*base, apart=SetApart.CLEAN) == (1, [clean], [], 20, 200, None)
    assert told(*base, apart=SetApart.NOTHING)[1:] == ([], [], 20, 200, None)
    why = "1 of other writers, it may be missing"
    assert told(foreign, apart=both) == (1, [], [], 10, 100, why)
    assert told(foreign, base[0], apart=both)[1:3] == ([dirty], [dirty])
    assert told(foreign, apart=both, of_others=None)[1:3] == ([foreign.path],) * 2
    assert told(foreign, apart=both, of_others=None)[5] is None
