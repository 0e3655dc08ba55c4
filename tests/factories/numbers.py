"""Whole numbers of every size that a column can hold."""

from __future__ import annotations

from hypothesis import strategies as st

INTS = st.integers(-(2**31), 2**31 - 1)
"""32 bits."""
LONGS = st.integers(-(2**63), 2**63 - 1)
"""64 bits."""
MICROS = st.integers(-719_162 * 86_400_000_000, 2_932_897 * 86_400_000_000 - 1)
"""Microseconds since 1970 of the years 1 to 9999."""
