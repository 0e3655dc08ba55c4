"""``make bench-memory``, with a table that is larger than the memory it gets."""

from __future__ import annotations

import re

import pytest

from benchmarks import limited_memory
from benchmarks.limited_memory import MIB, NOTE_BYTES, VERBS

ROWS = 2_800_000
LIMIT_MIB = 1024


@pytest.mark.slow
def test_every_verb_holds_a_limit_that_is_less_than_the_table(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The system refuses more, so each verb that ends has held it; sums of rows are right."""
    assert ROWS * NOTE_BYTES / MIB > LIMIT_MIB

    failed = limited_memory.main(["--rows", str(ROWS), "--limit-mib", str(LIMIT_MIB)])

    said = capfd.readouterr().out
    assert failed == 0, said
    missing = [verb for verb in VERBS if not re.search(rf"│ {verb} +│ +[0-9,]+ MiB │", said)]
    assert missing == []
