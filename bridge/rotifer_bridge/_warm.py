"""What an agent keeps warm between runs: its genes, each with what runs it, and its memory.

A gene runs in a Node process of its own (`Worker`) or, compiled, in the supervisor's sandbox
(`Sandboxed`); from here on either is a `Runner`.
"""

from __future__ import annotations

from rotifer_bridge._door import Door
from rotifer_bridge._early import launch_in
from rotifer_bridge._failure import unserved
from rotifer_bridge._gene import refuse_unsigned
from rotifer_bridge._grants import NO_GRANTS, Grants, fence_of
from rotifer_bridge._inmost import kill_inmost
from rotifer_bridge._launch import Launched, discard
from rotifer_bridge._node import find_node
from rotifer_bridge._result import ignore
from rotifer_bridge._runnable import gene_fault
from rotifer_bridge._sandbox import WALLS
from rotifer_bridge._starts import Start
from rotifer_bridge._worker import Worker
from rotifer_bridge.errors import GeneError
from rotifer_engine.quick import Protocol

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rotifer_bridge._door import ClosedDoor
    from rotifer_bridge._gateway import Gateway, Traffic
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._inspect import Inspection
    from rotifer_bridge._node import Node
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord
    from rotifer_bridge._result import OnLog, OnNote
    from rotifer_engine import AgentMemory

__all__ = ["Runner", "WarmGenes", "gateway_of", "hand_over", "start_worker"]

_DEBUGGED = -1  # in the place of a branch: a debugged gene has a process of its own


class Runner(Protocol):
    """What runs one gene, again and again, for one thread at a time."""

    name: str
    on_log: OnLog

    @property
    def engine(self) -> str:
        """``node`` or ``wasm``."""

    @property
    def traffic(self) -> Traffic | None:
        """What the last run asked of the network; None for a gene that cannot."""

    @property
    def fuel(self) -> int | None:
        """What the last run used of its fuel; None under Node, which has none."""

    @property
    def alive(self) -> bool:
        """Whether it can take another run."""

    def run(self, given: bytes, *, time_limit: float) -> bytes:
        """Run the gene once; JSON in, JSON out."""

    def kill(self) -> None:
        """End the run that is going on, if any; for any thread."""

    def close(self) -> None:
        """Give everything back. May be repeated."""


def start_worker(
    project: Project,
    gene: Gene,
    on_log: OnLog,
    *,
    launched: Launched | None = None,
    grants: Grants = NO_GRANTS,
    on_note: OnNote = ignore,
    inspection: Inspection | None = None,
) -> Worker:
    """A worker for a project's gene.

    Args:
        project: whose gene it is.
        gene: the gene.
        on_log: see `Worker`.
        launched: a process that was started already (`launch_early`); it is used if it may touch
            just what this gene may, and ended if not.
        grants: what the deployer lets the gene do.
        on_note: told, once in a project, that this machine has weaker walls than it could.
        inspection: how the gene is debugged, if it is; its process is then a new one.

    Raises:
        UsageError: a grant cannot be kept, or the debugger's port is taken.
    """
    try:
        fence = fence_of(project.root, project.genes_dir, gene.name, grants)
        if launched is not None and (launched.fence != fence or inspection is not None):
            discard(launched)
            launched = None
        node = find_node(project.root)
        flags = () if inspection is None else inspection.flags(node)
    except BaseException:
        if launched is not None:
            discard(launched)
        raise
    if launched is not None:
        return _served(launched, project, node, on_log, on_note)
    start = Start()
    try:
        process = launch_in(project.root, node, flags, fence=fence)
        process.on_hello = start.over
        return _served(process, project, node, on_log, on_note)
    except BaseException:
        start.over()
        raise


