"""File names say what a file holds: ``node-kind-transaction-partition-task-operation-count``.

Rules:
    - The file kind of a change file stands *only* in its name: inserts and change deletes are
      both Iceberg data files.
    - A name that does not match is a foreign Iceberg file: root node, and the transaction id of
      its sequence number (change store) or 0 (base store).
    - A name that matches but means something impossible is refused, never guessed.

Source: amoro FileNameRules and DataFileType @96a4d781a. Differs: node id 0 and kinds that a
store cannot hold raise FormatError (Amoro loops for ever, or treats them as data).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from arctic.errors import FormatError, InvalidInputError
from arctic.table.files import FileKind
from arctic.tree.node import ROOT, TreeNode

_PATTERN = re.compile(r"\.?(\d+)-(\w+)-(\d+)-(\d+)-(\d+)-.*", re.ASCII | re.DOTALL)
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|-\d{15,19}-\d+\.parquet$")
"""A UUID, or the number of an operation as names of data files end with it."""
_CACHED_NAMES = 2**14
"""Many files say the same of themselves: a table has few nodes and few transactions."""
_FOREIGN_KINDS = frozenset({"IED", "L"})
_BY_SHORT_NAME = {kind.value: kind for kind in FileKind}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedName:
    """What a file name says; ``transaction_id`` 0 means: use the data sequence number."""

    node: TreeNode
    kind: FileKind
    transaction_id: int


def format_name(
    *,
    node: TreeNode,
    kind: FileKind,
    transaction_id: int,
    partition_id: int,
    task_id: int,
    operation_id: int,
    count: int,
) -> str:
    """Return a file name, extension included.

    >>> format_name(node=TreeNode(3, 2), kind=FileKind.CHANGE_DELETE, transaction_id=0,
    ...             partition_id=3, task_id=12, operation_id=8372489228858204035, count=1)
    '6-ED-0-00003-12-8372489228858204035-00001.parquet'
    """
    return (
        f"{node.node_id}-{kind.value}-{transaction_id}-{partition_id:05d}-{task_id}"
        f"-{operation_id}-{count:05d}.parquet"
    )


def has_format_name(path: str) -> bool:
    """Say whether a file was named by a writer of this format, not by a stranger.

    >>> has_format_name("t/data/6-B-0-00003-12-8372489228858204035-00001.parquet")
    True
    >>> has_format_name("t/data/part-00000.parquet")
    False

    One of PyIceberg's in 1,200 names differs in its kind alone, by the digits of its UUID:

    >>> has_format_name("t/data/00000-0-12345678-1234-4321-8abc-1234567890ab.parquet")
    False
    """
    match = _PATTERN.fullmatch(path, path.rfind("/") + 1)
    return match is not None and match.group(2) in _BY_SHORT_NAME


def has_random_name(path: str) -> bool:
    """Say whether the name of a file is nobody else's: whoever comes later has another one.

    >>> has_random_name("s3://b/t/5-I-2-00001-1-1732456789012345678-1.parquet")
    True
    >>> has_random_name("s3://b/t/part-1.parquet")
    False
    """
    return _RANDOM.search(path.rpartition("/")[2]) is not None


def parse_base_name(path: str) -> ParsedName:
    """Read the name of a data file in the base store.

    Raises:
        FormatError: a kind that base must not hold, or an impossible node id.
    """
    parsed = _parse(path, default=FileKind.BASE)
    if parsed.kind is FileKind.INSERT:
        return ParsedName(
            node=parsed.node, kind=FileKind.BASE, transaction_id=parsed.transaction_id
        )
    if parsed.kind is not FileKind.BASE:
        raise FormatError(
            f"base file {path!r}: kind {parsed.kind.value!r} as a data file; expected 'B' or 'I'"
        )
    return parsed


def parse_position_delete_name(path: str) -> ParsedName:
    """Read the name of a position-delete file: a foreign name applies to the whole tree."""
    parsed = _parse(path, default=FileKind.POS_DELETE)
    node = parsed.node if parsed.kind is FileKind.POS_DELETE else ROOT
    return ParsedName(node=node, kind=FileKind.POS_DELETE, transaction_id=parsed.transaction_id)


def parse_change_name(path: str) -> ParsedName:
    """Read the name of a data file in the change store.

    Raises:
        FormatError: a kind that change must not hold, or an impossible node id.
    """
    parsed = _parse(path, default=FileKind.INSERT)
    if parsed.kind not in (FileKind.INSERT, FileKind.CHANGE_DELETE):
        raise FormatError(f"change file {path!r}: kind {parsed.kind.value!r}; expected 'I' or 'ED'")
    return parsed


def _parse(path: str, *, default: FileKind) -> ParsedName:
    match = _PATTERN.fullmatch(path, path.rfind("/") + 1)
    try:
        parsed = None if match is None else _meaning(*match.group(1, 2, 3))
    except FormatError as error:
        raise FormatError(f"file {path!r}: {error.message}") from error
    return ParsedName(node=ROOT, kind=default, transaction_id=0) if parsed is None else parsed


@lru_cache(maxsize=_CACHED_NAMES)
def _meaning(node_id: str, kind_name: str, transaction_id: str) -> ParsedName | None:
    """Return what the parts of a name say; None for a kind that only foreign names have."""
    if kind_name in _FOREIGN_KINDS:
        raise FormatError(
            f"kind {kind_name!r} is never written to a store; expected B, I, ED or PD"
        )
    kind = _BY_SHORT_NAME.get(kind_name)
    if kind is None:
        return None
    try:
        node = TreeNode.from_id(_number(node_id, "node id"))
    except InvalidInputError as error:
        raise FormatError(error.message) from error
    return ParsedName(
        node=node, kind=kind, transaction_id=_number(transaction_id, "transaction id")
    )


def _number(digits: str, what: str) -> int:
    # Longer texts are not converted at all: Python refuses some thousand digits.
    significant = digits.lstrip("0")
    if len(significant) > 19 or int(significant or "0") >= 2**63:
        raise FormatError(f"{what} {digits}; expected a number below 2**63")
    return int(significant or "0")
