"""Builders that are recorded, here one that only remembers what it was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arctic.spark.base.recorded_calls import Asked, Call, leave_alone, record_calls


def _builder_class() -> type[Any]:
    class Builder:
        """As Spark's: options() may call option(), and an end may call both."""

        def __init__(self) -> None:
            self.told: list[Any] = []

        def format(self, source: str) -> Any:
            self.told.append(source)
            return self

        def option(self, key: str, value: Any) -> Any:
            if value is not None:
                self.told.append((key, value))
            return self

        def options(self, **options: Any) -> Any:
            for key, value in options.items():
                self.option(key, value)
            return self

        def mode(self, name: str) -> Any:
            return self.option("mode", name)

        def end(self, **options: Any) -> Any:
            return self.options(**options).told

    return Builder


def _recorded(**ours: Callable[..., Any]) -> Any:
    made = _builder_class()
    for _ in range(2):
        record_calls(made, Asked, {"end": lambda call: call.asked, **ours}, more=["mode"])
    return made()


def test_format_and_options_are_recorded_and_reach_spark() -> None:
    """Once each, however the builder is made; names in lower case, and as they were spelt."""
    builder = _recorded()
    asked = builder.format("arctic").option("A", True).options(b=1, C=None).end()

    assert (asked.format, asked.options, asked.names) == (
        "arctic",
        {"a": "true", "b": "1"},
        ["A", "b"],
    )
    assert builder.told == ["arctic", ("A", True), ("b", 1)]


@pytest.mark.parametrize(
    ("ours", "names"),
    [
        (lambda call: call.native(x=1), ["x"]),
        (lambda call: call.alone("end", x=1), []),
        (lambda call: call.spark("option", "x", 1).told, []),
        (lambda call: call.spark("mode", "x").told, ["mode"]),
    ],
    ids=["native", "alone", "spark", "more"],
)
def test_what_spark_says_to_its_own_builder_is_recorded_unless_it_is_alone(
    ours: Callable[[Call[Asked]], Any], names: list[str]
) -> None:
    """A reader that is told its format at the end keeps it; a write of Spark's is none of ours."""
    records: list[Asked] = []

    def end(call: Call[Asked]) -> Any:
        records.append(call.asked)
        return ours(call)

    told = _recorded(end=end).end()

    assert len(told) == 1
    assert (records[0].names, records[0].is_native) == (names, False)


def test_a_failure_of_spark_ends_what_is_alone() -> None:
    """The builder may be used again."""

    def end(call: Call[Asked]) -> Any:
        with pytest.raises(TypeError):
            call.alone("option")
        return call.asked

    assert not _recorded(end=end).end().is_native


def test_a_builder_may_be_left_alone() -> None:
    """Then it does what Spark does."""
    builder = _recorded()
    leave_alone(builder, Asked())

    assert builder.options(x=1).end() == [("x", 1)]


@pytest.mark.parametrize(
    ("format", "source", "expected"),
    [
        ("Arctic", None, True),
        (None, "arctic", True),
        ("arctic", "csv", False),
        ("csv", None, False),
        (None, None, False),
        (None, 3, False),
    ],
)
def test_the_end_of_a_chain_may_say_the_format_anew(
    format: str | None, source: Any, expected: bool
) -> None:
    """In any case of letters."""
    assert Asked(format=format).is_of("arctic", source) is expected
