"""Do several things at the same time, each in a thread, and wait for all of them.

Whoever waits is the one that is called back: what a thread has to tell goes through a queue to the
thread that started it all, so that a caller of `Agent.run` is told everything in its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from rotifer_bridge.errors import RunError

__all__ = ["THREADS_LIMIT", "together"]

THREADS_LIMIT = 16
"""How many run at the same time [ours]; the others wait for a free thread."""

Post = Callable[[Callable[..., object]], Callable[..., None]]
"""Makes of a function one that any thread may call, and that runs in the thread that waits."""


def together(tasks: Sequence[Callable[[Post], None]], *, stop: Callable[[], object]) -> None:
    """Run tasks at the same time; return when every one of them has ended.

    Args:
        tasks: each is handed a `Post`. A task keeps its outcome itself; one that raises is a fault
            of ours, and its exception is raised here once all have ended.
        stop: called where the waiting is interrupted, by a callback that raises or by Ctrl-C; it
            makes the tasks end soon.

    Raises:
        RunError: the system gives no more threads.
    """
    posted: SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]] | None] = SimpleQueue()
    waiting = list(reversed(tasks))
    faults: list[BaseException] = []

    def post(call: Callable[..., object]) -> Callable[..., None]:
        return lambda *arguments: posted.put((call, arguments))

    def work() -> None:
        try:
            while True:
                try:
                    task = waiting.pop()  # atomic: no two threads get the same one
                except IndexError:
                    return
                task(post)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            faults.append(error)
        finally:
            posted.put(None)

    threads = [
        threading.Thread(target=work, name=f"rotifer-branch-{number}", daemon=True)
        for number in range(min(len(tasks), THREADS_LIMIT))
    ]
    running = 0
    try:
        for thread in threads:
            _start(thread)
            running += 1
        while running:
            item = posted.get()
            if item is None:
                running -= 1
            else:
                call, arguments = item
                call(*arguments)
    except BaseException:
        waiting.clear()
        stop()
        while running:  # what they still tell, nobody hears any more
            running -= posted.get() is None
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if faults:
        raise faults[0]


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:
        raise RunError(
            f"cannot start a thread for another branch: {error}",
            code="E0053",
            help="the system is out of threads; see 'ulimit -u'",
        ) from error
