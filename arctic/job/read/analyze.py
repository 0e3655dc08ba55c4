"""What a read touches in its files, counted by carrying it out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from arctic.errors import InternalError
from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS, CacheCounts
from arctic.iceberg.storage.cache.cache_settings import CacheSettings
from arctic.job.read.read_task import MergeReader
from arctic.job.read.scan_job import ScanJob
from arctic.mor.touched import Touched
from arctic.scan.explain import counted


def analyze(job: ScanJob) -> str:
    """Read every row, drop it, and return what was touched as text, without a last line break.

    The same files and options give the same text, but for what a cache had of them. Memory: that of
    the read, one group at a time.

    Args:
        job: a read of a table's rows.
    """
    if not isinstance(job.reader, MergeReader):
        raise InternalError(f"a read of {type(job.reader).__name__} touches no data files")
    touched, rows, counts = Touched(), 0, CacheCounts(OF_PROCESS)
    reader = replace(job.reader, io=replace(job.reader.io, counts=counts))
    for group in job.groups:
        for batch in reader.read(group, touched):
            rows += batch.num_rows
    return "\n".join((*_lines(touched, rows), *_places(reader.io.cache, counts)))


def _lines(touched: Touched, rows: int) -> Iterator[str]:
    yield "touched"
    data = counted(touched.files, "data file")
    yield f"  {'opened':<9} {data} with {counted(touched.row_groups, 'row group')}"
    if touched.delete_files:
        deletes = counted(touched.delete_files, "change delete file")
        yield f"  {'':<9} {deletes}, {counted(touched.delete_rows, 'row')} that the filter allows"
    for number, reason in (
        (touched.outside_bounds, "by their bounds"),
        (touched.outside_blooms, "by their bloom filters"),
        (touched.without_match, "after a look at the filter's columns"),
    ):
        if number:
            yield f"  {'left out':<9} {counted(number, 'row group')} {reason}"
    yield f"  {'read':<9} {counted(touched.read, 'row group')}"
    if touched.merged:
        looked_up = counted(touched.merged, "row group")
        yield f"  {'merged':<9} {looked_up}, {touched.passed:,} passed without a deleted key"
    yield f"  {'returned':<9} {counted(rows, 'row')}"


def _places(cache: CacheSettings | None, counts: CacheCounts) -> Iterator[str]:
    """Yield where the bytes of files came from, where some of them are kept."""
    if cache is None:
        return
    yield f"  {'kept':<9} {counts.kept_bytes:,} bytes were {cache.where}"
    asked = counted(counts.requests, "request")
    yield f"  {'fetched':<9} {counts.fetched_bytes:,} bytes from where files lie, in {asked}"
    if counts.unkept_bytes:
        yield f"  {'':<9} {counts.unkept_bytes:,} of them not kept: no room, or not writable"