def _served(
    process: Launched, project: Project, node: Node, on_log: OnLog, on_note: OnNote
) -> Worker:
    if process.wall != WALLS[0]:
        from rotifer_bridge._sandbox_note import weaker

        line = weaker(project.root, node.path, process.wall)
        if line is not None:
            on_note(line)
    return Worker(process, node, on_log=on_log)


def hand_over(
    worker: Worker,
    project: Project,
    gene: Gene,
    door: Callable[[], Door | ClosedDoor],
    *,
    exports: Sequence[str] = ("express",),
    gateway: Callable[[int], Gateway] | None,
    time_limit: float,
    inspection: Inspection | None,
) -> None:
    """Make a gene's sources ready and give them to its worker; does not wait for it to load them.

    A worker that cannot be given its gene is closed.

    Args:
        worker: the gene's process.
        project: whose gene it is.
        gene: the gene.
        door: gives it its way to a memory: while the gene is loaded already.
        exports: the names that its function may have, in order.
        gateway: see `gateway_of`.
        time_limit: seconds that making it ready may take.
        inspection: how it is debugged, if it is.

    Raises:
        GeneError: its sources cannot run.
        RunError: this process has no descriptor for what it takes.
    """
    from rotifer_bridge._transform import file_url, ready

    entry = gene.entry or ""
    try:
        files = ready(
            gene.files,
            gene.folder,
            node=worker.node.path,
            cache_dir=project.cache_dir,
            entry=entry,
            time_limit=time_limit,
        )
        url = file_url(gene.folder, entry)  # it has one: what has none was refused above
        worker.load(
            gene.name,
            gene.folder,
            files if inspection is None else inspection.stopping(files, url),
            url,
            exports=exports,
            gateway=gateway,
        )
        worker.admit(door())
    except BaseException as error:
        worker.close()
        if isinstance(error, OSError):
            raise unserved(error) from error
        raise


def gateway_of(gene: Gene, grants: Grants = NO_GRANTS) -> Callable[[int], Gateway] | None:
    """What opens the gene's way to the network, where it has one (projects §6); see `Worker.load`.

    Args:
        gene: the gene.
        grants: what the deployer lets it do; granted hosts open a way for any gene.

    Raises:
        GeneError: its ``network`` cannot be used.
    """
    own = gene.fidelity == "Hybrid" and "network" in gene.phenotype
    if not own and not grants.hosts:
        return None
    from rotifer_bridge._gateway import opener

    return opener(gene, own=own, hosts=grants.hosts)


