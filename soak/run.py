"""One soak: processes on two tables, begun, watched and ended in turn, and what they left compared.

Rules:
    - First the writers stop, then who keeps house and reads, then the follower, which reads to the
      end of the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import arctic
from soak.comparison import Comparison, Outcome
from soak.crew import Crew
from soak.model import SCHEMA, TABLES, WRITERS
from soak.workers import Place, Work, expire, follow, optimize, read, stream, write

_PROPERTIES = {"self-optimizing.min-plan-interval": "0"}


class Soak:
    """The processes of a soak."""

    def __init__(self, folder: Path, *, seed: int, spark: bool, say: Callable[[str], None]) -> None:
        self._place = Place(warehouse=str(folder / "warehouse"), seed=seed, spark=spark)
        self._crew = Crew(say)
        stream_work: Work = by_spark() if spark else stream
        self._groups: list[dict[str, Work]] = [
            {
                **{name: partial(write, writer=name) for name in WRITERS if name != "stream"},
                "stream": stream_work,
            },
            {"optimizer": optimize, "expirer": expire, "reader-1": read, "reader-2": read},
            {"follower": follow},
        ]

    def run(self, seconds: float) -> Outcome:
        """Let everybody work for so long, and compare what is left."""
        for table, partition_by in TABLES.items():
            arctic.create_table(
                table,
                SCHEMA,
                primary_key=["id"],
                partition_by=partition_by,
                properties=_PROPERTIES,
                warehouse=self._place.warehouse,
            )
        crew = self._crew
        groups = [crew.begin(works, self._place) for works in self._groups]
        crew.wait_for_all()
        crew.listen(seconds)
        for group in groups:
            crew.end(group)
        crew.print()
        found = Comparison(warehouse=self._place.warehouse, seed=self._place.seed, crew=crew)
        found.sum_up()
        for table in TABLES:
            found.compare(table, cleans=False)
        return found.outcome


def by_spark() -> Work:
    """Return the stream of Spark; only where it is asked for: else no Java is needed."""
    from soak.spark_stream import stream_by_spark  # noqa: PLC0415 - see above

    return stream_by_spark
