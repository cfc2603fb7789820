"""One gene without an agent: what ``run`` and ``test`` run it with (projects §3, §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from rotifer_bridge._failure import REFUSAL, is_refusal, refusal, unreadable
from rotifer_bridge._gene import refuse_unsigned
from rotifer_bridge._grants import NO_GRANTS, Grants
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._result import ignore
from rotifer_bridge._runnable import gene_fault
from rotifer_bridge._warm import gateway_of, hand_over, start_worker
from rotifer_bridge.errors import GeneError, UsageError
from rotifer_engine.quick import encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._door import ClosedDoor, Door
    from rotifer_bridge._gateway import Gateway
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._inspect import Inspection
    from rotifer_bridge._project import Project
    from rotifer_bridge._result import OnNote
    from rotifer_bridge._sandboxed import Sandboxed
    from rotifer_bridge._worker import Worker

__all__ = ["ENTRY_POINTS", "Solo", "check_runnable"]

ENTRY_POINTS = ("express", "default", "main")
"""The names that the function may have where no agent runs it, in order."""

_dumps = encoder(allow_nan=False)


def check_runnable(gene: Gene, *, sandbox: bool, trust_unsigned: bool) -> None:
    """Raise unless the gene has a source that may be run here.

    Args:
        gene: the gene.
        sandbox: False runs the source of a compiled gene under Node.
        trust_unsigned: whether a gene that was installed from outside is run under Node.

    Raises:
        GeneError: it has no source, cannot be run as WASM, or nobody vouches for it.
    """
    fault = gene_fault(gene, sandbox=sandbox)
    if fault is not None:
        raise GeneError(fault[0], code="E0051", where=gene.folder, help=fault[1])
    if not trust_unsigned:
        refuse_unsigned(gene, sandbox=sandbox)


class Solo:
    """A gene that stays warm from run to run, in a worker (one that dies is replaced) or as WASM.

    Args:
        project: whose gene it is.
        gene: a gene that has passed `check_runnable`.
        door: its way to a memory.
        on_log: called with the gene's name and each line it prints.
        time_limit: seconds for making the sources ready.
        sandbox: False runs the source of a compiled gene under Node.
        grants: what the deployer lets it do.
        on_note: called with what a person should know of this machine's sandbox, once in a project.
        inspection: how the gene is debugged, if it is.
    """

    def __init__(
        self,
        project: Project,
        gene: Gene,
        door: Door | ClosedDoor,
        *,
        on_log: Callable[[str, str], object],
        time_limit: float,
        sandbox: bool = True,
        grants: Grants = NO_GRANTS,
        on_note: OnNote = ignore,
        inspection: Inspection | None = None,
    ) -> None:
        self._inspection = inspection
        self._grants = grants
        self._on_note = on_note
        self.gene = gene
        self._project = project
        self._door = door
        self._on_log = on_log
        self._time_limit = time_limit
        self._gateway: Callable[[int], Gateway] | None = None
        self._worker: Worker | None = None
        self._compiled: Sandboxed | None = None
        self.engine = "wasm" if gene.compiled and sandbox else "node"
        """``node`` or ``wasm``."""
        if inspection is not None:
            inspection.refuse_compiled(
                compiled=self.engine == "wasm", source=gene.entry is not None
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End what runs the gene. May be repeated."""
        if self._compiled is not None:
            self._compiled.close()
            self._compiled = None
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def start(self) -> None:
        """Start the process and hand the gene over, if that is still to be done; does not wait.

        A compiled gene is made ready here.

        Raises:
            GeneError: it cannot be.
        """
        if self.engine == "wasm":
            self._start_compiled()
            return
        if self._worker is not None and self._worker.alive:
            return
        self.close()
        gene = self.gene
        self._gateway = self._gateway or gateway_of(
            gene, self._grants
        )  # kept: a new worker gets no new minute
        inspection = self._inspection
        worker = self._worker = start_worker(
            self._project,
            gene,
            self._on_log,
            grants=self._grants,
            on_note=self._on_note,
            inspection=inspection,
        )
        hand_over(
            worker,
            self._project,
            gene,
            lambda: self._door,
            exports=ENTRY_POINTS,
            gateway=self._gateway,
            time_limit=self._time_limit,
            inspection=inspection,
        )

    def _start_compiled(self) -> None:
        if self._compiled is None:
            from rotifer_bridge._sandboxed import Sandboxed

            cache_dir = self._project.cache_dir
            self._compiled = Sandboxed(self.gene, self._door, cache_dir=cache_dir)
            self._compiled.on_log = self._on_log

    @property
    def fuel(self) -> int | None:
        """What the last run of a compiled gene used; None under Node."""
        return None if self._compiled is None else self._compiled.fuel

    def admit(self, door: Door | ClosedDoor) -> None:
        """Give the gene another way to a memory, from the next run on."""
        self._door = door
        if self._compiled is not None:
            self._compiled.admit(door)
        if self._worker is not None:
            self._worker.admit(door)

    def run(self, value: object, *, time_limit: float) -> Any:
        """Run the gene once and give its answer, as Python has JSON.

        Args:
            value: the input.
            time_limit: seconds until the process is killed, loading included.

        Raises:
            Refused: it refused the input.
            GeneError: its sources cannot be made ready.
            RunError: it gave no answer.
            UsageError: the input is not JSON.
        """
        try:
            given = _dumps(value).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"the input is not a JSON value: {error}") from None
        self.start()
        runner = self._compiled or self._worker
        assert runner is not None, "it was started by the line above"
        output = self._parsed(runner.run(given, time_limit=time_limit))
        if is_refusal(output):
            raise refusal(self.gene.name, output[REFUSAL])
        return output

    def display(
        self,
        output: object,
        options: dict[str, Any],
        *,
        on_print: Callable[[str], object],
        time_limit: float,
    ) -> bool:
        """Let the gene show its last answer to a person; whether it has a function for that.

        Args:
            output: the answer.
            options: what ``display`` gets as its second argument.
            on_print: called with each line for the person.
            time_limit: seconds until the process is killed.

        Raises:
            RunError: the function failed.
        """
        if self._worker is None or not self._worker.alive:
            return False
        self._worker.on_print = on_print
        try:
            answer = self._worker.display(
                _dumps(output).encode("ascii"), options, time_limit=time_limit
            )
        finally:
            self._worker.on_print = None
        text = self._parsed(answer)
        if isinstance(text, str):
            on_print(text.removesuffix("\n"))
        return text is not False

    def _parsed(self, text: bytes) -> Any:
        try:
            return parse_json(text)
        except NotJSON as error:
            raise unreadable(self.gene.name, error) from None
