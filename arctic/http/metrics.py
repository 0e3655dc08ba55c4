"""What Prometheus is told: counts of events, and the state of tables and groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS
from arctic.service.control import ServiceControl
from arctic.service.event_counts import EventCounts

_UNITS = {
    "seconds": "seconds",
    "bytes_written": "written_bytes",
    "bytes": "bytes",
    "tasks": "tasks",
}


def registry_of(control: ServiceControl, counts: EventCounts) -> CollectorRegistry:
    """Return what is measured of a service, and of the process that it is alone in."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ServiceCollector(control, counts))
    registry.register(ProcessCollector())
    return registry


@dataclass(frozen=True, eq=False)
class ServiceCollector(Collector):
    """What is measured of one service; counts when it is asked."""

    control: ServiceControl
    counts: EventCounts

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Ask for nothing when it is registered: the names are no other's."""
        yield from ()

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Return everything that is measured."""
        yield from self._events()
        yield from self._groups()
        yield from self._tables()
        yield GaugeMetricFamily(
            "arctic_look_silent_seconds",
            "For how long the look that is under way has heard nothing of the catalog.",
            value=self.control.silent_seconds,
        )
        looked_ms = self.control.looked_ms
        if looked_ms is not None:
            yield GaugeMetricFamily(
                "arctic_last_look_timestamp_seconds",
                "When the whole catalog was last looked at.",
                value=looked_ms / 1_000,
            )

    def _events(self) -> Iterator[CounterMetricFamily]:
        events = CounterMetricFamily("arctic_events", "Events, by name.", labels=["event"])
        for event, count in sorted(self.counts.events.items()):
            events.add_metric([event], count)
        yield events
        sums = self.counts.sums
        for fact, unit in _UNITS.items():
            family = CounterMetricFamily(
                f"arctic_event_{unit}", f"What events told of {fact}.", labels=["event"]
            )
            for (event, name), total in sorted(sums.items()):
                if name == fact:
                    family.add_metric([event], total)
            yield family

    def _groups(self) -> Iterator[GaugeMetricFamily]:
        families = {
            "slots": GaugeMetricFamily("arctic_group_slots", "Slots.", labels=["group"]),
            "busy_slots": GaugeMetricFamily(
                "arctic_group_busy_slots", "Slots that have a task.", labels=["group"]
            ),
            "tables": GaugeMetricFamily("arctic_group_tables", "Tables.", labels=["group"]),
            "running": GaugeMetricFamily(
                "arctic_group_running", "Tables that are worked on.", labels=["group"]
            ),
            "pending": GaugeMetricFamily(
                "arctic_group_pending", "Tables that wait for a slot.", labels=["group"]
            ),
            "longest_wait_ms": GaugeMetricFamily(
                "arctic_group_longest_wait_milliseconds",
                "How long the table waits that waits longest.",
                labels=["group"],
            ),
            "stretched": GaugeMetricFamily(
                "arctic_group_stretch",
                "By how much tables rest longer; above 1 there is a peak.",
                labels=["group"],
            ),
        }
        for group in self.control.groups():
            for name, family in families.items():
                family.add_metric([group.name], getattr(group, name))
        yield from families.values()

    def _tables(self) -> Iterator[GaugeMetricFamily]:
        health = GaugeMetricFamily(
            "arctic_table_health",
            "Health of tables that are looked into, 0 to 100.",
            labels=["table"],
        )
        sizes = {
            "bytes": GaugeMetricFamily(
                "arctic_table_bytes", "Bytes of the files that a read opens.", labels=["table"]
            ),
            "unmerged_bytes": GaugeMetricFamily(
                "arctic_table_unmerged_bytes",
                "Of those, bytes that base does not hold yet.",
                labels=["table"],
            ),
        }
        behind = GaugeMetricFamily(
            "arctic_table_behind_seconds",
            "For how long base has not held all that was written; 0: it does.",
            labels=["table"],
        )
        failing = GaugeMetricFamily(
            "arctic_table_failures",
            "Runs that failed since the last good one.",
            labels=["table"],
        )
        lost = 0
        for view in self.control.tables():
            lost += view.failure is not None
            if view.health is not None:
                health.add_metric([view.name], view.health)
                for name, family in sizes.items():
                    family.add_metric([view.name], getattr(view, name))
            if view.behind_ms is not None:
                behind.add_metric([view.name], view.behind_ms / 1_000)
            if view.failures:
                failing.add_metric([view.name], view.failures)
        yield health
        yield from sizes.values()
        yield behind
        yield failing
        yield GaugeMetricFamily(
            "arctic_tables_unreadable", "Tables that could not be looked at.", value=lost
        )


class ProcessCollector(Collector):
    """What reads of this process had from the cache of data files, whichever table's."""

    def describe(self) -> Iterator[CounterMetricFamily]:
        """Ask for nothing when it is registered: the names are no other's."""
        yield from ()

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Return the counts."""
        for name, help_text, value in (
            ("kept_bytes", "Bytes of data files that were on this machine.", OF_PROCESS.kept_bytes),
            ("fetched_bytes", "Bytes that came from where files lie.", OF_PROCESS.fetched_bytes),
            ("requests", "Requests by which they came.", OF_PROCESS.requests),
            ("unkept_bytes", "Fetched bytes that there was no room for.", OF_PROCESS.unkept_bytes),
            ("evicted_bytes", "Bytes that made room for others.", OF_PROCESS.evicted_bytes),
        ):
            yield CounterMetricFamily(f"arctic_cache_{name}", help_text, value=value)
