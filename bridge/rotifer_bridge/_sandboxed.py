"""A compiled gene in the supervisor's sandbox, with the face that a worker has (`Runner`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_bridge._result import ignore
from rotifer_bridge._wasm import WasmGene

if TYPE_CHECKING:
    from rotifer_bridge._door import ClosedDoor, Door
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._result import OnLog

__all__ = ["Sandboxed"]


class Sandboxed:
    """A compiled gene that stays ready from run to run; each run starts from the same state.

    Args:
        gene: a compiled gene.
        door: its way to a memory.
        cache_dir: where machine code is kept.
        agent_id: the agent that runs it; None without one.

    Raises:
        GeneError: it cannot be run, or wasmtime is not installed.
    """

    engine = "wasm"
    traffic = None

    def __init__(
        self, gene: Gene, door: Door | ClosedDoor, *, cache_dir: str, agent_id: str | None = None
    ) -> None:
        self.name = gene.name
        self._closed = False
        self._wasm = WasmGene(gene, door, cache_dir=cache_dir, on_log=ignore, agent_id=agent_id)

    @property
    def on_log(self) -> OnLog:
        """Called with the gene's name and each line it prints."""
        return self._wasm.on_log

    @on_log.setter
    def on_log(self, on_log: OnLog) -> None:
        self._wasm.on_log = on_log

    @property
    def alive(self) -> bool:
        """Whether it can take another run: a run that failed leaves nothing behind."""
        return not self._closed

    @property
    def fuel(self) -> int:
        """What the last run used."""
        return self._wasm.fuel_used

    def admit(self, door: Door | ClosedDoor) -> None:
        """Give the gene another way to a memory, between two runs."""
        self._wasm.admit(door)

    def run(self, given: bytes, *, time_limit: float) -> bytes:
        """Run the gene once; see `WasmGene.run`."""
        return self._wasm.run(given, time_limit=time_limit)

    def kill(self) -> None:
        """End the run that is going on, and this with it; for any thread."""
        self.close()

    def close(self) -> None:
        """Give everything back. May be repeated."""
        self._closed = True
        self._wasm.close()
