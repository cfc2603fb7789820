"""The threads of the service: bounded, and changes that wait together are handed on together."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rotifer_bridge._service_errors import Refused
from rotifer_bridge._service_lanes import LANES, TOGETHER, Lanes


@pytest.fixture
def lanes():
    """Threads of this test's own."""
    found = Lanes()
    yield found
    found.close()


@pytest.mark.parametrize("name", LANES)
def test_no_more_are_let_in_than_may_wait(lanes, name):
    """The next one is BUSY, with the time to wait; when one has left there is room again."""
    for _ in range(LANES[name].most):
        lanes.admit(name)
    with pytest.raises(Refused) as caught:
        lanes.admit(name)
    lanes.leave(name)
    lanes.admit(name)

    assert ("BUSY", "1") == (caught.value.code, caught.value.headers["retry-after"])
    assert f"{LANES[name].most:,} calls" in caught.value.message


def test_changes_that_wait_are_handed_on_together(lanes):
    """While one is being made the others gather; other work keeps its place in the queue."""
    gate = threading.Event()
    seen = []

    def work(things):
        gate.wait(20)
        seen.append(list(things))
        return [thing * 2 for thing in things]

    def other(things):
        seen.append(list(things))
        return list(things)

    async def ask():
        first = asyncio.create_task(lanes.run("change", work, 0))
        await asyncio.sleep(0)
        rest = [asyncio.create_task(lanes.run("change", work, n)) for n in range(1, 4)]
        rest.append(asyncio.create_task(lanes.run("change", other, 9)))
        rest += [
            asyncio.create_task(lanes.run("change", work, n)) for n in range(100, 101 + TOGETHER)
        ]
        await asyncio.sleep(0)
        gate.set()
        return [await task for task in (first, *rest)]

    results = asyncio.run(ask())

    assert [0, 2, 4, 6, 9, *range(200, 202 + 2 * TOGETHER, 2)] == results
    assert [0, 1, 2, 3, 9, *range(100, 101 + TOGETHER)] == [one for group in seen for one in group]
    assert max(map(len, seen)) == TOGETHER
    assert [9] in seen


def test_one_who_no_longer_waits_is_no_fault(lanes):
    """A call whose client was cancelled does not keep the next one from its answer."""
    gate = threading.Event()

    def work(things):
        gate.wait(20)
        return list(things)

    async def ask():
        gone = asyncio.create_task(lanes.run("change", work, 1))
        await asyncio.sleep(0)
        gone.cancel()
        stays = asyncio.create_task(lanes.run("change", work, 2))
        await asyncio.sleep(0)
        gate.set()
        return await stays

    assert 2 == asyncio.run(ask())
