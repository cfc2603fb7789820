"""The threads that the engine's calls run in: few, bounded, and never too many waiting.

Changes go through one thread: SQLite has one writer at a time anyhow, and threads that wait for
its lock would nap in the place of working. What waits there together is handed on together, so
that many writes wait for the disk once. Reads have a few threads, runs of agents some of their
own, so that a slow gene holds up nobody but those who ask for a run.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from rotifer_bridge._service_errors import Refused

__all__ = ["LANES", "SHARES", "TOGETHER", "Lane", "Lanes", "Work"]

TOGETHER = 64
"""How many changes are handed on together at most [ours]: others wait no longer than for these."""

SHARES = 2
"""One token's bodies on their way may be one of so many parts of all of them [ours]."""


class Lane(NamedTuple):
    """How many calls run at once, and how many may be under way, waiting ones included.

    As many again may be on their way, their bodies not there yet.
    """

    threads: int
    most: int


#: [ours]
LANES: dict[str, Lane] = {
    "change": Lane(threads=1, most=256),
    "read": Lane(threads=4, most=256),
    "run": Lane(threads=4, most=64),
}


Work = Callable[[Sequence[Any]], list[Any]]
"""What is done with things that wait together: a result for each, in order; it never raises."""


class _Job(NamedTuple):
    work: Work
    thing: Any
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Lanes:
    """The threads themselves."""

    def __init__(self) -> None:
        self._pools = {
            name: ThreadPoolExecutor(lane.threads, thread_name_prefix=f"rotifer-{name}")
            for name, lane in LANES.items()
            if lane.threads > 1
        }
        self._under_way = dict.fromkeys(LANES, 0)
        self._arriving: dict[str, Counter[str]] = {name: Counter() for name in LANES}
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        threading.Thread(target=self._work, name="rotifer-change", daemon=True).start()

    @contextmanager
    def arriving(self, name: str, whose: str) -> Iterator[None]:
        """Count a call while its body is on its way, which takes nobody's place in the lane.

        As many may be on their way as under way, but no one token's take the places of all:
        whoever sends slowly holds up few but themselves.

        Args:
            name: of the lane.
            whose: the id of the token.

        Raises:
            Refused: as many are on their way as may be, of all or of this token.
        """
        counted, most = self._arriving[name], LANES[name].most
        share = most // SHARES
        if counted[whose] >= share:
            raise _busy(f"{share:,} bodies are on their way with this token")
        if counted.total() >= most:
            raise _busy(f"{most:,} bodies are on their way")
        counted[whose] += 1
        try:
            yield
        finally:
            counted[whose] -= 1
            if not counted[whose]:
                del counted[whose]

    def admit(self, name: str) -> None:
        """Count a call in.

        Raises:
            Refused: as many are under way as may be.
        """
        lane = LANES[name]
        if self._under_way[name] >= lane.most:
            raise _busy(f"{lane.most:,} calls of this sort are under way")
        self._under_way[name] += 1

    def leave(self, name: str) -> None:
        """Count it out again."""
        self._under_way[name] -= 1

    async def run(self, name: str, work: Work, thing: Any) -> Any:
        """Have work done with a thing in a thread of the lane; what became of it."""
        loop = asyncio.get_running_loop()
        pool = self._pools.get(name)
        if pool is not None:
            return (await loop.run_in_executor(pool, work, (thing,)))[0]
        job = _Job(work, thing, loop, loop.create_future())
        self._jobs.put(job)
        return await job.future

    def _work(self) -> None:
        """Do the jobs of the lane of changes, those that wait for the same work together."""
        job = self._jobs.get()
        while job is not None:
            together = [job]
            after: list[_Job | None] = []
            with suppress(Empty):
                while len(together) < TOGETHER and not after:
                    one = self._jobs.get_nowait()
                    same = one is not None and one.work is job.work
                    (together if same else after).append(one)  # type: ignore[arg-type]
            results = job.work([one.thing for one in together])
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.loop.call_soon_threadsafe(_tell, together, results)
            job = after[0] if after else self._jobs.get()

    def close(self) -> None:
        """Let the threads end; what waits is not begun any more."""
        self._jobs.put(None)
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _busy(what: str) -> Refused:
    return Refused("BUSY", f"{what}, which is the limit: try again", {"retry-after": "1"})


def _tell(jobs: Sequence[_Job], results: Sequence[Any]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if not job.future.done():  # whoever asked may have been cancelled
            job.future.set_result(result)
