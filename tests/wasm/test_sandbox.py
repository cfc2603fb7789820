"""A module that runs: its modes, its imports, its limits (wasm-genes §1, §2, §4)."""

from __future__ import annotations

import threading

import pytest

from rotifer_bridge.errors import GeneFailed, RunTimedOut

ECHO = """
(module
  (memory (export "memory") 1)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param i32 i32) (result i32) (local.get 0)))
"""
LOOP = """
(module (memory (export "memory") 1)
  (func (export "express") (param i32 i32) (result i32) (loop (br 0)) (i32.const 0)))
"""


def test_the_input_comes_back(sandbox):
    """The input stands where alloc points to, and a pointer to text is the answer."""
    assert {"a": [1, "é"]} == sandbox.run(ECHO, {"a": [1, "é"]})


def test_without_alloc_the_input_is_at_zero(sandbox):
    """A module without alloc finds its input at the start of its memory."""
    wat = ECHO.replace("alloc", "other")

    assert {"a": 1} == sandbox.run(wat, {"a": 1})


def test_a_byte_order_mark_is_not_handed_over(sandbox):
    """The answer is JSON that any reader takes: the mark before it is not part of it."""
    wat = """(module (memory (export "memory") 1) (data (i32.const 64) "\\ef\\bb\\bf[1]")
      (func (export "express") (param i32 i32) (result i32) (i32.const 64)))"""

    assert b"[1]" == sandbox.load(wat).run(b"{}", time_limit=20)


def test_fuel(sandbox):
    """A loop without an end uses up its fuel, and that is what is said."""
    with pytest.raises(GeneFailed, match="fuel exhausted"):
        sandbox.run(LOOP, fuel=1_000_000)


def test_time(sandbox):
    """A loop without an end is stopped when its time is up."""
    with pytest.raises(RunTimedOut, match="timed out after 50 ms"):
        sandbox.run(LOOP, time_limit=0.05, fuel=10**15)


def test_fuel_that_was_used_is_told(sandbox):
    """After a run the gene says how much fuel it used; the same run uses the same."""
    gene = sandbox.load(ECHO)
    gene.run(b"{}", time_limit=5)
    first = gene.fuel_used
    gene.run(b"{}", time_limit=5)

    assert (first > 0, first) == (True, gene.fuel_used)


def test_fuel_goes_by_the_work(sandbox):
    """A loop of a thousand rounds uses some thousands; one without an end uses all there is."""
    rounds = LOOP.replace(
        "(loop (br 0))",
        "(local $n i32) (loop (local.set $n (i32.add (local.get $n) (i32.const 1)))"
        " (br_if 0 (i32.lt_u (local.get $n) (i32.const 1000))))",
    )
    gene = sandbox.load(rounds)
    gene.run(b"{}", time_limit=20)
    endless = sandbox.load(LOOP, fuel=1_000_000)
    with pytest.raises(GeneFailed):
        endless.run(b"{}", time_limit=20)

    assert 4_000 < gene.fuel_used < 10_000
    assert 1_000_000 == endless.fuel_used


WRITES = """
(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 48))
  (func (export "express") (param i32 i32) (result i32)
    (drop (memory.grow (i32.const 31)))
    (memory.fill (i32.const 0) (i32.const 49) (i32.const 2097152))
    (global.set $n (i32.const 49))
    (i32.store8 (i32.const 101) (i32.const 0))
    (i32.const 100)))
"""
LOOKS = """
(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 48))
  (func (export "express") (param $at i32) (param i32) (result i32)
    (if (i32.ne (memory.grow (i32.const 31)) (i32.const 1)) (then unreachable))
    (local.set $at (i32.const 8))
    (loop $next
      (if (i64.ne (i64.load (local.get $at)) (i64.const 0)) (then unreachable))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 2097152))))
    (i32.store8 (i32.const 100) (global.get $n))
    (i32.const 100)))
"""


def test_nothing_stays(sandbox):
    """A run finds nothing of another's in its memory and globals, be it of its own gene or not."""
    writer, reader = sandbox.load(WRITES), sandbox.load(LOOKS)

    for _ in range(3):
        assert b"1" == writer.run(b"{}", time_limit=20)
        assert b"0" == reader.run(b"{}", time_limit=20)
        assert b"0" == reader.run(b"{}", time_limit=20)


def test_instances_side_by_side(sandbox):
    """Many runs at once, each in a memory of its own."""
    genes = [sandbox.load(wat) for wat in (WRITES, LOOKS) for _ in range(4)]
    answers = []

    def play(gene):
        answers.extend(gene.run(b"{}", time_limit=60) for _ in range(5))

    threads = [threading.Thread(target=play, args=(gene,)) for gene in genes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (20, 20) == (answers.count(b"0"), answers.count(b"1"))
