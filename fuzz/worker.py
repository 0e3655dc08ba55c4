"""Trials, one after the other, in a process that may die of one: ``python -m fuzz.worker``.

Each trial damages one file, does one thing to a table, and says what came of it. Which file and
what thing follow from the seed and the number of the trial.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import arctic
from arctic.iceberg.metadata import entries
from fuzz.damage import DAMAGES, SWAP
from fuzz.lake import OLD_CATALOG, SCHEMA, Target, changes_of, make_lake, rows_of, targets

KINDS = ("data", "delete", "manifest", "list", "metadata", "puffin", "sqlite", "checkpoint")
EXACT, NAMED, UNNAMED, WRONG, APART = "exact", "named", "unnamed", "wrong", "apart"
_REVEALS_NO_SWAP = ("sqlite", "checkpoint")
"""Nothing outside these files says which state of them is the newest."""

_PATTERNS = {
    "data": ("*-B-*.parquet", "*-I-*.parquet"),
    "delete": ("*-ED-*.parquet", "*-PD-*.parquet"),
    "manifest": ("*-m[0-9]*.avro",),
    "list": ("snap-*.avro",),
    "metadata": ("*.metadata.json",),
    "puffin": ("*.puffin",),
    "sqlite": (OLD_CATALOG,),
    "checkpoint": ("*.offset",),
}
_FILTERS = ("id = 700", "id between 300 and 340", "region = 'eu' and amount > 500", "note is null")
_NEW_ROW = {"id": 701, "region": "eu", "note": "new"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is done."""

    target: Target
    damage: str
    action: str


class Lake:
    """A lake that can be brought back to what it was."""

    def __init__(self, folder: Path, *, foreign: bool) -> None:
        self.folder = folder
        if not (folder / "catalog.db").exists():
            make_lake(folder, foreign=foreign)
            for path, content in self._files().items():
                _kept(folder, path).parent.mkdir(parents=True, exist_ok=True)
                _kept(folder, path).write_bytes(content)
        kept = folder.with_name(f"{folder.name}.kept")
        self._kept = {
            folder / path.relative_to(kept): path.read_bytes()
            for path in kept.rglob("*")
            if path.is_file()
        }
        self.restore()
        self.targets = targets(folder)

    def restore(self) -> None:
        """Bring every file back."""
        for path in self._files():
            if path not in self._kept:
                path.unlink(missing_ok=True)
        for path, content in self._kept.items():
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def content(self, path: Path) -> bytes:
        """Return a file as it was."""
        return self._kept[path]

    def others(self, target: Target) -> list[bytes]:
        """Return valid files of a kind that differ from one."""
        suffixes = "".join(target.path.suffixes[-2:])
        found = {
            path
            for pattern in _PATTERNS[target.kind]
            for path in self._kept
            if path.match(pattern) and (path.name.endswith(suffixes) or path.name == OLD_CATALOG)
        }
        own = self._kept[target.path]
        return [self._kept[path] for path in sorted(found) if self._kept[path] != own]

    def _files(self) -> dict[Path, bytes]:
        return contents(self.folder)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return every file below a folder; SQLite's are there as long as a connection is."""
    found = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found[path] = path.read_bytes()
    return found


def _kept(folder: Path, path: Path) -> Path:
    return folder.with_name(f"{folder.name}.kept") / path.relative_to(folder)


