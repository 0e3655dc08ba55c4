"""What a service says of itself: one line for each event, for people or for programs.

Rules:
    - A line names its event first. Texts of failures are said without secrets, on one line.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

from arctic.redact import without_secrets

Say = Callable[..., None]
"""Called with the event, and with facts by name."""
_LOGGER = logging.getLogger("arctic.service")


def say_to_log(event: str, **facts: object) -> None:
    """Say it to the logger ``arctic.service``."""
    _LOGGER.info("%s", text_line(event, **facts))


def said_to(*listeners: Say) -> Say:
    """Return what says an event to several, in their order.

    One that fails, as a terminal does that was closed, keeps neither the others from hearing nor
    the work from being done.
    """

    def say(event: str, **facts: object) -> None:
        for listener in listeners:
            try:
                listener(event, **facts)
            except Exception as error:  # noqa: BLE001, PERF203 - see above
                _LOGGER.warning("event %r was not said: %s", event, why(error))

    return say


def text_line(event: str, **facts: object) -> str:
    """Return an event for people.

    >>> text_line("optimized", table="shop.users", seconds=0.25, reason="14 fragments >= 12")
    "optimized table=shop.users seconds=0.25 reason='14 fragments >= 12'"
    """
    said = (f"{name}={_text(fact)}" for name, fact in facts.items() if fact is not None)
    return " ".join((event.replace(" ", "-"), *said))


def json_line(event: str, **facts: object) -> str:
    """Return an event for programs.

    >>> json_line("optimized", table="shop.users", type=None)
    '{"event": "optimized", "table": "shop.users", "type": null}'
    """
    return json.dumps({"event": event, **facts}, default=str)


def why(error: BaseException) -> str:
    """Return the kind and the text of a failure, as it may be said."""
    said = without_secrets(" ".join(str(error).split()))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _text(fact: object) -> str:
    text = str(fact)
    return repr(text) if not text or any(each.isspace() for each in text) else text
