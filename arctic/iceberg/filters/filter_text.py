"""Filters written as SQL: ``amount > 10 and city like 'R%'``.

Strategy: words and signs first, then two stacks: AND, OR, NOT and brackets wait on one until what
they join is on the other. So a text may be of any length and have any number of brackets.

Rules:
    - Texts are in single quotes, names in double quotes, in backticks or bare, as in SQL. A text in
      double quotes, or any other thing that SQL would read in another way, is refused, not guessed.
"""

from __future__ import annotations

from typing import Any

from arctic.iceberg.filters.column_tests import EVERYTHING, NOTHING, ColumnTests
from arctic.iceberg.filters.filter_operands import Name, Operands
from arctic.iceberg.filters.filter_words import Words
from arctic.table.filters.filter_tree import Filter, Join, Negation
from arctic.table.filters.predicate import TURNED, Op

_COMPARISONS = {
    "=": Op.EQ, "==": Op.EQ, "!=": Op.NE, "<>": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT,
    ">=": Op.GE,
}  # fmt: skip
_STRENGTH = {"or": 1, "and": 2, "not": 3}


def parse_text(text: str, tests: ColumnTests) -> Filter:
    """Return the filter that a text says.

    Raises:
        InvalidInputError: it is not understood; the message says where.
        UnsupportedError: a nested column, or a test for NaN.
    """
    return _Parser(text, tests).parsed()


class _Parser:
    def __init__(self, text: str, tests: ColumnTests) -> None:
        self._words = Words(text)
        self._operands = Operands(self._words)
        self._tests = tests

    def parsed(self) -> Filter:
        """Read the whole text: conditions, with what joins them waiting by its strength."""
        found: list[Filter] = []
        waiting: list[str] = []
        while True:
            while self._words.is_next("not", "("):
                waiting.append(self._words.take().text)
            found.append(self._test())
            while self._words.is_next(")"):
                while waiting and waiting[-1] != "(":
                    _reduce(found, waiting.pop())
                if not waiting:
                    self._words.refuse("no bracket is open")
                waiting.pop()
                self._words.take()
            if self._words.at_end():
                break
            if not self._words.is_next("and", "or"):
                self._words.refuse()
            joint = self._words.take().text
            while waiting and _STRENGTH.get(waiting[-1], 0) >= _STRENGTH[joint]:
                _reduce(found, waiting.pop())
            waiting.append(joint)
        while waiting:
            if waiting[-1] == "(":
                self._words.refuse("expected ')'")
            _reduce(found, waiting.pop())
        return found[0]

    def _test(self) -> Filter:
        """Read one condition without AND, OR, or a NOT before it."""
        if self._words.is_next("true", "false") and not self._is_comparison(1):
            return EVERYTHING if self._words.take().text == "true" else NOTHING
        left = self._operands.operand()
        if not isinstance(left, Name):
            return self._turned_comparison(left)
        name = left.text
        is_negated = False
        if self._words.takes("is"):
            return self._is(name)
        if self._words.is_next("not"):
            self._words.take()
            is_negated = True
            if not self._words.is_next("in", "like", "between"):
                self._words.refuse("expected 'in', 'like' or 'between' after 'not'")
        test: Filter
        if self._words.takes("in"):
            test = self._tests.within(name, self._list())
        elif self._words.takes("like"):
            test = self._like(name)
        elif self._words.takes("between"):
            least = self._operands.literal()
            if not self._words.takes("and"):
                self._words.refuse("expected 'and' between the ends of a range")
            greatest = self._operands.literal()
            test = Join(
                True,
                (
                    self._tests.compare(name, Op.GE, least),
                    self._tests.compare(name, Op.LE, greatest),
                ),
            )
        elif (op := self._comparison()) is not None:
            test = self._tests.compare(name, op, self._operands.literal())
        elif self._words.at_end() or self._words.is_next("and", "or", ")"):
            test = self._tests.is_true(name)
        else:
            self._words.refuse()
        return Negation(test) if is_negated else test

    def _turned_comparison(self, value: Any) -> Filter:
        op = self._comparison()
        if op is None:
            self._words.refuse("expected a comparison with a column")
        name = self._operands.operand()
        if not isinstance(name, Name):
            self._words.refuse("expected a column on one side of each comparison", back=1)
        return self._tests.compare(name.text, TURNED[op], value)

    def _is(self, name: str) -> Filter:
        is_negated = self._words.takes("not")
        test: Filter
        if self._words.takes("null"):
            test = self._tests.is_null(name)
        elif self._words.takes("nan"):
            raise self._tests.no_nan_test(name)
        elif self._words.is_next("true", "false"):
            wanted = self._words.take().text == "true"
            self._tests.is_true(name)
            equal = self._tests.compare(name, Op.EQ, wanted)
            if not is_negated:
                return equal
            return Join(False, (Negation(equal), self._tests.is_null(name)))
        else:
            self._words.refuse("expected 'null', 'true' or 'false'")
        return Negation(test) if is_negated else test

    def _like(self, name: str) -> Filter:
        pattern = self._operands.literal()
        if not self._words.takes("escape"):
            return self._tests.like(name, pattern)
        escape = self._operands.literal()
        if not isinstance(escape, str):
            self._words.refuse("expected a character in single quotes after 'escape'", back=1)
        return self._tests.like(name, pattern, escape)

    def _list(self) -> list[Any]:
        if not self._words.takes("("):
            self._words.refuse("expected '(' after 'in'")
        if self._words.is_next(")"):
            self._words.refuse("expected a value between the brackets")
        values = [self._operands.literal()]
        while self._words.takes(","):
            values.append(self._operands.literal())
        if not self._words.takes(")"):
            self._words.refuse("expected ',' or ')'")
        return values

    def _comparison(self) -> Op | None:
        return _COMPARISONS[self._words.take().text] if self._is_comparison() else None

    def _is_comparison(self, place: int = 0) -> bool:
        ahead = self._words.ahead(place + 1)
        return (
            len(ahead) > place and ahead[place].kind == "sign" and ahead[place].text in _COMPARISONS
        )


def _reduce(found: list[Filter], joint: str) -> None:
    last = found.pop()
    if joint == "not":
        found.append(Negation(last))
    else:
        found.append(Join(joint == "and", (found.pop(), last)))
