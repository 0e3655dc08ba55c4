"""Tables whose first row of a key stays, through long lives.

``HYPOTHESIS_PROFILE=deep`` lives 10,000 of them, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.property.drawn import may_occur
from tests.property.merge_history import CASES, MergeHistory, histories, layouts, steps

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("small", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
may_occur(*(each for each in CASES if each != "delete"))
rows = st.fixed_dictionaries(
    {
        "id": st.integers(0, 5),
        "n": st.none() | st.integers(0, 3),
        "small": st.none() | st.integers(0, 3),
        "note": st.sampled_from(["a", "b", "c"]),
        "extra": st.sampled_from(["x", "y"]),
    }
)


@given(layout=layouts, life=steps(rows), output=st.sampled_from(["v2", "clean"]))
@histories(6)
def test_the_first_row_of_a_key_stays(
    layout: dict[str, str], life: list[tuple[str, Any]], output: str
) -> None:
    """In reads, filters, counts, published tables and changes, merged or not."""
    with tempfile.TemporaryDirectory() as warehouse:
        history = MergeHistory(
            SCHEMA,
            {**layout, "write.merge-engine": "first-row"},
            lambda stored, row: row if stored is None else stored,
            warehouse,
        )
        for kind, argument in life:
            history.step(kind, argument)
            history.check(
                ("n > 1", lambda row: row["n"] is not None and row["n"] > 1),
                ("note = 'b'", lambda row: bool(row["note"] == "b")),
            )
        history.check_published(output)
        history.check_past()
        history.step("optimize", "full")
        history.check()
        history.check_published(output)
