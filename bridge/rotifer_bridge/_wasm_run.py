"""One run of a module while it goes on: what its host functions work on."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_uint64
from time import monotonic, time_ns
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge import _wasm_api as api

if TYPE_CHECKING:
    from rotifer_bridge._door import ClosedDoor, Door
    from rotifer_bridge._wasm_limits import Limits
    from rotifer_bridge._wasm_log import LogLines

__all__ = ["Kept", "Run"]


class Kept(NamedTuple):
    """An answer that did not fit, for whoever asks the same again with more room."""

    op: str
    request: bytes
    answer: bytes


class Run:
    """One run.

    Pointers and lengths are unsigned here, and every one is held against the memory's size before
    it is used: the module is somebody else's, and wasmtime-py takes negative ones as from the end.

    Args:
        gene: the gene's name.
        context: the store's context.
        door: the gene's way to its memory.
        log: takes the lines that the gene prints.
        agent_id: whose gene it is; None outside an agent.
        limits: what it may use but its time.
        time_limit: seconds.
    """

    def __init__(
        self,
        gene: str,
        context: int,
        door: Door | ClosedDoor,
        log: LogLines,
        *,
        agent_id: str | None,
        limits: Limits,
        time_limit: float,
    ) -> None:
        self.gene = gene
        self.limits = limits
        self.time_limit = time_limit
        self.context = context
        self.door = door
        self.log = log
        self.agent_id = agent_id
        self.deadline = monotonic() + time_limit
        self.started_ns = time_ns()
        self.trace_id = os.urandom(16).hex()
        self.kept: Kept | None = None
        self.stop: BaseException | None = None
        """What a host function or a signal raised: for our caller, once the module was left."""
        self.cancelled = False
        """Whether somebody wants the run to end."""
        self.expired = False
        """Whether it was ended because its time is used up."""
        self.exit_code: int | None = None
        """What it gave to ``proc_exit``."""
        self.stdin = b""
        self.stdin_at = 0
        self.stdout: bytearray | None = None
        """In WASI mode; else what is written there is printed as log lines."""
        self.stderr = b""
        """The end of what it wrote there, for the message of a failure."""
        self._extern = api.Extern()
        self._memory = 0  # the address of its handle, in there

    def find_memory(self, caller: int) -> None:
        """Look up the memory for a host function: it may be called before the instance is there."""
        if not self._memory:
            item = api.Extern()
            if not api.caller_export(caller, b"memory", 6, item.address):
                raise RuntimeError("the module has no memory")  # it was refused then
            self.take_memory(item)

    def take_memory(self, item: api.Extern) -> None:
        """Use the memory that was exported."""
        self._extern = item  # or it would be freed
        self._memory = item.of(api.MEMORY)

    def size(self) -> int:
        """Bytes in the memory; it can only grow."""
        if not self._memory:
            return 0
        size: int = api.memory_size(self.context, self._memory)
        return size

    def inside(self, pointer: int, length: int) -> bool:
        """Whether all of these bytes are in the memory."""
        return pointer + length <= self.size()

    def read(self, pointer: int, length: int) -> bytes:
        """A copy of bytes that are `inside`."""
        if not length:
            return b""
        return ctypes.string_at(api.memory_data(self.context, self._memory) + pointer, length)

    def write(self, pointer: int, data: bytes) -> None:
        """Put bytes where they are `inside`."""
        if data:
            base = api.memory_data(self.context, self._memory)
            ctypes.memmove(base + pointer, data, len(data))

    def write_number(self, pointer: int, value: int, size: int = 4) -> None:
        """Put a little-endian number where it is `inside`."""
        self.write(pointer, value.to_bytes(size, "little"))

    def fuel(self) -> int:
        """What is left of the fuel."""
        left = c_uint64()
        error = api.get_fuel(self.context, byref(left))
        if error:
            api.drop_error(error)
            return 0
        return left.value

    def end_with(self, error: BaseException) -> None:
        """Have the run end as soon as it can be, with this error; the first one counts."""
        if self.stop is None:
            self.stop = error

    def over(self) -> bool:
        """Whether the run has to end now; asked at every beat."""
        if monotonic() >= self.deadline:
            self.expired = True
        return self.expired or self.cancelled or self.stop is not None

    def used_up(self) -> bool:
        """Whether the deadline has passed, or the fuel is at its end (-4)."""
        return monotonic() >= self.deadline or self.cancelled or self.fuel() == 0
