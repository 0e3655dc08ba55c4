"""A database of MariaDB and its mirror, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

import arctic
from arctic.errors import NotFoundError
from arctic.job.mirror.mirror_settings import MirrorReport, MirrorSettings
from arctic.job.mirror.run_mirror import run_mirror
from arctic.job.mirror.write_changes import write_here


@dataclass(slots=True)
class Followed:
    """A database whose tables are mirrored into namespace ``m`` of a warehouse."""

    socket: Path
    name: str
    warehouse: Path
    tables: Sequence[str] = ("t",)
    max_changes: int = 10_000
    connection: Any = field(init=False)

    def __post_init__(self) -> None:
        """Make the database."""
        self.connection = pymysql.connect(
            unix_socket=str(self.socket), user="root", autocommit=True, charset="utf8mb4"
        )
        self.run(
            f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4",
            f"USE {self.name}",
            "SET time_zone = '+00:00', sql_mode = ''",
        )

    @property
    def dsn(self) -> str:
        """How it is reached."""
        return f"mysql://root@localhost/{self.name}?unix_socket={self.socket}"

    @property
    def place(self) -> dict[str, Any]:
        """Where the mirror is."""
        return {"warehouse": str(self.warehouse)}

    def close(self) -> None:
        """Drop the database."""
        self.run(f"DROP DATABASE {self.name}")
        self.connection.close()

    def run(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own unless they say otherwise."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def mirror(self, **changed: Any) -> MirrorReport:
        """Bring the mirror up to date."""
        settings = MirrorSettings(
            dsn=self.dsn,
            tables=self.tables,
            namespace="m",
            place=self.place,
            slot=self.name,
            max_changes=self.max_changes,
            database="mysql",
            watermark=changed.pop("watermark", False),
        )
        write = changed.pop("write", write_here)
        return run_mirror(settings, write=write, once=True, interval_seconds=0, **changed)

    def rows(self, table: str = "t") -> list[dict[str, Any]]:
        """Read a mirrored table, in the order of its key ``id``."""
        found = arctic.read(f"m.{table}", **self.place).read_all().to_pylist()
        return sorted(found, key=lambda row: row["id"])

    def quarantine(self) -> list[dict[str, Any]]:
        """Read the quarantine."""
        try:
            return list(arctic.read("m.cdc_quarantine", **self.place).read_all().to_pylist())
        except NotFoundError:
            return []

    def check(self) -> None:
        """Compare mirrored tables with their source, value by value as they are printed."""
        for table in self.tables:
            with self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
                cursor.execute(f"SELECT * FROM {table} ORDER BY id")
                expected, found = _printed(cursor.fetchall()), _printed(self.rows(table))
            assert expected == found, f"{table}: expected {expected[-9:]}, found {found[-9:]}"


def _printed(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{name: str(value) for name, value in row.items()} for row in rows]
