"""A module that runs: its modes, its imports, its limits (wasm-genes §1, §2, §4)."""

from __future__ import annotations

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
