"""Calls that may never return: each is waited for so long, and no other waits for it.

Rules:
    - A call that has not returned in time keeps its thread, and is not begun again while it is
      under way. Threads are daemons: none keeps a process from ending.
    - So many calls may hang at a time; others are refused until one of them returns.

Must not know: what is called.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from arctic.errors import StorageError

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_HANGING_A_THREAD = 4
"""Calls that may hang, for each that may be under way."""


@dataclass(slots=True)
class _Call(Generic[T]):
    began: float
    result: T | Exception | None = None
    is_over: bool = False


class PatientCalls(Generic[K, T]):
    """Calls by key, some at a time; any thread may ask."""

    def __init__(
        self, *, threads: int, seconds: float, late: Callable[[K], None] | None = None
    ) -> None:
        """Begin none.

        Args:
            threads: calls at a time, those that hang not counted.
            seconds: how long each is waited for.
            late: is told of a call that returned after that, whose result the next to ask for its
                key is given; None: such a result is dropped.
        """
        self.seconds = seconds
        self._threads = threads
        self._late = late
        self._changed = threading.Condition()
        self._calls: dict[K, _Call[T]] = {}
        """That are under way, or were late and have not been asked for."""

    def run(self, work: Callable[[K], T], keys: Iterable[K]) -> Iterator[tuple[K, T | Exception]]:
        """Call for each key, and yield what came of it, in the order of its coming.

        Args:
            work: is called by a thread; what it raises is its result.
            keys: each once.
        """
        waited: dict[K, _Call[T]] = {}
        for key in keys:
            call = self._begun(work, key)
            if isinstance(call, Exception):
                yield key, call
                continue
            waited[key] = call
            while len(waited) >= self._threads:
                yield from self._some(waited)
        while waited:
            yield from self._some(waited)

    def _begun(self, work: Callable[[K], T], key: K) -> _Call[T] | Exception:
        with self._changed:
            known = self._calls.get(key)
            if known is not None:
                return known if known.is_over or not self._is_late(known) else self._hangs()
            hanging = sum(self._is_late(call) for call in self._calls.values() if not call.is_over)
            if hanging >= _HANGING_A_THREAD * self._threads:
                return StorageError(
                    f"{hanging} other calls have not returned for {self.seconds:.0f} seconds; "
                    "this one is begun when they have"
                )
            call = self._calls[key] = _Call(time.monotonic())
        threading.Thread(
            target=self._carry_out, args=(work, key, call), name="arctic-call", daemon=True
        ).start()
        return call

    def _carry_out(self, work: Callable[[K], T], key: K, call: _Call[T]) -> None:
        result: T | Exception | None = None
        try:
            result = work(key)
        except Exception as error:  # noqa: BLE001 - it is the result, for whoever asked
            result = error
        finally:
            with self._changed:
                is_late = self._is_late(call)
                call.result, call.is_over = result, True
                if is_late and self._late is None:
                    self._calls.pop(key, None)
                self._changed.notify_all()
        if is_late and self._late is not None:
            self._late(key)

    def _some(self, waited: dict[K, _Call[T]]) -> Iterator[tuple[K, T | Exception]]:
        """Wait until some have ended, or are late; they are no longer waited for."""
        ended: list[tuple[K, T | Exception]] = []
        with self._changed:
            while not ended:
                for key, call in list(waited.items()):
                    if call.is_over:
                        self._calls.pop(key, None)
                        ended.append((key, call.result))  # type: ignore[arg-type] # it is over
                    elif self._is_late(call):
                        ended.append((key, self._hangs()))
                    else:
                        continue
                    del waited[key]
                if not ended:
                    first = min(call.began for call in waited.values())
                    self._changed.wait(max(0.0, first + self.seconds - time.monotonic()))
        yield from ended

    def _is_late(self, call: _Call[T]) -> bool:
        return time.monotonic() - call.began >= self.seconds

    def _hangs(self) -> StorageError:
        return StorageError(
            f"no answer within {self.seconds:.0f} seconds; it is waited for in the background, and "
            "keeps nobody else waiting"
        )
