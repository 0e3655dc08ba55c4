"""The words and signs of a filter's text, and a place among them.

Must not know: what they mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from arctic.errors import InvalidInputError

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | (?P<hex>[xX]'[^']*')
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*`)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<sign><=>|<=|>=|<>|!=|==|::|[<>=(),.+\-])
    )""",
    re.VERBOSE,
)
_EXAMPLE = "expected comparisons such as \"id > 5 and region in ('eu', 'us')\""
_SHOWN = 200
"""Characters of a long filter that a message repeats."""


@dataclass(frozen=True, slots=True)
class Word:
    """One of them."""

    kind: str
    """``number``, ``hex``, ``text``, ``quoted``, ``word`` or ``sign``."""
    text: str
    """Words in lower case, names and texts without their quotes."""
    start: int
    shown: str
    """As it is written."""


class Words:
    """A text as words, read from the first to the last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = _words(text)
        self._next = 0

    def at_end(self) -> bool:
        """Say whether all are read."""
        return self._next >= len(self._words)

    def ahead(self, count: int) -> tuple[Word, ...]:
        """Return the next ones, fewer at the end, without reading them."""
        return tuple(self._words[self._next : self._next + count])

    def is_next(self, *texts: str) -> bool:
        """Say whether the next is one of these words or signs, not in quotes."""
        return any(each.kind in ("word", "sign") and each.text in texts for each in self.ahead(1))

    def take(self) -> Word:
        """Read the next; whoever asks knows that there is one."""
        self._next += 1
        return self._words[self._next - 1]

    def takes(self, text: str) -> bool:
        """Read the next if it is this word or sign."""
        found = self.is_next(text)
        self._next += found
        return found

    def back(self, count: int = 1) -> None:
        """Unread the last."""
        self._next -= count

    def refuse(self, reason: str = _EXAMPLE, *, back: int = 0) -> NoReturn:
        """Say that the text is not understood from here, or from some words before."""
        place = max(self._next - back, 0)
        start = self._words[place].start if place < len(self._words) else len(self._text)
        raise _not_understood(self._text, self._text[start:], reason)


def _words(text: str) -> list[Word]:
    found = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            raise _not_understood(text, text[place:].lstrip(), _EXAMPLE)
        kind = match.lastgroup or ""
        shown = match[kind]
        found.append(Word(kind, _plain(kind, shown), match.start(kind), shown))
        place = match.end()
    return found


def _not_understood(text: str, rest: str, reason: str) -> InvalidInputError:
    return InvalidInputError(f"filter {_short(text)}: not understood near {_short(rest)}; {reason}")


def _plain(kind: str, shown: str) -> str:
    if kind == "hex":
        return shown[2:-1]
    if kind in ("text", "quoted"):
        quote = shown[0]
        return shown[1:-1].replace(quote * 2, quote)
    return shown.lower() if kind == "word" else shown


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
