"""A write whose rows were spread by one process, and that another process begins.

A server of Spark Connect that runs with Arctic's settings does all of a save itself. One that has
only got the package from its client cannot: the client plans how rows are spread, and a worker of
the server begins the write of the frame that arrives there, with nothing but its options. What an
overwrite replaces was fixed by the client, before the rows were read.

Rules:
    - What is told can only narrow the write: a number that the change store has not reached would
      hide what is committed next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.plan_shuffle import spread_job
from arctic.job.write.shuffle import HELPER_COLUMNS, ShufflePlan
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.writing.write_request import WriteMode

_REPLACES_UP_TO = "replaces-up-to"
_DEEP_NODES = "deep-nodes"


def told_spread(job: WriteJob, plan: ShufflePlan) -> dict[str, str]:
    """Return what the process that begins the write must be told beside its options."""
    told = {_REPLACES_UP_TO: job.replaces_up_to, _DEEP_NODES: dict(plan.deep_nodes)}
    return {opt.SPREAD.name: json.dumps(told)}


def begin_told(asked: AskedWrite, incoming: pa.Schema) -> WriteJob:
    """Begin a write, whose rows another process may have spread; raises as ``begin_write``.

    Args:
        asked: what the options say, perhaps with those of ``told_spread``.
        incoming: the columns of the rows, with the helper columns of a shuffle if there was one.
    """
    told = asked.spread
    if told is None:
        return begin_write(asked, incoming)
    own = pa.schema([field for field in incoming if field.name not in HELPER_COLUMNS])
    job = begin_write(replace(asked, spread=None), own)
    replaces_up_to, deep_nodes = _parsed(told)
    is_whole = len(incoming) == len(own) + len(HELPER_COLUMNS)
    if not is_whole or not 0 <= replaces_up_to <= job.replaces_up_to:
        raise _refused(told)
    job = spread_job(job, incoming, deep_nodes=deep_nodes)
    request = job.request
    if request.mode is WriteMode.OVERWRITE:
        request = replace(request, transaction_id=replaces_up_to)
    return replace(job, replaces_up_to=replaces_up_to, work=replace(job.work, request=request))


def _parsed(told: str) -> tuple[int, Mapping[str, int]]:
    try:
        document = json.loads(told)
        counts = {str(path): int(count) for path, count in document[_DEEP_NODES].items()}
        return int(document[_REPLACES_UP_TO]), counts
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(told) from error


def _refused(told: str) -> InvalidInputError:
    return InvalidInputError(
        f"option {opt.SPREAD.name} = {told}: save() sets it; leave the option out"
    )
