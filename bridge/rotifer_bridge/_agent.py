"""An agent that can be run: its genes' workers, its memory, one run after another (projects §4)."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rotifer_bridge._door import Door
from rotifer_bridge._early import launch_in
from rotifer_bridge._failure import REFUSAL, is_refusal, refusal
from rotifer_bridge._gene import refuse_unsigned
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._launch import Launched, discard
from rotifer_bridge._node import find_node
from rotifer_bridge._text import shown_path
from rotifer_bridge._worker import Worker
from rotifer_bridge.errors import (
    AgentError,
    CompositionFailed,
    GeneError,
    GeneFailed,
    RunError,
    UsageError,
)
from rotifer_engine import ABSENT

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord
    from rotifer_engine import AgentMemory

__all__ = ["TIME_LIMIT", "TIME_LIMIT_MAX", "Agent", "RunResult", "Step", "start_worker"]

TIME_LIMIT = 60.0
"""Seconds a gene has for one run, loading included."""
TIME_LIMIT_MAX = 86_400.0
"""The most that can be asked for [ours]: one day."""

OnLog = Callable[[str, str], object]
OnNote = Callable[[str], object]

_IN_ORDER = frozenset({"Par", "Cond", "Try"})

_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Step(NamedTuple):
    """One gene's part in a run."""

    gene: str
    engine: str
    """``node``."""
    status: str
    """``ok`` or ``failed``."""
    duration_ms: float


class RunResult(NamedTuple):
    """What a run gave."""

    agent: str
    composition: str
    output: Any
    """The last gene's answer, as Python has JSON."""
    steps: list[Step]
    duration_ms: float

    def to_json(self) -> dict[str, Any]:
        """The document that ``agent run --json`` prints."""
        return {
            "agent": self.agent,
            "composition": self.composition,
            "output": self.output,
            "steps": [
                {
                    "gene": step.gene,
                    "engine": step.engine,
                    "status": step.status,
                    "durationMs": step.duration_ms,
                }
                for step in self.steps
            ],
            "durationMs": self.duration_ms,
        }


def start_worker(root: str, on_log: OnLog, launched: Launched | None = None) -> Worker:
    """A worker for a project's gene.

    Args:
        root: the project's folder.
        on_log: see `Worker`.
        launched: a process that was started for this already (`launch_early`).
    """
    node = find_node(root)
    return Worker(launched or launch_in(root, node), node, on_log=on_log)


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
    ) -> RunResult:
        """Run the agent once: the genes in order, each one's answer the next one's input.

        Args:
            input: a JSON value; None is null. Left out: an empty object.
            strict: whether an input or a hand-over that does not fit a schema ends the run.
            sandbox: False runs the source of compiled genes under Node.
            trust_unsigned: whether genes that were installed from outside are run.
            time_limit: seconds for each gene.
            on_log: called with a gene's name and each line it prints.
            on_note: called with each warning, a sentence for a person.

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
                return self._run(
                    _given(input),
                    on_note or _ignore,
                    on_log or _ignore,
                    strict=strict,
                    time_limit=time_limit,
                )
            finally:
                self._runner = None
                if self._closed:
                    self._close()

    def _run(
        self, given: bytes, note: OnNote, log: OnLog, *, strict: bool, time_limit: float
    ) -> RunResult:
        started = perf_counter()
        composition = self._composition(note)
        genome = self.record.genome
        steps: list[Step] = []
        self._prepare(genome[0], note, time_limit)
        value: Any = None
        for index, name in enumerate(genome):
            if index + 1 < len(genome):
                self._prepare(
                    genome[index + 1], note, time_limit
                )  # its Node starts while this gene works
            self._check(name, "inputSchema", given, note, strict=strict)
            step_started = perf_counter()
            try:
                worker = self._workers[name]
                worker.on_log = log
                given = worker.run(given, time_limit=time_limit)
                value = _answer(name, given)
            except BaseException as error:
                steps.append(_step(name, "failed", step_started))
                used = self._workers.get(name)
                if used is not None and not used.alive:
                    used.close()
                    del self._workers[name]
                if isinstance(error, RunError):
                    error.steps = steps
                raise
            steps.append(_step(name, "ok", step_started))
        self._check(genome[-1], "outputSchema", given, note, strict=strict)
        return RunResult(self.name, composition, value, steps, _elapsed_ms(started))

    def _composition(self, note: OnNote) -> str:
        """The composition's name, once it is sure that it can be run."""
        kind: str = self.record.composition["type"]
        if not self.record.genome:
            raise AgentError(
                f"agent '{self.name}' has an empty genome",
                code="E0053",
                where=self.record.path,
                help="create it again with genes: rotifer agent create NAME -g GENE",
            )
        if kind == "TryPool":
            raise CompositionFailed(
                f"agent '{self.name}': TryPool compositions are not run by this version",
                code="E0053",
                help="use Seq, or run one of the genes as an agent of its own",
            )
        if kind in _IN_ORDER and len(self.record.genome) > 1:
            note(
                f"{kind}: not every gene is compiled, so all {len(self.record.genome)} genes run "
                "in order, each one's output the next one's input"
            )
        return kind

    def _gene(self, name: str, note: OnNote) -> Gene:
        gene = self._genes.get(name)
        if gene is None:
            gene = self.project.gene(name, code="E0051")
            for line in gene.notes:
                note(line)
            if gene.compiled and self._sandbox:
                raise GeneError(
                    f"gene '{name}' is compiled to WASM, which this version does not run",
                    code="E0051",
                    where=gene.folder,
                    help="run its source under Node with --no-sandbox",
                )
            if gene.entry is None:
                raise GeneError(
                    f"gene '{name}' has no source",
                    code="E0051",
                    where=gene.folder,
                    help="write index.ts (or index.js, index.mjs) with an 'express' function",
                )
            self._genes[name] = gene
        if not self._trusting:
            refuse_unsigned(gene)
        return gene

    def _start(self) -> Worker:
        launched, self._spare = self._spare, None
        return start_worker(self.project.root, _ignore, launched)

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
            )
        except BaseException:
            worker.close()
            raise
        self._workers[name] = worker

    def _check(self, name: str, schema: str, given: bytes, note: OnNote, *, strict: bool) -> None:
        """Check what goes into, or comes out of, a gene against its schema (projects §3)."""
        from rotifer_bridge._schema import faults

        gene = self._genes[name]
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
            if strict:
                raise UsageError(message, code="E0052", help="correct it, or run without --strict")
            note(message)


def _given(value: Any) -> bytes:
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


def _step(name: str, status: str, started: float) -> Step:
    return Step(name, "node", status, _elapsed_ms(started))


def _elapsed_ms(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def _ignore(*_: object) -> None:
    """Nobody asked to be told."""
