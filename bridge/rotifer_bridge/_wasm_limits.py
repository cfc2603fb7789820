"""What a run of a WASM gene may use, and how it is told that it used it up (wasm-genes §4).

What happened is told by the code of the trap, never by searching a text.
"""

from __future__ import annotations

from typing import NamedTuple

from rotifer_bridge.errors import GeneFailed, RunTimedOut

__all__ = [
    "FUEL",
    "MAX_OUTPUT",
    "MEMORY_BYTES",
    "PAGE",
    "TABLES",
    "TABLE_ELEMENTS",
    "Limits",
    "timed_out",
    "trapped",
]

PAGE = 65_536
"""Bytes in a page of WASM memory."""
FUEL = 500_000_000
MEMORY_BYTES = 256 * 1024 * 1024
MAX_OUTPUT = 64 * 1024 * 1024
"""The largest output of a gene, in bytes of JSON [ours]; as of a gene under Node."""
TABLES = 8
"""[ours] What else takes memory of ours: tables, eight bytes an element."""
TABLE_ELEMENTS = 1_000_000


class Limits(NamedTuple):
    """What one run may use; its time comes with the run."""

    fuel: int = FUEL
    """For instantiation, ``alloc`` and ``express`` together."""
    memory_bytes: int = MEMORY_BYTES


# By wasmtime's name of the code: what it means to an author.
_TRAPS = {
    "STACK_OVERFLOW": "stack overflow: it calls itself without an end, or holds too much on it",
    "MEMORY_OUT_OF_BOUNDS": "it reached outside its memory",
    "TABLE_OUT_OF_BOUNDS": "it reached outside a table",
    "INDIRECT_CALL_TO_NULL": "it called a null function pointer",
    "BAD_SIGNATURE": "it called a function pointer as a function of another type",
    "INTEGER_OVERFLOW": "an integer overflowed",
    "INTEGER_DIVISION_BY_ZERO": "it divided by zero",
    "BAD_CONVERSION_TO_INTEGER": "it made an integer of a number that is none",
    "UNREACHABLE": "it gave up: 'unreachable', which is what a panic or an abort is compiled to",
}


def trapped(
    gene: str, code: str | None, where: str | None, *, limits: Limits, memory: int
) -> GeneFailed:
    """The error for a trap.

    Args:
        gene: the gene's name.
        code: wasmtime's name of the trap's code; None for a trap without one.
        where: the function it came from, if that has a name.
        limits: the run's.
        memory: how large the gene's memory was, in bytes.
    """
    if code == "OUT_OF_FUEL":
        return GeneFailed(
            f"gene '{gene}': fuel exhausted: it used all {limits.fuel:,} units of its run",
            code="E0052",
            help="look for a loop without an end, or give the gene less to do in one run",
        )
    at_most = limits.memory_bytes // PAGE * PAGE
    if code == "UNREACHABLE" and memory >= at_most:
        return GeneFailed(
            f"gene '{gene}': memory limit: it gave up with all of its {at_most:,} bytes in use",
            code="E0052",
            help="work on smaller pieces; memory.grow past the limit answers -1",
        )
    place = f" in '{where[:200]}'" if where else ""
    told = _TRAPS.get(code or "", f"trap {code}")
    full = code == "UNREACHABLE" and memory * 2 > at_most
    return GeneFailed(
        f"gene '{gene}' failed{place}: {told}",
        code="E0052",
        help=f"its memory had {memory:,} bytes, and memory.grow past {at_most:,} answers -1"
        if full
        else None,
    )


def timed_out(gene: str, time_limit: float) -> RunTimedOut:
    """The error for a run whose time is used up.

    Args:
        gene: the gene's name.
        time_limit: seconds.
    """
    return RunTimedOut(
        f"gene '{gene}' timed out after {round(time_limit * 1000)} ms",
        code="E0052",
        help="look for a loop without an end, or give it more time",
    )
