"""The turns of the genes in one run: what `compose` has of an agent's genes (projects §3, §4)."""

from __future__ import annotations

import json
import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rotifer_bridge._failure import REFUSAL, is_refusal, refusal
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._result import Step, elapsed_ms
from rotifer_bridge._text import shown_path
from rotifer_bridge.errors import GeneError, GeneFailed, RunError, UsageError
from rotifer_engine import ABSENT

if TYPE_CHECKING:
    from rotifer_bridge._agent import Agent
    from rotifer_bridge._result import OnLog, OnNote, OnStep
    from rotifer_bridge._worker import Worker

__all__ = ["Turns", "given_text"]

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Turns:
    """The turns of one run: what `compose` has of the agent's genes."""

    def __init__(
        self,
        agent: Agent,
        on_log: OnLog,
        on_note: OnNote,
        on_step: OnStep,
        *,
        strict: bool,
        time_limit: float,
    ) -> None:
        self.record = agent.record
        self.steps: list[Step] = []
        self.note = on_note
        self._agent = agent
        self._on_log = on_log
        self._on_step = on_step
        self._strict = strict
        self._time_limit = time_limit

    def domain(self, name: str) -> str:
        return self._agent._gene(name, self.note).domain  # noqa: SLF001 - the agent's own part

    def prepare(self, name: str) -> None:
        self._agent._prepare(name, self.note, self._time_limit)  # noqa: SLF001

    def run(self, name: str, given: bytes) -> tuple[bytes, Any]:
        self._check(name, "inputSchema", given)
        self._on_step(name)
        started = perf_counter()
        workers = self._agent._workers  # noqa: SLF001
        worker = workers[name]
        try:
            worker.on_log = self._on_log
            text = worker.run(given, time_limit=self._time_limit)
            value = _answer(name, text)
        except BaseException as error:
            self.steps.append(_step(worker, "failed", started))
            if not worker.alive:
                worker.close()
                del workers[name]
            if isinstance(error, RunError):
                error.steps = self.steps
            raise
        self.steps.append(_step(worker, "ok", started))
        return text, value

    def check_output(self, name: str, output: bytes) -> None:
        self._check(name, "outputSchema", output)

    def _check(self, name: str, schema: str, given: bytes) -> None:
        """Check what goes into, or comes out of, a gene against its schema (projects §3)."""
        from rotifer_bridge._schema import faults

        gene = self._agent._genes[name]  # noqa: SLF001
        wanted = gene.phenotype.get(schema)
        what = "input" if schema == "inputSchema" else "output"
        try:
            found = faults(wanted, _parsed(name, given))
        except GeneError as error:
            raise GeneError(
                f"gene '{name}': its {schema} cannot be used: {error.message}",
                code="E0052",
                where=shown_path(os.path.join(gene.folder, "phenotype.json")),
                help=error.help or f"correct the {schema}",
            ) from None
        for fault in found:
            message = f"gene '{name}': the {what} does not fit its {schema}: {fault}"
            if self._strict:
                raise UsageError(message, code="E0052", help="correct it, or run without --strict")
            self.note(message)


def given_text(value: Any) -> bytes:
    try:
        return _dumps({} if value is ABSENT else value).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the input is not a JSON value: {error}") from None


def _parsed(name: str, text: bytes) -> Any:
    try:
        return parse_json(text)
    except NotJSON as error:
        raise GeneFailed(
            f"gene '{name}' answered what is not JSON: {error}", code="E0052"
        ) from None


def _answer(name: str, text: bytes) -> Any:
    """A gene's answer, unless it is a refusal."""
    value = _parsed(name, text)
    if is_refusal(value):
        raise refusal(name, value[REFUSAL])
    return value


def _step(worker: Worker, status: str, started: float) -> Step:
    return Step(worker.name, "node", status, elapsed_ms(started), worker.traffic)
