"""DuckLake: tables of DuckDB whose metadata lies in a database."""

from __future__ import annotations

import importlib.util
import platform
from importlib.metadata import version
from pathlib import Path

import duckdb

from benchmarks.peers.systems.harness import REGIONS_AND_STATUSES, System, serve

THREADS = 2


class DuckLake(System):
    """A catalog in a DuckDB file beside the data; no table has a key, so upserts merge."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lake = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self.lake.execute(f"set threads = {THREADS}")
        self.lake.execute("set TimeZone = 'UTC'")
        self.lake.execute(f"load '{_extension()}'")
        self.lake.execute(
            f"attach 'ducklake:{folder}/lake.db' as lake (data_path '{folder}/lake/')"
        )
        self.lake.execute("use lake")
        self.lake.execute("create schema bench")

    def versions(self) -> dict[str, str]:
        return {
            "ducklake extension": version("duckdb-extension-ducklake"),
            "duckdb": duckdb.__version__,
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        self.lake.execute(f"create table {self.table} as from {_rows(source)}")

    def upsert(self, source: str) -> None:
        self.lake.execute(
            f"merge into {self.table} t using {_rows(source)} s on t.order_id = s.order_id "
            "when matched then update when not matched then insert"
        )

    def delete(self, source: str) -> None:
        self.lake.execute(
            f"delete from {self.table} where order_id in (select order_id from {_rows(source)})"
        )

    def aggregate(self) -> int:
        groups = ", ".join(REGIONS_AND_STATUSES)
        return self._count(
            f"select {groups}, sum(amount), avg(discount), sum(quantity), count(*) "
            f"from {self.table} group by {groups}"
        )

    def column_sum(self) -> int:
        return self._count(f"select sum(amount) from {self.table}")

    def key_range(self, low: int, high: int) -> int | None:
        return self._count(f"from {self.table} where order_id >= {low} and order_id < {high}")

    def dump(self) -> int | None:
        return self._count(f"from {self.table}")

    def export(self, target: str) -> None:
        Path(target).mkdir()
        self.lake.execute(f"copy {self.table} to '{target}/0.parquet'")

    def compact(self) -> str:
        self.lake.execute("call ducklake_rewrite_data_files('lake', delete_threshold => 0)")
        self.lake.execute("call ducklake_merge_adjacent_files('lake')")
        return ""

    def _count(self, query: str) -> int:
        return sum(batch.num_rows for batch in self.lake.execute(query).to_arrow_reader())


def _rows(source: str) -> str:
    return f"read_parquet('{source}/*.parquet')"


def _extension() -> str:
    spec = importlib.util.find_spec("duckdb_extension_ducklake")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("package 'duckdb-extension-ducklake': not installed")
    return str(next(Path(spec.origin).parent.rglob("ducklake.duckdb_extension")))


if __name__ == "__main__":
    serve(DuckLake)
