"""The threads that the engine's calls run in: few, bounded, and never too many waiting.

Changes go through one thread: SQLite has one writer at a time anyhow, and threads that wait for
its lock would nap in the place of working. Reads have a few threads, runs of agents some of their
own, so that a slow gene holds up nobody but those who ask for a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from rotifer_bridge._service_errors import Refused

__all__ = ["LANES", "Lane", "Lanes"]

_T = TypeVar("_T")


class Lane(NamedTuple):
    """How many calls run at once, and how many may be under way, waiting ones included."""

    threads: int
    most: int


#: [ours]
LANES: dict[str, Lane] = {
    "change": Lane(threads=1, most=256),
    "read": Lane(threads=4, most=256),
    "run": Lane(threads=4, most=64),
}


class Lanes:
    """The threads themselves."""

    def __init__(self) -> None:
        self._pools = {
            name: ThreadPoolExecutor(lane.threads, thread_name_prefix=f"rotifer-{name}")
            for name, lane in LANES.items()
        }
        self._under_way = dict.fromkeys(LANES, 0)

    def admit(self, name: str) -> None:
        """Count a call in.

        Raises:
            Refused: as many are under way as may be.
        """
        lane = LANES[name]
        if self._under_way[name] >= lane.most:
            raise Refused(
                "BUSY",
                f"{lane.most:,} calls of this sort are under way, which is the limit: try again",
                {"retry-after": "1"},
            )
        self._under_way[name] += 1

    def leave(self, name: str) -> None:
        """Count it out again."""
        self._under_way[name] -= 1

    async def run(self, name: str, call: Callable[..., _T], *arguments: object) -> _T:
        """Run a call in a thread of the lane."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[name], call, *arguments)

    def close(self) -> None:
        """Let the threads end; what waits is not begun any more."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
