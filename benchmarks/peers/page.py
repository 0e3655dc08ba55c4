"""``docs/benchmarks.md``, written from the figures."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.peers.commands import ROUNDS
from benchmarks.peers.inputs import BATCH_SHARE, BATCHES, DELETE_SHARE, WIDE_SCHEMA
from benchmarks.peers.report import (
    command_table,
    commands_checked,
    comparisons,
    remarks,
    table,
)
from benchmarks.peers.result import SystemResult
from benchmarks.peers.sections import markdown, with_section

CHART = "benchmarks.svg"

COMMANDS_TITLE = "Row-level commands in SQL"
_CHECKED = "Are the rows right?"


def page(results: Sequence[SystemResult], *, rows: int, machine: str, limit_seconds: float) -> str:
    """Return the whole page."""
    sections = [_head(rows=rows, machine=machine, limit_seconds=limit_seconds)]
    sections += [
        f"## {comparison.title}\n\n{markdown(table(comparison))}\n"
        for comparison in comparisons(results)
    ]
    sections += [section for section in [_commands(results)] if section]
    lines = "\n".join(f"- {line}" for line in remarks(results))
    sections.append(f"## {_CHECKED}\n\n{_ORACLE}\n\n{lines}\n")
    versions = [
        [result.name, ", ".join(f"{name} {value}" for name, value in result.versions.items())]
        for result in results
    ]
    sections.append(f"## Versions\n\n{markdown([['system', 'versions'], *versions])}\n")
    sections.append(_METHOD)
    return "\n".join(sections)


def with_commands(text: str, results: Sequence[SystemResult]) -> str:
    """Return a page with the commands of these results, and all else as it was."""
    return with_section(text, COMMANDS_TITLE, _commands(results).partition("\n")[2])


def _commands(results: Sequence[SystemResult]) -> str:
    lines = command_table(results)
    if not lines:
        return ""
    checks = [commands_checked(result) for result in results]
    rows = f"The rows afterwards: {', '.join(check for check in checks if check)}."
    return f"## {COMMANDS_TITLE}\n\n{_ABOUT_COMMANDS}\n\n{markdown(lines)}\n\n{rows}\n"


def _head(*, rows: int, machine: str, limit_seconds: float) -> str:
    batch = int(rows * BATCH_SHARE)
    deleted = int(rows * DELETE_SHARE)
    return f"""# Benchmarks

Arctic beside its peers: the same files, one machine, one system after the other. `make bench-peers`
measures it anew, and `make bench-peers ARGS=--write-docs` writes this page.

{rows:,} orders of {len(WIDE_SCHEMA)} columns are loaded; then come {BATCHES} upserts of {batch:,}
rows (80 % updates of random orders, 20 % new ones), and one delete of {deleted:,} keys. Everything
is read unmerged, compacted, and read again. In brackets: the time as a multiple of Arctic's, so
more than 1 is slower than Arctic.

Measured on {machine}.
A phase may take {limit_seconds:g} s; what comes after one that took longer was not run.

![Seconds of the main phases, for each system]({CHART})
"""


_ABOUT_COMMANDS = f"""A second table gets the load alone. The rows of the {BATCHES} upserts come by
`MERGE ... WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`. Then, {ROUNDS} times
each, a MERGE adds the quantities of an upsert's rows to the stored ones (`WHEN MATCHED THEN UPDATE
SET quantity = t.quantity + s.quantity`), an UPDATE changes two columns of the rows of 1 % of the
customers, which lie everywhere in the table, and a DELETE removes those of others. Nothing is
compacted in between. Each command has run once before, on the table of the first use.
`make bench-peers ARGS="--only commands"` measures this alone, and with `--write-docs` writes this
section."""

_ORACLE = """DuckDB computes the expected rows from the same input, and compares them with what each
system gives back, whole rows in both directions, unmerged, compacted, and after commands in SQL."""

_METHOD = """## How it is measured

- Each system is one process in an environment of its own with pinned versions
  (`benchmarks/peers/environments.py`); Arctic and pyarrow use that of the checkout. Spark systems
  have the same session: `local[2]`, 4 GiB of driver memory, 4 shuffle partitions. Starting it does
  not count. First use is a load, an upsert, a delete and two reads of 1,000 rows in another table:
  what a fresh process pays once, and what makes the rest warm.
- A write is timed once, and of the upserts the median is shown. A read is done four times: the
  first is dropped for all alike, and the median of the other three is shown. No repeat begins later
  than 15 s after the first began; a read that takes longer is shown as it was the first time.
- The first read of all, after the changes or the compaction, is one of sums by status and region.
  What systems keep for the next read is not there yet: Arctic through Spark looks deleted keys up
  in it, and remembers which rows are dead; Iceberg's executors keep delete files.
- Through Spark, a range and a full read end in a `noop` sink, which gets every row. Without Spark,
  rows come out as Arrow batches and pyarrow computes sums.
- `iceberg-mor` and `iceberg-cow` are `MERGE INTO` with merge-on-read and copy-on-write on format 2
  tables in a Hadoop catalog. Compaction is `rewrite_data_files` with `rewrite-all` and
  `remove-dangling-deletes`. Arctic's is a full optimize. That of `delta-rs` is `optimize.compact`,
  which finds little to do, because every merge has rewritten the files that it touched.
- `delta-spark` is `MERGE INTO` with deletion vectors, in Spark's own catalog; Spark fetches its
  jars from Maven. Compaction is `REORG ... APPLY (PURGE)`, then `OPTIMIZE`.
- `paimon-spark` is `INSERT INTO` a table with a primary key and four buckets, and `CALL
  sys.compact`; Paimon 0.9 is the newest in Maven Central. It compacts in writes too.
- `hudi-bucket` and `hudi-record` are merge-on-read tables that find rows by four buckets and by the
  record index. Loads are a bulk insert. The last write wins. Compaction is `CALL run_compaction`.
- `iceberg-eq` is what Flink's Iceberg sink writes in upsert mode into the same table: an upsert is
  one commit of a data file with its rows and an equality-delete file with their keys, whether the
  table has them or not; a delete is one commit of an equality-delete file alone. Flink does not run
  here: pyarrow writes the files and Iceberg's Java API commits them. So the time of an upsert
  counts writing both files and the commit, and neither a Spark job nor a checkpoint. Load, reads
  and compaction are those of `iceberg-mor`; what compaction leaves of the delete files in the
  metadata applies to no row.
- `pyiceberg` is `Table.upsert` and `Table.delete` on a table in a SQLite catalog.
- `ducklake` has its metadata in a DuckDB file, and two threads. Its tables have no key: an upsert
  is DuckDB's `MERGE INTO`. Compaction is `ducklake_rewrite_data_files` and
  `ducklake_merge_adjacent_files`. Reads come out as Arrow batches, and DuckDB computes sums.
- `pypaimon` keeps a primary-key table of four buckets, with one more column that says what a row
  does. It hashes and merges row by row in Python, 19 microseconds for a row of three columns on a
  shared machine, so loads of ten million rows take longer than the limit. `pyarrow` is the raw
  limit: it reads and writes the same bytes and merges nothing.
- Bytes written are those of files that appeared or changed in the table's folder, metadata
  included. Memory is the resident memory of the process and all its children, a JVM included, added
  up: pages that processes share count more than once.
"""
