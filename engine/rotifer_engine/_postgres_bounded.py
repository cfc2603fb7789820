"""The driver's connection, with an end to each wait, and a pipeline that ends in good order."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

from rotifer_engine._postgres_errors import Silent

__all__ = ["Bounded"]

_T = TypeVar("_T")
# Newer drivers can bound a wait by themselves, which spares each read a generator.
_OWN_TIMEOUT: type[Exception] | None = getattr(psycopg.errors, "_WaitTimeout", None)


class _Batch(psycopg.Pipeline):
    """A pipeline that ends with its Sync.

    The driver's own asks for the answers once more behind it. The server takes that as a sign of
    life, and does not count the rest of a transaction any more: a supervisor that hangs would keep
    its agent locked for ever. Where the driver is made otherwise, this is its own pipeline.
    """

    def _exit_gen(self) -> Generator[Any, Any, None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
        finally:
            yield from self._fetch_gen(flush=False)


class Bounded(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose every wait for the server has an end."""

    answer_s = 11.0

    def pipeline(self) -> contextlib.AbstractContextManager[psycopg.Pipeline]:  # type: ignore[override]
        """Statements that are sent without waiting for the answer to the one before."""
        self._pipeline = self._pipeline or _Batch(self)
        return super().pipeline()

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait as the driver does, but not for ever."""
        if _OWN_TIMEOUT is None or arguments or options:
            bounded = self._until(gen, time.monotonic() + self.answer_s)
            return super().wait(bounded, *arguments, **options)
        try:
            return super().wait(gen, timeout=self.answer_s)
        except _OWN_TIMEOUT:
            self.pgconn.finish()
            raise Silent(f"waited {self.answer_s:g} s") from None

    def _until(self, gen: Generator[Any, Any, _T], deadline: float) -> Generator[Any, Any, _T]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= deadline:
                    # Closed here, before anybody tries to end a transaction in good order.
                    self.pgconn.finish()
                    raise Silent(f"waited {self.answer_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            result: _T = end.value
            return result
