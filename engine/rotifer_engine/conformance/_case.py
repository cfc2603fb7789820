"""A case: a name, the rule that it checks, and steps from an empty agent on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rotifer_engine.conformance._steps import LAYERS, NOBODY, Step
from rotifer_engine.conformance._values import Kept

__all__ = ["Case", "case"]


class Case(NamedTuple):
    """One case.

    Args:
        name: what must hold, in words; no other case has it.
        rule: the section and the sentence of the rules that it checks.
        steps: what is done, and what must come of it.
        not_through: the doors that cannot say this, and why; as few as possible.
    """

    name: str
    rule: str
    steps: tuple[Step, ...]
    not_through: Mapping[str, str]

    @property
    def is_of_layers(self) -> bool:
        """Whether it is about the layers."""
        return any(step.who == LAYERS for step in self.steps)

    def times(self) -> list[int]:
        """When each step happens, in milliseconds after the beginning."""
        now, times = 0, []
        for step in self.steps:
            if step.call == "wait":
                now += step.request["ms"]
            times.append(now)
        return times


def case(name: str, rule: str, *steps: Step, not_through: Mapping[str, str] | None = None) -> Case:
    """Make a case; times that were left open become those of their steps."""
    beyond = dict(not_through or {})
    if any(step.who == NOBODY for step in steps):
        beyond["http"] = "a token is bound to a v2 identity, so nobody without one can ask"
    if any(step.who == LAYERS for step in steps):
        beyond["node"] = beyond["wasm"] = "a gene has no way to the layers"
    made = Case(name, rule, steps, beyond)
    timed = [
        step._replace(answer=step.answer.at(now)) if isinstance(step.answer, Kept) else step
        for step, now in zip(steps, made.times(), strict=True)
    ]
    return made._replace(steps=tuple(timed))
