"""An agent that can be run: its genes' workers, its memory, one run after another (projects §4)."""

from __future__ import annotations

import os
import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from rotifer_bridge._compose import compose
from rotifer_bridge._door import Door
from rotifer_bridge._early import launch_in
from rotifer_bridge._gene import refuse_unsigned
from rotifer_bridge._launch import Launched, discard
from rotifer_bridge._node import find_node
from rotifer_bridge._result import RunResult, elapsed_ms, ignore
from rotifer_bridge._runnable import gene_fault
from rotifer_bridge._turns import Turns, given_text
from rotifer_bridge._worker import Worker
from rotifer_bridge.errors import AgentError, GeneError, UsageError
from rotifer_engine import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._gateway import Gateway
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnLog, OnNote, OnStep
    from rotifer_engine import AgentMemory

__all__ = ["TIME_LIMIT", "TIME_LIMIT_MAX", "Agent", "gateway_of", "start_worker"]

TIME_LIMIT = 60.0
"""Seconds a gene has for one run, loading included."""
TIME_LIMIT_MAX = 86_400.0
"""The most that can be asked for [ours]: one day."""


def start_worker(root: str, on_log: OnLog, launched: Launched | None = None) -> Worker:
    """A worker for a project's gene.

    Args:
        root: the project's folder.
        on_log: see `Worker`.
        launched: a process that was started for this already (`launch_early`).
    """
    node = find_node(root)
    return Worker(launched or launch_in(root, node), node, on_log=on_log)


def gateway_of(gene: Gene) -> Callable[[int], Gateway] | None:
    """What opens the gene's way to the network, where it has one (projects §6); see `Worker.load`.

    Raises:
        GeneError: its ``network`` cannot be used.
    """
    if gene.fidelity != "Hybrid" or "network" not in gene.phenotype:
        return None
    from rotifer_bridge._gateway import opener

    return opener(gene)


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
        self._spare = launched
        self._genes: dict[str, Gene] = {}
        self._workers: dict[str, Worker] = {}
        self._gateways: dict[str, Callable[[int], Gateway] | None] = {}
        self._memory: AgentMemory | None = None
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._runner: int | None = None  # the thread that is in `run`
        self._sandbox = True
        self._trusting = False
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
        if self._memory is None:
            self._memory = self.project.memory(self.record)
        return self._memory

    def __del__(self) -> None:
        # Whoever forgets to close leaves processes behind until the program ends.
        if not getattr(self, "_closed", True) and self._owner == os.getpid():
            self.close()

    def close(self) -> None:
        """End the agent's workers; a run that is going on ends with an error. May be repeated."""
        self._closed = True
        for worker in list(self._workers.values()):
            worker.kill()
        if self._runner == threading.get_ident():
            return  # called by the run itself, from on_log or on_note: it closes when it ends
        with self._lock:
            self._close()

    def _close(self) -> None:
        while self._workers:
            self._workers.popitem()[1].close()
        launched, self._spare = self._spare, None
        if launched is not None:
            discard(launched)

    def run(
        self,
        input: Any = ABSENT,  # noqa: A002 - the word of the command line
        *,
        strict: bool = False,
        sandbox: bool = True,
        trust_unsigned: bool = False,
        time_limit: float = TIME_LIMIT,
        on_log: OnLog | None = None,
        on_note: OnNote | None = None,
        on_step: OnStep | None = None,
    ) -> RunResult:
        """Run the agent once, its genes as its composition says.

        Args:
            input: a JSON value; None is null. Left out: an empty object.
            strict: whether an input or a hand-over that does not fit a schema ends the run.
            sandbox: False runs the source of compiled genes under Node.
            trust_unsigned: whether genes that were installed from outside are run.
            time_limit: seconds for each gene.
            on_log: called with a gene's name and each line it prints.
            on_note: called with each warning, a sentence for a person.
            on_step: called with a gene's name when its turn begins.

        Raises:
            AgentError: the genome is empty or the agent is closed.
            GeneError: a gene is missing, has no source, or cannot be made ready.
            RunError: a gene gave no answer; the steps so far are its ``steps``.
            UsageError: the input is not JSON, or does not fit with ``strict``.
        """
        if self._owner != os.getpid():
            raise AgentError(
                f"agent '{self.name}' belongs to the process this one was forked from",
                help="start processes with multiprocessing's 'spawn' or 'forkserver'",
            )
        if self._runner == threading.get_ident():
            raise AgentError(f"agent '{self.name}' is running: its runs cannot be nested")
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
            self._sandbox = sandbox
            self._trusting = trust_unsigned
            try:
                started = perf_counter()
                turns = Turns(
                    self,
                    on_log or ignore,
                    on_note or ignore,
                    on_step or ignore,
                    strict=strict,
                    time_limit=time_limit,
                )
                output = compose(turns, given_text(input))
                kind = self.record.composition["type"]
                return RunResult(self.name, kind, output, turns.steps, elapsed_ms(started))
            finally:
                self._runner = None
                if self._closed:
                    self._close()

    def _gene(self, name: str, note: OnNote) -> Gene:
        gene = self._genes.get(name)
        if gene is None:
            gene = self.project.gene(name, code="E0051")
            for line in gene.notes:
                note(line)
            fault = gene_fault(gene, sandbox=self._sandbox)
            if fault is not None:
                raise GeneError(fault[0], code="E0051", where=gene.folder, help=fault[1])
            self._genes[name] = gene
        if not self._trusting:
            refuse_unsigned(gene)
        return gene

    def _start(self) -> Worker:
        launched, self._spare = self._spare, None
        return start_worker(self.project.root, ignore, launched)

    def _prepare(self, name: str, note: OnNote, time_limit: float) -> None:
        """See that the gene's worker is there, with the gene on its way to it; does not wait."""
        if name in self._workers:
            if self._workers[name].alive:
                self._gene(name, note)  # a warm worker is no reason to trust it
                return
            self._workers.pop(name).close()
        worker = self._start()
        try:
            from rotifer_bridge._transform import file_url, ready
            from rotifer_engine import Caller

            gene = self._gene(name, note)
            entry = gene.entry or ""
            if name not in self._gateways:  # kept: a new worker gets no new minute
                self._gateways[name] = gateway_of(gene)
            worker.load(
                name,
                gene.folder,
                ready(
                    gene.files,
                    gene.folder,
                    node=worker.node.path,
                    cache_dir=self.project.cache_dir,
                    entry=entry,
                    time_limit=time_limit,
                ),
                file_url(gene.folder, entry),
                Door(self.memory, Caller(gene.v2_id, gene.domain), on_fault=note),
                gateway=self._gateways[name],
            )
        except BaseException:
            worker.close()
            raise
        self._workers[name] = worker
