"""Three layers by ten minutes, each run once its input is complete: ``python -m examples.windows``.

Two writers bring clicks of an hour and a half: in shuffled order, some twice, some late. One of
them lags behind the other, is silent for an hour, and brings that late hour at once: nobody works
on a window without it. The second layer counts the clicks of each ten minutes and page, the third
ranks the pages of each half hour. Both run whenever something has come, and work only on windows
that are complete. At the end they are compared with the same counts over all clicks at once.

Clicks that come still later, behind the watermark, are in the table and in no window: their windows
are told by the changes since, and counted anew.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import pyarrow as pa

import arctic

BEGIN = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
LATENESS = 300
LAG, SILENT = 17, range(30, 90)
"""Minutes by which one writer is behind, and those in which it says nothing."""
PAGES = ("home", "cart", "help")
TIME = pa.timestamp("us", "UTC")
CLICKS = pa.schema([("id", pa.int64()), ("page", pa.string()), ("at", TIME)])
COUNTS = pa.schema([("at", TIME), ("page", pa.string()), ("clicks", pa.int64())])
RANKS = pa.schema([("at", TIME), ("first", pa.string()), ("clicks", pa.int64())])

Click = tuple[int, str, datetime]


def clicks_of(writer: int, random_: random.Random) -> list[list[Click]]:
    """Return the batches of a writer: a minute each, rows up to five minutes late, some twice."""
    rows = [
        (
            writer * 1_000_000 + number,
            random_.choice(PAGES),
            BEGIN + timedelta(seconds=random_.uniform(0, 5400)),
        )
        for number in range(3_000)
    ]
    batches: list[list[Click]] = [[] for _ in range(96)]
    for row in rows:
        minute = (row[2] - BEGIN).total_seconds() / 60
        for _ in range(random_.choice((1, 1, 1, 2))):
            batches[int(minute + random_.uniform(0, LATENESS / 60 - 0.1))].append(row)
    return batches


def most(pages: Counter[str]) -> tuple[str, int]:
    """Return the page with the most clicks, of several the first by name."""
    return min(pages.items(), key=lambda item: (-item[1], item[0]))


class Layers:
    """The three tables, and what was worked on so far."""

    def __init__(self, warehouse: str) -> None:
        """Make the tables."""
        self.warehouse = warehouse
        self.done: Counter[tuple[str, datetime]] = Counter()
        for name, schema, key, lateness in (
            ("web.clicks", CLICKS, ["id"], LATENESS),
            ("web.counts", COUNTS, ["at", "page"], 0),
            ("web.ranks", RANKS, ["at"], 0),
        ):
            arctic.create_table(
                name,
                schema,
                primary_key=key,
                properties={
                    "table.event-time-field": "at",
                    "table.watermark-allowed-lateness-second": str(lateness),
                },
                warehouse=warehouse,
            )

    def feed(self, writer: str, batch: list[Click]) -> None:
        """Write one batch of a writer."""
        if batch:
            columns = [pa.array(column) for column in zip(*batch, strict=True)]
            rows = pa.table(columns, names=CLICKS.names).cast(CLICKS)
            self._upsert("web.clicks", rows, writer)

    def run(self) -> None:
        """Work on every window that is complete, layer by layer."""
        for window in self._windows("web.clicks", "10min", writers=("eu", "us")):
            self._count(window.begin, self._rows(window))
        # Complete as soon as there is a count of the ten minutes after it.
        for window in self._windows("web.counts", "30min", writers=("web.counts",)):
            pages: Counter[str] = Counter()
            for row in self._rows(window).to_pylist():
                pages[row["page"]] += row["clicks"]
            self._write("web.ranks", RANKS, [(window.begin, *most(pages))])

    def count_anew(self, version: int) -> list[datetime]:
        """Count the windows anew that clicks have come to since a version; return them."""
        changes = arctic.read_changes(
            "web.clicks",
            columns=["at"],
            options={"start-version": str(version), "change-rows": "net"},
            warehouse=self.warehouse,
        )
        ten = timedelta(minutes=10)
        begun = {BEGIN + (at - BEGIN) // ten * ten for at in changes.read_all()["at"].to_pylist()}
        windows = sorted(begin for begin in begun if ("web.clicks", begin) in self.done)
        for begin in windows:
            between = f"at >= '{begin.isoformat()}' AND at < '{(begin + ten).isoformat()}'"
            found = arctic.read("web.clicks", filter=between, warehouse=self.warehouse)
            self._count(begin, found.read_all())
        return windows

    def rows(self, name: str) -> pa.Table:
        """Return all rows of a layer."""
        return arctic.read(name, warehouse=self.warehouse).read_all()

    def _windows(self, name: str, every: str, writers: Iterable[str]) -> Iterable[arctic.Window]:
        for window in arctic.windows(
            name,
            every,
            consumer="layers",
            start=BEGIN,
            writers=writers,
            warehouse=self.warehouse,
        ):
            self.done[name, window.begin] += 1
            yield window

    def _rows(self, window: arctic.Window) -> pa.Table:
        return arctic.read(
            window.table,
            filter=window.row_filter,
            version=str(window.version),
            warehouse=self.warehouse,
        ).read_all()

    def _count(self, begin: datetime, clicks: pa.Table) -> None:
        pages = Counter(clicks["page"].to_pylist())
        self._write("web.counts", COUNTS, [(begin, page, pages[page]) for page in PAGES])

    def _write(self, name: str, schema: pa.Schema, rows: list[tuple[object, ...]]) -> None:
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        self._upsert(name, pa.table(columns, names=schema.names).cast(schema), name)

    def _upsert(self, name: str, rows: pa.Table, writer: str) -> None:
        options = {"writer-id": writer}
        arctic.write(name, rows, mode="upsert", options=options, warehouse=self.warehouse)


def expected(
    clicks: Iterable[Click], every: timedelta, end: datetime
) -> dict[object, Counter[str]]:
    """Return the clicks of each page by window, over all clicks at once."""
    counts: dict[object, Counter[str]] = {}
    for _, page, at in clicks:
        begin = BEGIN + (at - BEGIN) // every * every
        if begin + every <= end:
            counts.setdefault(begin, Counter())[page] += 1
    return counts


def main() -> int:
    """Print what the layers say and whether it is right; 1 where it is not."""
    random_ = random.Random(7)
    eu, us = clicks_of(1, random_), clicks_of(2, random_)
    with tempfile.TemporaryDirectory() as warehouse:
        layers = Layers(warehouse)
        sent = 0
        for minute in range(len(eu) + LAG):
            if minute < len(eu):
                layers.feed("eu", eu[minute])
            while minute not in SILENT and sent <= minute - LAG:
                layers.feed("us", us[sent])
                sent += 1
            if minute % 3 == 0:
                layers.run()
            if minute % 20 == 0:
                arctic.optimize("web.clicks", type="minor", warehouse=warehouse)
        layers.run()
        version = arctic.open_table("web.clicks", warehouse=warehouse).versions()["version"][-1]
        behind = [
            (9_000_000 + minute, "cart", BEGIN + timedelta(minutes=minute)) for minute in (3, 21)
        ]
        layers.feed("eu", behind)
        layers.run()
        anew = layers.count_anew(version.as_py())
        counts, ranks = layers.rows("web.counts").to_pylist(), layers.rows("web.ranks").to_pylist()
        late = arctic.ready("web.clicks", BEGIN + timedelta(hours=2), warehouse=warehouse)
    clicks = {row[0]: row for batch in [*eu, *us, behind] for row in batch}
    tens = expected(clicks.values(), timedelta(minutes=10), BEGIN + timedelta(minutes=80))
    in_time = [row for row in clicks.values() if row not in behind]
    halves = expected(in_time, timedelta(minutes=30), BEGIN + timedelta(minutes=60))
    for row in sorted(ranks, key=lambda row: row["at"]):
        print(f"from {row['at']:%H:%M} for 30 minutes: {row['first']}, {row['clicks']} clicks")
    print("windows that were worked on:", len(layers.done), "of them twice:", twice(layers.done))
    print("counted anew for clicks behind the watermark:", ", ".join(f"{e:%H:%M}" for e in anew))
    print("complete until 14:00:", bool(late), "behind:", ", ".join(late.behind))
    is_right = (
        {(row["at"], row["page"]): row["clicks"] for row in counts}
        == {(at, page): pages[page] for at, pages in tens.items() for page in PAGES}
        and {row["at"]: (row["first"], row["clicks"]) for row in ranks}
        == {at: most(pages) for at, pages in halves.items()}
        and not twice(layers.done)
    )
    print("equal to the counts over all clicks at once:", is_right)
    return int(not is_right)


def twice(done: Counter[tuple[str, datetime]]) -> int:
    """Return how many windows were worked on more than once."""
    return sum(times > 1 for times in done.values())


if __name__ == "__main__":
    sys.exit(main())
