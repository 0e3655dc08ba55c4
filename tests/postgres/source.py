"""A source database and its mirror, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa

import arctic
from arctic.errors import NotFoundError
from arctic.job.mirror.mirror_settings import MirrorReport, MirrorSettings
from arctic.job.mirror.run_mirror import run_mirror
from arctic.job.mirror.write_changes import write_here
from arctic.postgres.connect import connect


@dataclass(slots=True)
class Source:
    """A database whose tables are mirrored into namespace ``m`` of a warehouse."""

    dsn: str
    warehouse: Path
    tables: Sequence[str] = ("t",)
    max_changes: int = 10_000
    partition_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    connection: Any = field(init=False)

    def __post_init__(self) -> None:
        """Connect."""
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()

    @property
    def place(self) -> dict[str, Any]:
        """Where the mirror is."""
        return {"warehouse": str(self.warehouse)}

    def run(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        for statement in statements:
            self.connection.execute(statement)

    def mirror(self, **changed: Any) -> MirrorReport:
        """Bring the mirror up to date."""
        settings = MirrorSettings(
            dsn=self.dsn,
            tables=self.tables,
            namespace="m",
            place=self.place,
            slot="mirror",
            max_changes=self.max_changes,
            partition_by=self.partition_by,
            watermark=changed.pop("watermark", False),
        )
        return run_mirror(settings, write=changed.pop("write", write_here), once=True,
                               interval_seconds=0, **changed)  # fmt: skip

    def rows(self, table: str = "t") -> list[dict[str, Any]]:
        """Read a mirrored table."""
        return sorted(arctic.read(f"m.{table}", **self.place).read_all().to_pylist(), key=str)

    def quarantine(self) -> list[dict[str, Any]]:
        """Read the quarantine, by place and reason."""
        try:
            found = arctic.read("m.cdc_quarantine", **self.place).read_all().to_pylist()
        except NotFoundError:
            return []
        return sorted(found, key=lambda row: (row["ends"], row["seq"], row["reason"]))

    def check(self) -> None:
        """Compare every mirrored table with its source, value by value."""
        for table, _, name in (each.partition(":") for each in self.tables):
            mirrored = arctic.open_table(f"m.{name or table}", **self.place).read().read_all()
            with connect(self.dsn) as connection:
                names = ", ".join(f'"{column}"' for column in mirrored.column_names)
                cursor = connection.execute(f"SELECT {names} FROM {table}")
                expected = [_row(row, mirrored.schema) for row in cursor.fetchall()]
                columns = [column.name for column in cursor.description]
            assert set(columns) == set(mirrored.column_names)
            found = [_row(row.values(), mirrored.schema) for row in mirrored.to_pylist()]
            extra, missing = set(found) - set(expected), set(expected) - set(found)
            assert not extra, (table, extra, missing)
            assert not missing, (table, missing)
            assert len(found) == len(expected), table


def _row(values: Iterable[Any], schema: pa.Schema) -> tuple[str | None, ...]:
    single = [field.type == pa.float32() for field in schema]
    return tuple(_plain(value, is_single=s) for value, s in zip(values, single, strict=True))


def _plain(value: Any, *, is_single: bool) -> str | None:
    """Return a value in a form that both sides share."""
    if isinstance(value, float):
        return str(np.float32(value) if is_single else value)
    return None if value is None else str(value)
