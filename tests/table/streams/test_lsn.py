from __future__ import annotations

from arctic.table.streams.lsn import BASE_FILE_OFFSET, Lsn


def test_the_worked_example_of_the_format() -> None:
    """Base of transaction 10; an upsert in 11; an update in 12, whose delete and insert tie."""
    base, upserted, updated = Lsn(10, BASE_FILE_OFFSET), Lsn(11, 2), Lsn(12, 5)
    deletes = [Lsn(11, 1), Lsn(12, 5)]

    assert [updated] == [row for row in (base, upserted, updated) if not max(deletes) > row]


def test_a_delete_of_its_own_transaction_spares_a_base_row() -> None:
    """A base row stands after everything in its transaction."""
    assert not Lsn(10, BASE_FILE_OFFSET) > Lsn(10, BASE_FILE_OFFSET)
    assert not Lsn(10, 10**9) > Lsn(10, BASE_FILE_OFFSET)
    assert Lsn(11, 0) > Lsn(10, BASE_FILE_OFFSET)
