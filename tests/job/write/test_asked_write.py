"""What the options of a write say, before its table is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from arctic.errors import InvalidInputError
from arctic.job.write.asked_write import AskedWrite
from arctic.table.streams.stream_batch import StreamBatch
from arctic.writing.write_request import WriteMode


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    """Options that name a table which nobody has made."""
    return {"path": "db.t", "warehouse": str(tmp_path)}


def test_options_are_read_without_the_table(place: dict[str, str]) -> None:
    """Names without case; what is not said is None, so that the table can decide."""
    asked = AskedWrite.of({**place, "Write-Mode": "UPSERT", "PRIMARYKEY": "id", "optimize": "auto"})

    assert (asked.mode, asked.primary_key, asked.optimizes) == (WriteMode.UPSERT, ("id",), True)
    assert (asked.batch, asked.writer, asked.action_column) == (None, None, None)
    assert asked.needs_key


def test_a_table_is_named_apart_from_what_is_done_to_it(place: dict[str, str]) -> None:
    """Whoever writes or optimizes it next gets none of this write's options."""
    asked = AskedWrite.of({**place, "Catalog.Password": "hidden", "write-mode": "append"})

    assert asked.reference.options == {**place, "Catalog.Password": "hidden"}
    assert "hidden" not in repr(asked)


@pytest.mark.parametrize(
    ("given", "output_mode", "mode"),
    [
        pytest.param({}, "append", None, id="the table decides"),
        pytest.param({}, "update", WriteMode.UPSERT, id="update"),
        pytest.param({"write-mode": "delete"}, "update", WriteMode.DELETE, id="said"),
    ],
)
def test_output_modes_are_modes(
    place: dict[str, str], given: dict[str, str], output_mode: str, mode: WriteMode | None
) -> None:
    """Where the options say none."""
    assert AskedWrite.of({**place, **given}).of_stream(output_mode=output_mode).mode is mode


def test_a_batch_feeds_the_table_under_the_id_of_its_stream(place: dict[str, str]) -> None:
    """Unless the writer has a name."""
    batch = StreamBatch(query_id="q-1", batch_id=7)

    assert AskedWrite.of(place).of_batch(batch).writer == "q-1"
    assert AskedWrite.of({**place, "writer-id": "till"}).of_batch(batch).writer == "till"


def test_half_a_batch_is_refused(place: dict[str, str]) -> None:
    """Its number alone says nothing."""
    with pytest.raises(InvalidInputError, match="without stream-query-id"):
        AskedWrite.of({**place, "stream-batch-id": "7"})
