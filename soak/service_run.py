"""A soak of services: writers and streams on many tables, which two services look after.

Rules:
    - The services are killed while everybody writes, and their executors are: what is lost is work.
    - When the writers have stopped, the services merge what is left, and end when they are told.
      Only then is anything cleaned by hand, and compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import arctic
from soak.backlog import FILES, SHARE, backlog_of, excess, growth, watch_backlog
from soak.comparison import Comparison, Outcome
from soak.crew import Crew
from soak.model import SCHEMA, kept_rows
from soak.run import by_spark
from soak.services import Havoc, ServiceProcess, serving
from soak.workers import Place, Work, among, follow, read, stream, write

_PROPERTIES = {
    "self-optimizing.min-plan-interval": "5000",
    "change.data.ttl.minutes": "1",
    "snapshot.keep.duration": "60s",
    "clean-orphan-file.enabled": "true",
    "clean-orphan-file.min-existing-time-minutes": "2",
}
_SERVE = (
    *("--group", "default=2", "--executor", "default=process"),
    *("--interval", "5", "--clean-every", "60", "--threads", "4"),
)
_STRIKE_SECONDS = 20.0
_DRAIN_SECONDS = 180.0
_FOLLOWED = 4
_KEPT_ROWS = 20_000
"""So that a share of all bytes says something: beside them what a dozen commits leave is little."""


class ServiceSoak:
    """Two services, and everybody who works on their tables."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        tables: int,
        streams: int,
        say: Callable[[str], None],
    ) -> None:
        """Begin nothing yet.

        Args:
            folder: of the warehouse.
            seed: of all operations, and of who is killed when.
            tables: how many.
            streams: of Spark, each into a table of its own; the other tables have one without.
            say: is told what goes on.
        """
        names = tuple(f"soak.t{number:02}" for number in range(tables))
        self._place = Place(
            warehouse=str(folder / "warehouse"),
            seed=seed,
            spark=streams > 0,
            tables=names,
            kept=_KEPT_ROWS,
        )
        self._say = say
        self._crew = Crew(say)
        by_hand: dict[str, Work] = {
            "writer-1": partial(write, writer="writer-1", options={"optimize": "auto"}),
            "writer-2": partial(write, writer="writer-2"),
            "stream": partial(among, tables=names[streams:], work=stream),
        }
        if streams:
            by_hand["stream of Spark"] = partial(among, tables=names[:streams], work=by_spark())
        self._writing = by_hand
        self._looking: dict[str, Work] = {
            "reader": read,
            "backlog": watch_backlog,
        }
        self._following: dict[str, Work] = {
            "follower": partial(among, tables=names[:_FOLLOWED], work=follow)
        }

    def run(self, seconds: float) -> Outcome:
        """Let everybody work for so long, and compare what is left."""
        place, crew = self._place, self._crew
        kept = kept_rows(place.seed, place.kept)
        for number, table in enumerate(place.tables):
            made = arctic.create_table(
                table,
                SCHEMA,
                primary_key=["id"],
                partition_by=("region",) if number % 2 else (),
                properties=_PROPERTIES,
                warehouse=place.warehouse,
            )
            made.write(kept, mode="overwrite")
        command = serving(place.warehouse, *_SERVE)
        services = [ServiceProcess(f"service-{number}", command) for number in (1, 2)]
        havoc = Havoc(services, seed=place.seed, every_seconds=_STRIKE_SECONDS)
        groups = [
            crew.begin(works, place) for works in (self._writing, self._looking, self._following)
        ]
        try:
            crew.wait_for_all()
            crew.listen(seconds, havoc.tick)
            crew.end(groups[0])
            havoc.end()
            self._drain(havoc)
        finally:
            ends = [service.end() for service in services]
        for group in groups[1:]:
            crew.end(group)
        crew.print()
        return self._compared(services, havoc, ends)

    def _drain(self, havoc: Havoc) -> None:
        """Wait until nothing is due in any table."""
        began = time.monotonic()
        while (found := backlog_of(self._place.tables, self._place.warehouse)).due:
            if time.monotonic() - began > _DRAIN_SECONDS:
                havoc.failures.append(
                    f"{len(found.due)} tables have something due {_DRAIN_SECONDS:.0f} s after the "
                    f"writers stopped: {found.due[:5]}"
                )
                return
            time.sleep(1)
        took = time.monotonic() - began
        self._say(
            f"nothing is due {took:.0f} s after the writers stopped: "
            f"{found.share:.1%} of all bytes unmerged, {found.most_files} files at most"
        )

    def _compared(
        self, services: list[ServiceProcess], havoc: Havoc, ends: list[str | None]
    ) -> Outcome:
        place = self._place
        found = Comparison(
            warehouse=place.warehouse, seed=place.seed, crew=self._crew, kept=place.kept
        )
        found.sum_up()
        failures = found.outcome.failures
        failures += havoc.failures
        failures += [each for each in ends if each is not None]
        measured = [each.measures for each in self._crew.heard["backlog"] if each.measures]
        for what in (SHARE, FILES):
            values = sorted(each[what] for each in measured)
            if values:
                self._say(
                    f"{what}: median {values[len(values) // 2]:,.2f}, at most {values[-1]:,.2f}"
                )
        for wrong in (
            growth([each[FILES] for each in measured]),
            excess([each[SHARE] for each in measured]),
        ):
            failures += [] if wrong is None else [wrong]
        self._say(f"killed: {dict(havoc.killed)}")
        for service in services:
            self._say(f"{service.name}: {dict(service.events)}")
            self._say(f"{service.name}: {service.beginnings()}")
            failures += [
                f"{service.name}, {count} times: {what}" for what, count in service.failures.items()
            ]
            failures += [f"{service.name} printed: {line}" for line in service.noise[:10]]
        for table in place.tables:
            found.compare(table, cleans=True)
        return found.outcome
