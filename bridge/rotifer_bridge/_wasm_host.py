"""What a host function is: a type, and what answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["HostFunction", "signature"]


class HostFunction(NamedTuple):
    """One function that a module may import.

    It gets the run and the module's arguments as unsigned numbers. It checks every pointer, and
    raises only what is for our own caller.
    """

    parameters: str
    """A letter each: ``i`` for i32, ``I`` for i64."""
    result: str
    """The same, or nothing."""
    call: Callable[..., Any]
    """Called with the run and the arguments; of an i64 it gets the lower half."""


def signature(function: HostFunction) -> str:
    """The type as an author writes it."""
    words = {"i": "i32", "I": "i64"}
    taken = ", ".join(words[letter] for letter in function.parameters)
    return f"({taken}) -> {words.get(function.result, '()')}"
