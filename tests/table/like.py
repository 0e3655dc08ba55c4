"""What LIKE means, character by character."""

from __future__ import annotations


def is_like(text: str, pattern: str) -> bool:
    r"""Say whether a text is like a pattern with ``%``, ``_`` and backslashes before them.

    >>> is_like("a_b", r"a\_%"), is_like("axb", r"a\_%"), is_like("axb", "a_b")
    (True, False, True)
    """
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(is_like(text[start:], rest) for start in range(len(text) + 1))
    if first == "\\":
        first, rest = rest[0], rest[1:]
        return text[:1] == first and is_like(text[1:], rest)
    return bool(text) and first in ("_", text[0]) and is_like(text[1:], rest)
