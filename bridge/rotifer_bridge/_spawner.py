"""A thread that lives as long as the process and spawns on behalf of threads that may not."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from rotifer_bridge._spawn import spawn_here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Spawner", "spawner"]

_lock = threading.Lock()
_spawner: Spawner | None = None


def spawner() -> Spawner:
    """The one of this process, started when it is first asked for."""
    global _spawner  # noqa: PLW0603 - one thread a process
    with _lock:
        if _spawner is None or _spawner.owner != os.getpid():
            _spawner = Spawner()  # a fork has no threads but its own
        return _spawner


class _Order:
    """What one caller wants started, and where it waits for the answer."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]
    ) -> None:
        self.argv, self.env, self.descriptors = argv, env, descriptors
        self.answer: SimpleQueue[int | BaseException] = SimpleQueue()


class Spawner:
    """See the module."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        threading.Thread(target=self._run, name="rotifer-spawner", daemon=True).start()

    def spawn(
        self, argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]
    ) -> int:
        """`spawn_here`, from this object's thread; raises what that raises."""
        order = _Order(argv, env, descriptors)
        self._orders.put(order)
        answer = order.answer.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _run(self) -> None:
        while True:
            order = self._orders.get()
            try:
                order.answer.put(spawn_here(order.argv, order.env, order.descriptors))
            except BaseException as error:  # noqa: BLE001 - it belongs to the thread that asked
                order.answer.put(error)