class Worker:
    """Carries out trials on one lake."""

    def __init__(self, folder: Path, *, seed: str, foreign: bool) -> None:
        entries.MAX_CACHED_BYTES = 0
        self._seed = seed
        self._lake = Lake(folder, foreign=foreign)
        self._truth: dict[tuple[str, str], list[str]] = {}

    def trial(self, number: int) -> dict[str, str]:
        """Carry out one trial; return what came of it."""
        draw = random.Random(f"{self._seed}/{number}")
        kind = KINDS[number % len(KINDS)]
        target = draw.choice([each for each in self._lake.targets if each.kind == kind])
        content = self._lake.content(target.path)
        name, damage = draw.choice((*DAMAGES, (SWAP, None)))
        others = self._lake.others(target) if damage is None else []
        if damage is None and others:
            damaged = draw.choice(others)
        else:
            name, damage = (name, damage) if damage is not None else DAMAGES[0]
            damaged = damage(content, draw)
        action = draw.choice(
            ("changes",) if kind == "checkpoint" else tuple(ACTIONS) + ("read", "filter") * 3
        )
        trial = Trial(target=target, damage=name, action=action)
        about = {
            "kind": kind,
            "what": f"{name} of {target.path.name} ({target.table}), then {action}",
        }
        truth = self._wanted(trial, number)
        target.path.write_bytes(damaged)
        try:
            outcome, why = self._outcome(trial, number, truth)
            if outcome in (EXACT, NAMED) and not _keeps(action):
                target.path.parent.mkdir(parents=True, exist_ok=True)
                if kind != "sqlite":
                    target.path.write_bytes(content)
                    outcome, why = self._afterwards(trial, outcome, why)
        finally:
            self._lake.restore()
        return {**about, "outcome": outcome, "why": why}

    def _wanted(self, trial: Trial, number: int) -> list[str]:
        name = (trial.target.table, _variant(trial.action, number))
        if name not in self._truth:
            self._truth[name] = ACTIONS[trial.action](self._lake.folder, trial.target.table, number)
            self._lake.restore()
        return self._truth[name]

    def _outcome(self, trial: Trial, number: int, truth: list[str]) -> tuple[str, str]:
        try:
            rows = ACTIONS[trial.action](self._lake.folder, trial.target.table, number)
        except arctic.ArcticError as error:
            return _told(trial, error), f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            return UNNAMED, f"{type(error).__name__}: {error}"
        if rows == truth:
            return EXACT, ""
        is_apart = trial.damage == SWAP and trial.target.kind in _REVEALS_NO_SWAP
        return APART if is_apart else WRONG, f"{len(rows)} rows, not {len(truth)}"

    def _afterwards(self, trial: Trial, outcome: str, why: str) -> tuple[str, str]:
        """Look whether anything was lost, with the damaged file whole again."""
        try:
            rows = _read(self._lake.folder, trial.target.table, 0)
        except Exception as error:  # noqa: BLE001 - here too
            return UNNAMED, f"afterwards: {type(error).__name__}: {error}; before: {why}"
        before = self._wanted_rows(trial.target.table, "read")
        after = self._wanted_rows(trial.target.table, trial.action)
        good = (after,) if outcome == EXACT else (before, after)
        if rows not in good:
            return WRONG, f"afterwards: {len(rows)} rows, not {len(before)}; before: {why}"
        return outcome, why

    def _wanted_rows(self, table: str, action: str) -> list[str]:
        return self._truth.get((table, action)) or self._truth.setdefault(
            (table, action), self._computed(table, action)
        )

    def _computed(self, table: str, action: str) -> list[str]:
        kept = contents(self._lake.folder)
        self._lake.restore()
        try:
            return ACTIONS[action](self._lake.folder, table, 0)
        finally:
            for path in self._lake.folder.rglob("*"):
                if path.is_file() and path not in kept:
                    path.unlink(missing_ok=True)
            for path, content in kept.items():
                path.write_bytes(content)


def _read(folder: Path, table: str, number: int) -> list[str]:
    return rows_of(arctic.open_table(table, warehouse=str(folder)))


def _filter(folder: Path, table: str, number: int) -> list[str]:
    text = _FILTERS[number % len(_FILTERS)]
    return rows_of(arctic.open_table(table, warehouse=str(folder)), filter=text)


def _changes(folder: Path, table: str, number: int) -> list[str]:
    return changes_of(folder, table)


def _optimize(folder: Path, table: str, number: int) -> list[str]:
    opened = arctic.open_table(table, warehouse=str(folder))
    opened.optimize(type=("minor", "major", "full")[number % 3])
    return rows_of(opened)


def _expire(folder: Path, table: str, number: int) -> list[str]:
    opened = arctic.open_table(table, warehouse=str(folder))
    opened.expire(options={"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"})
    return rows_of(opened)


def _upsert(folder: Path, table: str, number: int) -> list[str]:
    opened = arctic.open_table(table, warehouse=str(folder))
    opened.write(pa.Table.from_pylist([_NEW_ROW], schema=SCHEMA), mode="upsert")
    return rows_of(opened)


ACTIONS: dict[str, Callable[[Path, str, int], list[str]]] = {
    "read": _read,
    "filter": _filter,
    "changes": _changes,
    "optimize": _optimize,
    "expire": _expire,
    "upsert": _upsert,
}


def _keeps(action: str) -> bool:
    return action in ("read", "filter", "changes")


def _variant(action: str, number: int) -> str:
    return f"{action}{number % len(_FILTERS)}" if action == "filter" else action


def _told(trial: Trial, error: arctic.ArcticError) -> str:
    name = "stream offset" if trial.target.kind == "checkpoint" else trial.target.path.name
    return NAMED if name in str(error) else UNNAMED


def main() -> None:
    """Carry out the trials whose numbers come in, one on each line."""
    folder, seed, foreign = sys.argv[1:]
    worker = Worker(Path(folder), seed=seed, foreign=foreign == "foreign")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.trial(int(line))), flush=True)


if __name__ == "__main__":
    main()
