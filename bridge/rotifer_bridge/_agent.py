"""An agent that can be run: its genes' workers, its memory, one run after another (projects §4)."""

from __future__ import annotations

import os
import threading
from time import perf_counter

from rotifer_bridge._compose import compose
from rotifer_bridge._grants import parse_grants
from rotifer_bridge._result import RunResult, elapsed_ms, ignore
from rotifer_bridge._turns import Turns, given_text
from rotifer_bridge._warm import WarmGenes
from rotifer_bridge.errors import AgentError, RotiferError, UsageError
from rotifer_engine import ABSENT

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from typing import Any, Self

    from rotifer_bridge._inspect import Inspection
    from rotifer_bridge._launch import Launched
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnLog, OnNote, OnStep
    from rotifer_engine import AgentMemory

__all__ = ["TIME_LIMIT", "TIME_LIMIT_MAX", "Agent"]

TIME_LIMIT = 60.0
"""Seconds a gene has for one run, loading included."""
TIME_LIMIT_MAX = 86_400.0
"""The most that can be asked for [ours]: one day."""


class Agent:
    """An agent of a project. Its workers stay warm between runs; ``close`` ends them.

    Runs of one ``Agent`` take turns. The genes are read when they first run: make a new ``Agent``
    to pick up a change of their files.

    Args:
        project: the project it belongs to.
        record: its record, read and checked.
        launched: a worker's process that is starting already, for the first gene.
    """

    def __init__(
        self, project: Project, record: AgentRecord, *, launched: Launched | None = None
    ) -> None:
        self.project = project
        self.record = record
        self._warm = WarmGenes(project, record, launched)
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._runner: int | None = None  # the thread that is in `run`
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.record.name

    @property
    def memory(self) -> AgentMemory:
        """The agent's memory, as the deployer sees it (memory §10)."""
        return self._warm.memory

    def __del__(self) -> None:
        # Whoever forgets to close leaves processes behind until the program ends.
        if not getattr(self, "_closed", True) and self._owner == os.getpid():
            self.close()

    def close(self) -> None:
        """End the agent's workers; a run that is going on ends with an error. May be repeated."""
        self._closed = True
        self._warm.kill()
        if self._runner == threading.get_ident():
            return  # called by the run itself, from on_log or on_note: it closes when it ends
        with self._lock:
            self._warm.close()

    def run(
        self,
        input: Any = ABSENT,  # noqa: A002 - the word of the command line
        *,
        strict: bool = False,
        sandbox: bool = True,
        trust_unsigned: bool = False,
        time_limit: float = TIME_LIMIT,
        grants: dict[str, list[str]] | None = None,
        inspect: str | None = None,
        inspect_port: int | None = None,
        on_log: OnLog | None = None,
        on_note: OnNote | None = None,
        on_step: OnStep | None = None,
    ) -> RunResult:
        """Run the agent once, its genes as its composition says.

        Args:
            input: a JSON value; None is null. Left out: an empty object.
            strict: whether an input or a hand-over that does not fit a schema ends the run.
            sandbox: False runs the source of compiled genes under Node.
            trust_unsigned: whether genes that were installed from outside are run under Node.
            time_limit: seconds for each gene.
            grants: what the genes may do in this run beside what the record grants: lists under
                ``read``, ``write`` and ``net`` (docs/security.md).
            inspect: the gene that Node's debugger is opened on; nothing is limited in time then.
            inspect_port: where the debugger comes to, on 127.0.0.1; 9229 if not given.
            on_log: called with a gene's name and each line it prints.
            on_note: called with each warning, a sentence for a person.
            on_step: called with a gene's name when its turn begins.

        Raises:
            AgentError: the genome is empty or the agent is closed.
            GeneError: a gene is missing, has no source, or cannot be made ready.
            RunError: a gene gave no answer.
            UsageError: a grant cannot be kept; the gene cannot be debugged; the input is not JSON,
                or does not fit with ``strict``.
            Whichever it is, the steps so far are its ``steps``.
        """
        if self._owner != os.getpid():
            raise AgentError(
                f"agent '{self.name}' belongs to the process this one was forked from",
                help="start processes with multiprocessing's 'spawn' or 'forkserver'",
            )
        if self._runner == threading.get_ident():
            raise AgentError(
                f"agent '{self.name}' is running: its runs cannot be nested",
                help="start the next run when this one has answered, or run another agent",
            )
        seconds: object = time_limit  # whatever the caller thought would do
        if not (isinstance(seconds, (int, float)) and 0 < seconds <= TIME_LIMIT_MAX):
            raise UsageError(
                f"the time limit is {time_limit!r}; it is seconds, more than 0 and at most "
                f"{TIME_LIMIT_MAX:,.0f}"
            )
        with self._lock:
            if self._closed:
                raise AgentError(
                    f"agent '{self.name}' is closed", help="get it anew from its project"
                )
            self._runner = threading.get_ident()
            warm = self._warm
            warm.sandbox, warm.trusting, warm.note = sandbox, trust_unsigned, on_note or ignore
            try:
                warm.grant(parse_grants(grants))
                if inspect is not None:
                    warm.inspection = self._inspection(inspect, inspect_port)
                    time_limit = TIME_LIMIT_MAX
                started = perf_counter()
                turns = Turns(
                    self.record,
                    warm,
                    on_log or ignore,
                    on_step or ignore,
                    strict=strict,
                    time_limit=time_limit,
                )
                try:
                    output = compose(turns, given_text(input))
                except RotiferError as error:
                    error.steps = turns.steps
                    raise
                kind = self.record.composition["type"]
                return RunResult(self.name, kind, output, turns.steps, elapsed_ms(started))
            finally:
                warm.end_inspection()
                self._runner = None
                if self._closed:
                    self._warm.close()

    def _inspection(self, gene: str, port: int | None) -> Inspection:
        from rotifer_bridge._inspect import DEFAULT_PORT, Inspection
        from rotifer_bridge._names import shown

        if gene not in self.record.genome:
            raise UsageError(
                f"there is no gene {shown(gene)} in agent '{self.name}' to debug",
                help=f"its genes are {', '.join(self.record.genome)}",
            )
        inspection = Inspection(gene, DEFAULT_PORT if port is None else port)
        # Before the first gene runs: what they do stays done.
        inspection.refuse_compiled(
            compiled=self._warm.compiled(gene), source=self._warm.gene(gene).entry is not None
        )
        return inspection
