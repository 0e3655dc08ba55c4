"""The order in which the sort columns of a table put rows that are in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.row_order import ascending
from arctic.columns.zorder import Curve


def sorted_rows(
    rows: pa.Table, numbers: npt.NDArray[np.int64] | None, terms: Sequence[tuple[str, ...]]
) -> npt.NDArray[np.int64]:
    """Return the numbers of rows in order; rows that are equal stay as they come.

    Args:
        rows: with all sort columns.
        numbers: those that are wanted; None: all.
        terms: columns, most significant first, or several that count alike.
    """
    names = [name for term in terms for name in term]
    wanted = rows.select(names)
    wanted = wanted if numbers is None else wanted.take(pa.array(numbers))
    columns = []
    for term in terms:
        values = [wanted.column(name) for name in term]
        columns.append(values[0] if len(term) == 1 else Curve.of(values).values(values))
    keyed = pa.table(columns, names=[str(place) for place in range(len(columns))])
    order = np.asarray(ascending(keyed, keyed.column_names).to_numpy()).astype(np.int64)
    return order if numbers is None else numbers[order]
