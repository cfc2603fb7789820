"""What a module may import, in one table (wasm-genes §2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rotifer_bridge._log import RUN_LIMIT
from rotifer_bridge._wasm_host import HostFunction
from rotifer_bridge._wasm_memory import TOO_SMALL, memory_call
from rotifer_bridge._wasm_wasi import WASI_FUNCTIONS
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_bridge._wasm_run import Run

__all__ = ["HOST_FUNCTIONS"]

_MAX_KEY = 65_536  # bytes of a context key

_LEVELS = (b"debug: ", b"", b"warn: ", b"error: ")


def _log(run: Run, pointer: int, size: int) -> None:
    _level_log(run, 1, pointer, size)


def _level_log(run: Run, level: int, pointer: int, size: int) -> None:
    if not run.inside(pointer, size):
        return  # there is nobody to tell: the call has no result
    text = run.read(pointer, min(size, RUN_LIMIT))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        if size == len(text) or error.end < len(text):
            return  # wasm-genes §2: dropped
        text = text[: error.start]  # it was we who cut a character
    run.log.say(_LEVELS[min(level, 3)] + text, unseen=size - len(text))


def _read_context(run: Run, key_at: int, key_size: int, out: int, room: int) -> int:
    if not run.inside(key_at, key_size) or key_size > _MAX_KEY:
        return 0
    field = _CONTEXT.get(run.read(key_at, key_size))
    if field is None:
        return 0
    text = dumps(field(run)).encode("ascii")
    if len(text) > room or not run.inside(out, room):
        return TOO_SMALL
    run.write(out, text)
    return len(text)


def _milliseconds(run: Run) -> int:
    return run.started_ns // 1_000_000


# What the fields hold is ours: the reference names them, no more [ours].
_CONTEXT: dict[bytes, Callable[[Run], object]] = {
    b"agent_id": lambda run: run.agent_id,
    b"timestamp": _milliseconds,
    b"trace_id": lambda run: run.trace_id,
    b"permissions": lambda _: [],
    b"binding_extensions": lambda _: {},
}

HOST_FUNCTIONS: dict[tuple[str, str], HostFunction] = {
    ("env", "log"): HostFunction("ii", "", _log),
    ("rotifer", "log"): HostFunction("iii", "", _level_log),
    ("rotifer", "readContext"): HostFunction("iiii", "i", _read_context),
    ("rotifer", "remainingBudget"): HostFunction("", "I", lambda run: run.fuel()),
    ("rotifer", "logicalTimestamp"): HostFunction("", "I", _milliseconds),
    ("rotifer", "readMemory"): HostFunction("iiii", "i", memory_call("read")),
    ("rotifer", "writeMemory"): HostFunction("iiii", "i", memory_call("write")),
    ("rotifer", "queryMemory"): HostFunction("iiii", "i", memory_call("query")),
    ("rotifer", "deleteMemory"): HostFunction("iiii", "i", memory_call("delete")),
    **WASI_FUNCTIONS,
}
