"""Several supervisors on one server: no lost update, the quota kept, the records in order."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest
from tests.engine.conftest import AGENT

from rotifer_engine import replay

QUOTA = 400
WORKER = os.path.join(os.path.dirname(__file__), "worker.py")


@pytest.fixture
def start(postgres_url):
    """Start supervisors; they are ended at the end."""
    started = []

    def start(letter, count):
        started.append(
            subprocess.Popen(
                [sys.executable, WORKER, postgres_url, AGENT, letter, str(count), str(QUOTA)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
        worker.wait()
        worker.stdin.close()
        worker.stdout.close()


@pytest.mark.parametrize(
    "calls", [1_000, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
def test_mixed_calls_of_four_supervisors(world, sql, start, calls):
    """Their counters are exact, usage never exceeds the quota, and the log tells it as it was."""
    workers = [start(letter, calls // 4) for letter in "abcd"]
    for worker in workers:
        assert "ready\n" == worker.stdout.readline()
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    memory = world.agent(quota_bytes=QUOTA)
    most = 0
    while any(worker.poll() is None for worker in workers):
        most = max(most, memory.usage())
        with contextlib.suppress(subprocess.TimeoutExpired):  # they need the processors
            workers[0].wait(0.02)
    results = [json.loads(worker.stdout.readline()) for worker in workers]

    assert 0 < most <= QUOTA
    assert calls == sum(sum(result["answered"].values()) for result in results)
    for letter, result in zip("abcd", results, strict=True):
        found = sql("SELECT value FROM rotifer.entry WHERE key = %s", f"own/{letter}".encode())
        assert result["counted"] > 0
        assert [(str(result["counted"]).encode(),)] == found
    assert [] == memory.check().findings

    numbers = sql("SELECT audit_order FROM rotifer.audit ORDER BY audit_order")
    assert list(range(1, len(numbers) + 1)) == [number for (number,) in numbers]
    there = set()
    for line in world.lines():  # in the order of the numbers: as it can only have happened
        if line["action"] == "memory.create":
            assert line["key"] not in there
            there.add(line["key"])
        else:
            assert line["key"] in there
            if line["action"] != "memory.update":
                there.remove(line["key"])
    assert there == set(world.keys()) == replay(world.raw_lines())[AGENT]


def test_a_forked_child(world, a):
    """It has connections of its own, and those of its parent go on."""
    world.memory.write(a, "k", b"1", "CACHE")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            world.memory.write(a, "k", b"2", "CACHE")
            code = 0 if world.memory.read(a, "k").value == b"2" else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert 0 == os.waitstatus_to_exitcode(status)
    assert b"2" == world.memory.read(a, "k").value
    assert b"3" == world.memory.write(a, "k", b"3", "CACHE").value