class WarmGenes:
    """The genes of one agent. One thread at a time may call it, but for `kill`.

    Args:
        project: the agent's project.
        record: the agent's record.
        launched: a worker's process that is starting already, for the first gene.
    """

    def __init__(self, project: Project, record: AgentRecord, launched: Launched | None) -> None:
        self.sandbox = True
        """Whether compiled genes run as WASM; if not, their sources run under Node."""
        self.trusting = False
        """Whether genes that were installed from outside run under Node."""
        self.inspection: Inspection | None = None
        """How a gene of the run that is going on is debugged, if one is."""
        self.note: OnNote = ignore
        """Called with each warning of the run that is going on."""
        self._grants = record.grants
        self._project = project
        self._record = record
        self._spare = launched
        self._memory: AgentMemory | None = None
        self._genes: dict[str, Gene] = {}
        self._runners: dict[tuple[str, bool, int], Runner] = {}
        self._gateways: dict[str, Callable[[int], Gateway] | None] = {}

    @property
    def memory(self) -> AgentMemory:
        """The agent's memory."""
        if self._memory is None:
            self._memory = self._project.memory(self._record)
        return self._memory

    def grant(self, more: Grants) -> None:
        """Let the genes do this beside what the record grants, from the next run on."""
        grants = self._record.grants + more
        if grants != self._grants:  # what a process may touch is fixed when it starts
            while self._runners:
                self._runners.popitem()[1].close()
            self._gateways.clear()
            self._grants = grants

    def gene(self, name: str) -> Gene:
        """The gene of this name, read when it is first asked for.

        Raises:
            GeneError: there is none, it cannot be run, or nobody vouches for it.
        """
        gene = self._genes.get(name)
        if gene is None:
            gene = self._project.gene(name, code="E0051")
            for line in gene.notes:
                self.note(line)
        fault = gene_fault(gene, sandbox=self.sandbox)
        if fault is not None:
            raise GeneError(fault[0], code="E0051", where=gene.folder, help=fault[1])
        self._genes[name] = gene
        if not self.trusting:
            refuse_unsigned(gene, sandbox=self.sandbox)
        return gene

    def compiled(self, name: str) -> bool:
        """Whether the gene runs as WASM in this run; raises as `gene` does."""
        return self.gene(name).compiled and self.sandbox

    def runner(self, name: str, time_limit: float, *, branch: int = 0) -> Runner:
        """What runs the gene, with the gene on its way to it; does not wait for Node.

        Args:
            name: the gene's name.
            time_limit: seconds for making its sources ready.
            branch: tells apart what runs the same compiled gene at the same time.
        """
        gene = self.gene(name)  # a warm runner is no reason to trust it
        compiled = gene.compiled and self.sandbox
        inspection = None
        if self.inspection is not None and self.inspection.gene == name:
            inspection, branch = self.inspection, _DEBUGGED
        place = (name, compiled, branch)
        runner = self._runners.get(place)
        if runner is not None:
            if runner.alive:
                return runner
            self._runners.pop(place).close()
        runner = self._runners[place] = (
            self._compiled(gene) if compiled else self._under_node(gene, time_limit, inspection)
        )
        return runner

    def kill(self) -> None:
        """End the runs that are going on; for any thread. Whoever waits for them is told."""
        for runner in list(self._runners.values()):
            runner.kill()

    def close(self) -> None:
        """End all. May be repeated."""
        nodes = [runner for runner in self._runners.values() if isinstance(runner, Worker)]
        if len(nodes) > 1:  # a process takes milliseconds to go: let them do it together
            for node in nodes:
                if node.alive:
                    kill_inmost(node.pid)
        while self._runners:
            self._runners.popitem()[1].close()
        launched, self._spare = self._spare, None
        if launched is not None:
            discard(launched)

    def _door(self, gene: Gene) -> Door:
        from rotifer_engine import Caller

        return Door(self.memory, Caller(gene.v2_id, gene.domain), on_fault=self._fault)

    def _fault(self, line: str) -> None:
        self.note(line)  # of the run that is going on: a door outlives the one it was made in

    def _compiled(self, gene: Gene) -> Runner:
        from rotifer_bridge._sandboxed import Sandboxed

        launched, self._spare = self._spare, None
        if launched is not None:
            discard(launched)  # it was started for a first gene that has no use for it
        return Sandboxed(
            gene, self._door(gene), cache_dir=self._project.cache_dir, agent_id=self._record.id
        )

    def end_inspection(self) -> None:
        """End what was started for a debugger: the next run has nothing to wait for."""
        inspection, self.inspection = self.inspection, None
        if inspection is not None:
            runner = self._runners.pop((inspection.gene, False, _DEBUGGED), None)
            if runner is not None:
                runner.close()

    def _under_node(self, gene: Gene, time_limit: float, inspection: Inspection | None) -> Worker:
        if gene.name not in self._gateways:  # kept: a new worker gets no new minute
            self._gateways[gene.name] = gateway_of(gene, self._grants)
        launched, self._spare = self._spare, None
        worker = start_worker(
            self._project,
            gene,
            ignore,
            launched=launched,
            grants=self._grants,
            on_note=self.note,
            inspection=inspection,
        )
        hand_over(
            worker,
            self._project,
            gene,
            lambda: self._door(gene),
            gateway=self._gateways[gene.name],
            time_limit=time_limit,
            inspection=inspection,
        )
        return worker
