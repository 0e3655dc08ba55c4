"""Frames that are Parquet files as they lie, all rows of them: the plan tells which files.

Rules:
    - Only where Spark itself reads the files, row by row and as they say: no filter, no value
      that is made or comes out of a path, no option or setting that has it read anything else.
      Columns may have other names.
    - Nothing is run to find out, and whatever is not known means no.

Must not know: what the files are wanted for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from arctic.job.write.loads.file_shares import FileShare, WholeFiles, joined
from arctic.job.write.loads.rising_files import may_rise, rising_shares
from arctic.job.write.loads.write_rising import write_rising
from arctic.job.write.loads.write_scanned import FilePiece, scanned_shares, write_scanned
from arctic.job.write.plan_shuffle import suits_one_task
from arctic.job.write.write_job import WriteJob
from arctic.spark.base.private_names import is_classic, planned
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.write.narrow_input import thought_bytes
from arctic.spark.write.spread import of_few_tasks

_PACKAGE = "org.apache.spark.sql."
_SOURCES = f"{_PACKAGE}execution.datasources."
_PROJECT = f"{_PACKAGE}catalyst.plans.logical.Project"
_EXPRESSIONS = f"{_PACKAGE}catalyst.expressions."
_ATTRIBUTE = f"{_EXPRESSIONS}AttributeReference"
_ALIAS = f"{_EXPRESSIONS}Alias"
_CHECKED = f"{_EXPRESSIONS}objects.AssertNotNull"
"""What an insert does to a column that takes no null. A write refuses nulls there by itself."""
_RELATION = f"{_SOURCES}LogicalRelation"
_FILES = f"{_SOURCES}HadoopFsRelation"
_TASK = f"{_SOURCES}FilePartition"
_PARQUET = f"{_SOURCES}parquet.ParquetFileFormat"
"""This class and no heir of it: tables of other formats have Parquet files with rows left out."""
_OF_LISTING = frozenset(
    {"path", "paths", "recursivefilelookup", "pathglobfilter", "modifiedafter", "modifiedbefore"}
)
"""Options that say which files there are, not what is read in them."""
_AS_FILES_SAY = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "corrected",
    "spark.sql.parquet.int96RebaseModeInRead": "corrected",
    "spark.sql.parquet.int96TimestampConversion": "false",
}
_BETWEEN = "\n\0"
_MOST_FILES = 2_000
"""More of them take long to name, and so do their footers to read."""
_FEW_BYTES = 4 << 20
"""Up to this, one task writes the rows as fast, and nothing is asked of any file."""
_FEWEST_BYTES = 1 << 20
"""Below this, Spark has delivered the rows by the time that the footers are read."""
_MOST_SCANNED_BYTES = 64 << 20
"""Of frames that are read as Spark divides them: no task holds more of a row group's bytes."""
_MOST_SCANNED = 100
"""Files of such a frame: each is asked for by itself."""

T = TypeVar("T")


def whole_files(frame: DataFrame) -> WholeFiles | None:
    """Return the files that a frame is; None: they are very many, or it is something else.

    Args:
        frame: of any session; one of Spark Connect tells nothing.
    """
    return _told(frame, _found)


def scanned_files(frame: DataFrame) -> tuple[WholeFiles, list[list[FilePiece]]] | None:
    """Return the files that a frame is, and what each task of Spark's would read of them, in order.

    None: they are many or much, or so few bytes that it makes no difference, or the frame is
    something else.

    Args:
        frame: as for ``whole_files``.
    """
    return _told(frame, _scanned)


def written_from_files(frame: DataFrame, job: WriteJob) -> bool:
    """Write and commit a frame out of the files that it is, where their rows rise by their keys.

    Args:
        frame: of any session.
        job: the write of it, as it began.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``write_rising``.
    """
    if not may_rise(job):
        return False
    size_bytes = thought_bytes(frame)
    if size_bytes is None or size_bytes <= _FEW_BYTES:
        return False
    files = whole_files(frame)
    if files is None:
        return False
    runner = SparkRunner(frame.sparkSession)
    shares = rising_shares(job, files, arrow_schema(frame.schema), parallelism=runner.parallelism)
    return shares is not None and write_rising(job, shares, runner)


def written_where_read(frame: DataFrame, job: WriteJob) -> bool:
    """Write and commit a frame out of the files that it is, by tasks that read as Spark's would.

    Args:
        frame: of any session; each of its rows may be written by the task that has it.
        job: the write of it.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``write_scanned``.
    """
    shares = _scanned_shares(frame, job)
    return shares is not None and write_scanned(job, shares, SparkRunner(frame.sparkSession))


