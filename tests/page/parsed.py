"""HTML as a test sees it: the tree of its tags, without what they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "br"})
_RAW = frozenset({"script", "style"})


@dataclass
class Parsed:
    """A page."""

    skeleton: list[str] = field(default_factory=list)
    """Tags with the names of their attributes, and where they end."""
    attributes: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of each."""
    words: list[tuple[str, str]] = field(default_factory=list)
    """Innermost tag and text of each piece of text that is shown."""

    def text_of(self, tag: str) -> str:
        """Return all text right below elements of a name."""
        return "".join(text for name, text in self.words if name == tag)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Parsed()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.page.skeleton.append(" ".join([tag, *names]))
        self.page.attributes += [(name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open[-1] == tag, f"</{tag}> within <{self.open[-1]}>"
        self.open.pop()
        self.page.skeleton.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in _RAW:
            self.page.words.append((self.open[-1], data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")


def parsed(text: str) -> Parsed:
    """Read a page; an element that is not closed, or closed elsewhere, is an error."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open, f"never closed: {reader.open}"
    return reader.page
