"""What Arrow reads of texts is what ``decode`` reads, or Arrow is not asked."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.cdc.decode import Decoding, Encoding, decode
from arctic.cdc.engine import engine
from arctic.cdc.rows.certain_texts import certain_values
from arctic.cdc.unread import ReadColumn

USUAL = {
    pa.int32(): ["0", "-7", "007", "999999999"],
    pa.int64(): ["0", "-0", "123456789012345678"],
    pa.float32(): ["0.1", "-1e5", "16777217"],
    pa.float64(): ["0.1", "-1e-5", "123456789.123456789", "12345678901234567.5"],
    pa.bool_(): ["true", "f", "t", "false"],
    pa.decimal128(6, 2): ["12.34", "-0.05", "1", "0012.3", "-0"],
    pa.decimal128(38, 38): ["0." + "9" * 38, "-0"],
    pa.decimal128(38, 0): ["9" * 38, "-" + "9" * 38],
    pa.date32(): ["2026-02-28", "1000-01-01", "9999-12-31"],
    pa.timestamp("us"): ["2026-02-28 23:59:59", "2026-02-28T00:00:00.1", "1000-01-01 00:00:00"],
    pa.timestamp("us", "UTC"): ["2026-02-28 23:59:59+02", "9999-12-31T23:59:59.999999-1430",
                                "1000-01-01 00:00:00+14:00", "2026-01-01 00:00:00Z"],
    pa.string(): ["", "x", "1"],
}  # fmt: skip
ODD = ["", " 1", "1 ", "1\n", "+1", "0x10", "1.", ".5", "1e400", "1e39", "NaN", "Infinity", "nan",
       "2147483648", "9223372036854775808", "1_000", "1,5", "12.345", "12.3400", "99999", "yes",
       "TRUE", "2026-02-30", "0044-03-15", "12026-01-01", "2026-1-1", "2026-01-01 24:00:00",
       "2026-01-01 12:60:00", "2026-01-01 12:00:60", "2026-01-01 12:00",
       "2026-01-01 12:00:00.1234567", "2026-01-01 12:00:00+15", "2026-01-01 12:00:00+02:60",
       "2026-01-01 12:00:00 UTC", "2026-01-01",
       "infinity", "-infinity", "9" * 39, "9." + "9" * 38, "0.0" + "9" * 38, "-", "é"]  # fmt: skip


def decoded(texts: pa.Array, target: pa.DataType) -> pa.Array:
    """Return what ``decode`` reads."""
    with engine() as connection:
        connection.register("given", pa.table({"v": texts}))
        sql = decode("v", target, Decoding(), column="c")
        found = connection.sql(f"SELECT {sql} AS d FROM given").to_arrow_table()
    return found["d"].cast(target).combine_chunks()


def column(target: pa.DataType) -> ReadColumn:
    """Return a column of a type."""
    return ReadColumn(field=pa.field("c", target), source="c")


@pytest.mark.parametrize("target", USUAL, ids=str)
def test_usual_texts_are_read_by_arrow(target: pa.DataType) -> None:
    """They come to the same values, bit by bit."""
    texts = pa.array([*USUAL[target], None])
    found = certain_values(texts, column(target))

    assert found is not None
    assert found.equals(decoded(texts, target))


@pytest.mark.parametrize("target", USUAL, ids=str)
def test_odd_texts_are_read_alike_or_left(target: pa.DataType) -> None:
    """One of them is enough to leave all."""
    usual, expected = USUAL[target], decoded(pa.array([*USUAL[target], *ODD]), target)
    for number, odd in enumerate(ODD):
        found = certain_values(pa.array([*usual, odd]), column(target))
        told = pa.concat_arrays([expected[: len(usual)], expected[len(usual) + number :][:1]])

        assert found is None or found.equals(told), odd


@given(st.sampled_from(list(USUAL)), st.data())
def test_any_texts_are_read_alike_or_left(target: pa.DataType, data: st.DataObject) -> None:
    """Digits, marks and letters in any order, and dates that may be none."""
    number = st.text("0123456789", min_size=1, max_size=3)
    day = st.builds("{:04d}-{:02d}-{:02d}".format, st.integers(0, 10_000), st.integers(0, 13),
                    st.integers(0, 32))  # fmt: skip
    clock = st.builds("{:02d}:{:02d}:{:02d}".format, st.integers(0, 25), st.integers(0, 61),
                      st.integers(0, 61))  # fmt: skip
    rest = st.sampled_from(["", ".1", ".123456", "Z", "+02", "-14:59", ".5+1400", "+0060"])
    marked = st.lists(st.one_of(number, st.sampled_from("+-.eEtfx ")), max_size=5).map("".join)
    moment = st.tuples(day, st.sampled_from(" T"), clock, rest).map("".join)
    texts = pa.array(data.draw(st.lists(st.one_of(marked, day, moment, st.none()), max_size=2)),
                     pa.string())  # fmt: skip
    found = certain_values(texts, column(target))

    assert found is None or found.equals(decoded(texts, target))


def test_other_encodings_are_left() -> None:
    """A number may be days."""
    days = Decoding(encoding=Encoding.DAYS)

    assert certain_values(pa.array(["1"]), ReadColumn(field=pa.field("d", pa.date32()), source="d",
                                                      decoding=days)) is None  # fmt: skip
