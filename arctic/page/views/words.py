"""Numbers and times in the words that pages use."""

from __future__ import annotations

from datetime import datetime, timezone

_UNITS = (
    (31_536_000_000, "y"),
    (86_400_000, "d"),
    (3_600_000, "h"),
    (60_000, "min"),
    (1_000, "s"),
)


def age_text(milliseconds: int) -> str:
    """Return a duration in its two largest units.

    >>> age_text(250), age_text(90_000), age_text(176_400_000), age_text(3_600_000)
    ('250 ms', '1 min 30 s', '2 d 1 h', '1 h')
    """
    for place, (unit, name) in enumerate(_UNITS):
        if milliseconds >= unit:
            whole, rest = divmod(milliseconds, unit)
            below = _UNITS[place + 1 :][:1]
            more = [f"{rest // least} {word}" for least, word in below if rest >= least]
            return " ".join([f"{whole} {name}", *more])
    return f"{milliseconds} ms"


def behind_text(then_ms: int | None, now_ms: int) -> str:
    """Say how far a time lies behind another.

    >>> behind_text(0, 60_000), behind_text(60_000, 0), behind_text(None, 0)
    ('1 min behind', '1 min ahead of this clock', 'not known')
    """
    if then_ms is None:
        return "not known"
    if then_ms > now_ms:
        return f"{age_text(then_ms - now_ms)} ahead of this clock"
    return f"{age_text(now_ms - then_ms)} behind"


def moment_text(at_ms: int | None) -> str:
    """Return a time in UTC; one that no calendar holds stays a number.

    >>> moment_text(0), moment_text(None), moment_text(10**18)
    ('1970-01-01 00:00:00 UTC', 'not known', '1000000000000000000 ms')
    """
    if at_ms is None:
        return "not known"
    try:
        moment = datetime.fromtimestamp(at_ms / 1_000, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def share_text(share: float) -> str:
    """Return a share in percent; what is little is not nothing.

    >>> share_text(0), share_text(0.004), share_text(0.42), share_text(1)
    ('0 %', '< 1 %', '42 %', '100 %')
    """
    if 0 < share < 0.01:
        return "< 1 %"
    return f"{int(share * 100)} %"


def seconds_text(seconds: float | None) -> str:
    """Return a duration of work.

    >>> seconds_text(None), seconds_text(0.123), seconds_text(12.34)
    ('not known', '0.12 s', '12 s')
    """
    if seconds is None:
        return "not known"
    return (
        f"{seconds:.2f} s"
        if seconds < 1
        else f"{seconds:,.2g} s"
        if seconds < 10
        else (f"{seconds:,.0f} s")
    )
