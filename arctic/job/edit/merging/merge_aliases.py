"""What a caller calls the rows on both sides of a merge, made the names that its expressions have.

Must not know: what the expressions are for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from arctic.cdc.engine import tokens
from arctic.errors import InvalidInputError
from arctic.job.edit.expressions import SOURCE, TARGET

_WORD = re.compile(r"""\A(?:"((?:[^"]|"")+)"|([^\W\d]\w*)(?![\w'&]))""")


def merge_aliases(*, target: str | None, source: str | None) -> dict[str, str]:
    """Return alias, in lower case -> the name that it stands for; none where none is given.

    Args:
        target: what rows of the table are called; None: as ever.
        source: what rows of the source are called; None: as ever.

    Raises:
        InvalidInputError: an alias that is no name, or is that of the other side.
    """
    called = {
        TARGET: TARGET if target is None else _alias(target),
        SOURCE: SOURCE if source is None else _alias(source),
    }
    if called[TARGET] == called[SOURCE]:
        raise InvalidInputError(
            f"a merge calls rows of the table and of the source {called[TARGET]!r}; expected two "
            "names: give target_alias and source_alias"
        )
    return {alias: name for name, alias in called.items() if alias != name}


def _alias(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InvalidInputError(f"alias {given!r} of a merge: expected a name such as 't'")
    return given.strip().lower()


def unaliased(value: Any, aliases: Mapping[str, str]) -> Any:
    """Return what was given with no alias in its expressions; what is no text stays as it is.

    >>> unaliased("t.id = s.id AND t.city <> 't.x'", {"t": "target", "s": "source"})
    "target.id = source.id AND target.city <> 't.x'"

    Raises:
        InvalidInputError: an alias may be the parameter of a lambda.
    """
    if isinstance(value, Mapping):
        return {name: unaliased(each, aliases) for name, each in value.items()}
    if not isinstance(value, str) or not aliases:
        return value
    pieces = tokens(value)
    words = [_word(piece) for piece in pieces]
    has_lambda = any(piece.startswith("->") for piece in pieces) or "lambda" in words
    found = []
    for place, (piece, word) in enumerate(zip(pieces, words, strict=True)):
        is_alias = word in aliases and not pieces[max(place - 1, 0)].startswith(".")
        is_of_column = pieces[place + 1 : place + 2] != [] and pieces[place + 1].startswith(".")
        if is_alias and has_lambda and not is_of_column:
            raise InvalidInputError(
                f"expression {value!r}: {word!r} is an alias of the merge and stands alone beside "
                "a lambda; expected another name for one of them"
            )
        if is_alias and is_of_column:
            piece = _WORD.sub(aliases[word], piece, count=1)
        found.append(piece)
    return "".join(found)


def _word(piece: str) -> str:
    """Return the name with which a piece of an expression begins, as names are compared."""
    match = _WORD.match(piece)
    if match is None:
        return ""
    in_quotes, plain = match.groups()
    return (in_quotes.replace('""', '"') if in_quotes else plain).lower()