def written_by_one(frame: DataFrame, job: WriteJob) -> bool:
    """Write and commit a frame out of the files that it is, by one task that reads them all.

    For rows of which each key needs one task: to send so few of them there takes several times as
    long as everything else.

    Args:
        frame: of any session.
        job: the write of it, as it began.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``write_scanned``.
    """
    shares = _scanned_shares(frame, job) if suits_one_task(job) else None
    if shares is None:
        return False
    session = frame.sparkSession
    return write_scanned(of_few_tasks(job, session), (joined(shares),), SparkRunner(session))


def _scanned_shares(frame: DataFrame, job: WriteJob) -> tuple[FileShare, ...] | None:
    found = scanned_files(frame)
    return None if found is None else scanned_shares(job, *found, arrow_schema(frame.schema))


def _told(frame: DataFrame, tell: Callable[[DataFrame, Any], T | None]) -> T | None:
    """Return what the plan of a frame tells; None: nothing, or there is none."""
    if not is_classic(frame.sparkSession):
        return None
    try:
        return tell(frame, planned(frame))
    except (Py4JError, PySparkException):
        return None  # What Spark cannot plan it will say itself, when the rows are asked for.


def _scanned(frame: DataFrame, execution: Any) -> tuple[WholeFiles, list[list[FilePiece]]] | None:
    files = _found(frame, execution)
    if files is None or len(files.paths) > _MOST_SCANNED:
        return None
    if not _FEWEST_BYTES <= files.size_bytes <= _MOST_SCANNED_BYTES:
        return None
    scanned = []
    for task in execution.toRdd().partitions():
        if _class(task) != _TASK:
            return None
        pieces = [_piece(each) for each in task.files()]
        scanned.append([each for each in pieces if each is not None])
        if None in pieces:
            return None
    return files, scanned


def _piece(file: Any) -> FilePiece | None:
    path, start = _path(str(file.urlEncodedPath())), int(file.start())
    return None if path is None else FilePiece(path=path, start=start, end=start + file.length())


def _found(frame: DataFrame, execution: Any) -> WholeFiles | None:
    conf = frame.sparkSession.conf
    if any(str(conf.get(name)).lower() != text for name, text in _AS_FILES_SAY.items()):
        return None
    plan = execution.optimizedPlan()
    wanted: list[int | None] = [_id(each) for each in _items(plan.output())]
    while _class(plan) == _PROJECT:
        read: dict[int | None, int | None] = {
            _id(each): _read_by(each) for each in _items(plan.projectList())
        }
        wanted = [read.get(each) for each in wanted]
        plan = plan.child()
    if _class(plan) != _RELATION or _class(plan.relation()) != _FILES:
        return None
    stored: dict[int | None, str] = {_id(each): str(each.name()) for each in _items(plan.output())}
    sources = [stored.get(each) for each in wanted]
    if None in sources or len(set(sources)) < len(sources):
        return None
    files = plan.relation()
    options = str(files.options().keySet().mkString(_BETWEEN))
    if _class(files.fileFormat()) != _PARQUET or not files.partitionSchema().isEmpty():
        return None
    if not {each.lower() for each in options.split(_BETWEEN) if each} <= _OF_LISTING:
        return None
    location = files.location()
    found = location.inputFiles()
    if len(found) > _MOST_FILES:
        return None
    paths = [_path(str(each)) for each in found]
    if None in paths or len(set(paths)) < len(paths):
        return None
    return WholeFiles(
        paths=tuple(path for path in paths if path is not None),
        size_bytes=int(location.sizeInBytes()),
        renamed={
            name: source
            for name, source in zip(frame.columns, sources, strict=True)
            if source is not None and source != name
        },
    )


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def _items(sequence: Any) -> Iterator[Any]:
    """Yield what is in a sequence of Scala's."""
    for place in range(int(sequence.length())):
        yield sequence.apply(place)


def _id(expression: Any) -> int:
    return int(expression.exprId().id())


def _read_by(expression: Any) -> int | None:
    """Return the attribute whose values an expression has, by its id; None: it makes others."""
    if _class(expression) == _ALIAS:
        expression = expression.child()
    if _class(expression) == _CHECKED:
        expression = expression.child()
    return _id(expression) if _class(expression) == _ATTRIBUTE else None


def _path(uri: str) -> str | None:
    """Return the path of a file as its store has it; None: a URI may mean several.

    >>> _path("file:///a%20b"), _path("s3a://lake/x.parquet"), _path("s3a://lake/%41")
    ('/a b', 's3a://lake/x.parquet', None)
    """
    parts = urlsplit(uri)
    if parts.scheme == "file" and not parts.netloc:
        return unquote(parts.path)
    return None if "%" in uri else uri
