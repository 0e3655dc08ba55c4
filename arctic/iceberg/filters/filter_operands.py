"""Names and literals in a filter's text, with the casts of literals.

Must not know: conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arctic.errors import ArcticError
from arctic.iceberg.filters.filter_literals import TYPE_WORDS, cast_literal, number_of
from arctic.iceberg.filters.filter_words import Word, Words

_RESERVED = frozenset({"and", "or", "not", "is", "in", "like", "between", "null"})
_MAX_CASTS = 20


@dataclass(frozen=True, slots=True)
class Name:
    """A column's name; the parts of a nested one are dotted."""

    text: str
    words: int
    """Of the text, points counted."""


class Operands:
    """Reads names and literals from a text."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._casts = 0

    def literal(self) -> Any:
        """Read a value; a name is refused."""
        first = self._words.ahead(1)
        value = self.operand()
        if isinstance(value, Name):
            token = first[0]
            back = value.words
            if token.kind == "quoted" and token.shown.startswith('"'):
                text = token.text.replace("'", "''")
                self._words.refuse(
                    f"{token.shown} is a name; write a text in single quotes: '{text}'", back=back
                )
            self._words.refuse(
                f"{value.text!r} is a name; expected a value, texts in single quotes", back=back
            )
        return value

    def operand(self) -> Any:
        """Read a column's name or a literal, with the casts behind it."""
        value = self._plain_operand()
        while self._words.takes("::"):
            if isinstance(value, Name):
                self._words.refuse("a column cannot be cast; cast the value instead", back=1)
            value = self._cast(value, self._type())
        return value

    def _plain_operand(self) -> Any:
        if self._words.at_end():
            self._words.refuse("expected a column or a value")
        token = self._words.take()
        if token.kind == "text":
            return token.text
        if token.kind == "number":
            return self._read(number_of, token.text)
        if token.kind == "hex":
            return self._read(bytes.fromhex, token.text)
        if token.kind == "sign":
            following = self._words.ahead(1)
            if token.text in ("+", "-") and following and following[0].kind == "number":
                return self._read(number_of, token.text + self._words.take().text)
            self._words.refuse(back=1)
        if token.kind == "word":
            return self._word(token)
        return self._name(token)

    def _word(self, token: Word) -> Any:
        if token.text in ("true", "false"):
            return token.text == "true"
        if token.text == "null":
            self._words.refuse(
                "nothing compares with null; write 'is null' or 'is not null'", back=1
            )
        if token.text == "cast" and self._words.takes("("):
            self._casts += 1
            if self._casts > _MAX_CASTS:
                self._words.refuse("one cast in another, too often", back=1)
            value = self.operand()
            self._casts -= 1
            if isinstance(value, Name):
                self._words.refuse("a column cannot be cast; cast the value instead", back=1)
            if not self._words.takes("as"):
                self._words.refuse("expected 'as' and a type")
            kind = self._type()
            if not self._words.takes(")"):
                self._words.refuse("expected ')'")
            return self._cast(value, kind)
        if token.text in TYPE_WORDS:
            zone = self._zone_words()
            if [each.kind for each in self._words.ahead(1)] == ["text"]:
                return self._cast(self._words.take().text, token.text + zone)
            self._words.back(len(zone.split()))
        if token.text in _RESERVED:
            self._words.refuse(back=1)
        return self._name(token)

    def _name(self, token: Word) -> Name:
        parts = [token.shown if token.kind == "word" else token.text]
        while self._words.is_next("."):
            following = self._words.ahead(2)[-1]
            if following.kind not in ("word", "quoted"):
                break
            self._words.take()
            self._words.take()
            parts.append(following.shown if following.kind == "word" else following.text)
        if self._words.is_next("("):
            self._words.refuse(
                f"{parts[-1]!r} is called as a function; only columns and values are taken"
            )
        return Name(".".join(parts), 2 * len(parts) - 1)

    def _type(self) -> str:
        if [each.kind for each in self._words.ahead(1)] != ["word"]:
            self._words.refuse("expected a type")
        name = self._words.take().text
        name += " precision" if name == "double" and self._words.takes("precision") else ""
        name += self._zone_words() if name == "timestamp" else ""
        if not self._words.takes("("):
            return name
        arguments = []
        while not self._words.at_end() and not self._words.is_next(")"):
            arguments.append(self._words.take().text)
        if not self._words.takes(")"):
            self._words.refuse("expected ')'")
        return f"{name}({''.join(arguments)})"

    def _zone_words(self) -> str:
        for words in (("with", "time", "zone"), ("without", "time", "zone")):
            if tuple(each.text for each in self._words.ahead(3)) == words:
                self._words.back(-3)
                return " " + " ".join(words)
        return ""

    def _cast(self, value: Any, kind: str) -> Any:
        return self._read(cast_literal, value, kind)

    def _read(self, make: Callable[..., Any], *given: Any) -> Any:
        try:
            return make(*given)
        except ArcticError as error:
            self._words.refuse(error.message, back=1)
        except ValueError as error:
            self._words.refuse(str(error), back=1)
        except ArithmeticError:
            self._words.refuse("it is no number that can be compared with", back=1)
