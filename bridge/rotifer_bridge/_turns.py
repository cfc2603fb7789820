"""The turns of the genes in one run: what `compose` does with them (projects §3, §4)."""

from __future__ import annotations

from time import perf_counter

from rotifer_bridge._failure import REFUSAL, is_refusal, refusal, unreadable
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._result import Step, elapsed_ms
from rotifer_bridge.errors import GeneError, RunError, UsageError
from rotifer_engine import ABSENT
from rotifer_engine.quick import encoder

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rotifer_bridge._branches import Post
    from rotifer_bridge._compose import Answer
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnLog, OnStep
    from rotifer_bridge._warm import Runner, WarmGenes

__all__ = ["Turns", "given_text"]

_dumps = encoder(allow_nan=False)


class Turns:
    """The turns of one run.

    Args:
        record: the agent's record.
        warm: the agent's genes; what ``note`` they have is told of this run's warnings.
        on_log: called with a gene's name and each line it prints.
        on_step: called with a gene's name when its turn begins.
        strict: whether what does not fit a schema ends the run.
        time_limit: seconds for each gene.
    """

    def __init__(
        self,
        record: AgentRecord,
        warm: WarmGenes,
        on_log: OnLog,
        on_step: OnStep,
        *,
        strict: bool,
        time_limit: float,
    ) -> None:
        self.record = record
        self.steps: list[Step] = []
        self.note = warm.note
        self._warm = warm
        self._on_log = on_log
        self._on_step = on_step
        self._strict = strict
        self._last: tuple[bytes, Any] = (b"", None)  # an answer is the next one's input
        self._time_limit = time_limit

    def domain(self, name: str) -> str:
        return self._warm.gene(name).domain

    def compiled(self, name: str) -> bool:
        return self._warm.compiled(name)

    def prepare(self, name: str) -> None:
        self._warm.runner(name, self._time_limit)

    def run(self, name: str, given: bytes) -> Answer:
        self._check(name, "inputSchema", given)
        self._on_step(name)
        runner = self._warm.runner(name, self._time_limit)
        runner.on_log = self._on_log
        step, outcome = self._turn(runner, given)
        self.steps.append(step)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def together(self, names: Sequence[str], given: bytes) -> list[Answer | GeneError | RunError]:
        from rotifer_bridge._branches import together

        # A gene that stands in the genome twice runs twice at the same time.
        runners: dict[int, Runner] = {}
        outcomes: dict[int, Answer | GeneError | RunError] = {}
        for branch, name in enumerate(names):
            try:
                runners[branch] = self._warm.runner(name, self._time_limit, branch=branch)
            except GeneError as error:  # its module cannot be used
                outcomes[branch] = error
        for name in dict.fromkeys(names):
            self._check(name, "inputSchema", given)
        ended: dict[int, tuple[Step, Answer | BaseException]] = {}

        def task(branch: int) -> Callable[[Post], None]:
            runner = runners[branch]

            def run(post: Post) -> None:
                post(self._on_step)(runner.name)
                runner.on_log = post(self._on_log)
                self._warm.note = post(self.note)  # the same for every branch
                ended[branch] = self._turn(runner, given)

            return run

        try:
            together([task(branch) for branch in runners], stop=self._warm.kill)
        finally:
            self._warm.note = self.note
            self.steps += [ended[branch][0] for branch in sorted(ended)]
        for branch in runners:
            outcome = ended[branch][1]
            if isinstance(outcome, BaseException) and not isinstance(outcome, RunError):
                raise outcome
            outcomes[branch] = outcome
        return [outcomes[branch] for branch in range(len(names))]

    def _turn(self, runner: Runner, given: bytes) -> tuple[Step, Answer | BaseException]:
        """One run of one gene: its step, and its answer or why there is none."""
        started = perf_counter()
        outcome: Answer | BaseException
        try:
            text = runner.run(given, time_limit=self._time_limit)
            outcome = self._last = text, _answer(runner.name, text)
        except BaseException as error:  # noqa: BLE001 - raised by the caller, once its step is kept
            outcome = error
        why = str(outcome) if isinstance(outcome, BaseException) else None
        status = "ok" if why is None else "failed"
        took = elapsed_ms(started)
        step = Step(runner.name, runner.engine, status, took, runner.traffic, runner.fuel, why)
        return step, outcome

    def check_output(self, name: str, output: bytes) -> None:
        self._check(name, "outputSchema", output)

    def _check(self, name: str, schema: str, given: bytes) -> None:
        """Check what goes into, or comes out of, a gene against its schema (projects §3)."""
        from rotifer_bridge._schema import misfits

        last, value = self._last
        if last is not given:
            value = _parsed(name, given)
        for message in misfits(self._warm.gene(name), schema, value):
            if self._strict:
                raise UsageError(message, code="E0052", help="correct it, or run without --strict")
            self.note(message)


def given_text(value: Any) -> bytes:
    """The input of a run as JSON; an empty object where it was left out.

    Raises:
        UsageError: it is no JSON value.
    """
    try:
        return _dumps({} if value is ABSENT else value).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the input is not a JSON value: {error}") from None


def _parsed(name: str, text: bytes) -> Any:
    try:
        return parse_json(text)
    except NotJSON as error:
        raise unreadable(name, error) from None


def _answer(name: str, text: bytes) -> Any:
    """A gene's answer, unless it is a refusal."""
    value = _parsed(name, text)
    if is_refusal(value):
        raise refusal(name, value[REFUSAL])
    return value
