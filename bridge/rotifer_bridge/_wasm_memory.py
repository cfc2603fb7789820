"""The four memory calls as a module makes them (wasm-genes §3).

A request is JSON in the module's memory, and so is its answer; the value is base64. What is asked,
and how it is refused, is the engine's to decide: the door here is the one that genes under Node
have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rotifer_bridge._failure import REFUSAL
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge._wasm_run import Kept
from rotifer_engine import (
    ABSENT,
    ERROR_CODES,
    AgentMemoryError,
    InvalidInput,
    StorageError,
    decode_value,
)
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_bridge._wasm_run import Run
    from rotifer_engine import Entry

__all__ = ["MAX_REQUEST", "TOO_SMALL", "USED_UP", "memory_call"]

TOO_SMALL = -1
"""The answer does not fit; it is kept for the next call."""
USED_UP = -4
"""The run's deadline has passed, or its fuel is at its end."""
MAX_REQUEST = 4 * 1024 * 1024
"""The longest request [ours]: a value of 1 MiB takes a third of it."""


def memory_call(op: str) -> Callable[[Run, int, int, int, int], int]:
    """The host function of one of the four calls."""

    def call(run: Run, request_at: int, request_size: int, out: int, room: int) -> int:
        return _call(run, op, (request_at, request_size), (out, room))

    return call


def _call(run: Run, op: str, asked: tuple[int, int], answered: tuple[int, int]) -> int:
    out, room = answered
    if run.used_up():
        return USED_UP
    kept, run.kept = run.kept, None
    try:
        if run.door.closed:
            run.door.perform(op, None)
        request = _request(run, asked, answered)
        if kept is not None and (kept.op, kept.request) == (op, request):
            answer = kept.answer
        else:
            answer = _perform(run, op, request)
    except AgentMemoryError as error:
        _tell(run, error.code, error.message, out, room)
        return ERROR_CODES[error.code].wasm_number
    except Exception as error:  # noqa: BLE001 - no exception of ours may pass through the module
        message = f"internal error in the memory's {op} call: {type(error).__name__}"
        _tell(run, StorageError.code, message, out, room)
        return ERROR_CODES[StorageError.code].wasm_number
    if len(answer) > room:
        run.kept = Kept(op, request, answer)
        message = (
            f"the answer is {len(answer):,} bytes; outCap is {room:,}: "
            "make the same call again with more room to get it"
        )
        _tell(run, InvalidInput.code, message, out, room)
        return TOO_SMALL
    run.write(out, answer)
    return len(answer)


def _request(run: Run, asked: tuple[int, int], answered: tuple[int, int]) -> bytes:
    pointer, size = asked
    if not run.inside(pointer, size):
        raise InvalidInput(
            f"the request is {size:,} bytes at {pointer:,}; the memory is {run.size():,} bytes"
        )
    if size > MAX_REQUEST:
        raise InvalidInput(f"the request is {size:,} bytes; the limit is {MAX_REQUEST:,}")
    if not run.inside(*answered):
        # Before the work: what nobody can be told of is not done.
        raise InvalidInput(
            f"out is {answered[1]:,} bytes at {answered[0]:,}; the memory is {run.size():,} bytes"
        )
    return run.read(pointer, size)


def _perform(run: Run, op: str, request: bytes) -> bytes:
    """Do what is asked; the answer as it stands in the module's memory."""
    fields: Any
    if op == "query" and not request:
        fields = ABSENT
    else:
        try:
            fields = parse_json(request)
        except NotJSON as error:
            raise InvalidInput(f"the request {error.told}") from None
        if op == "query" and fields is None:
            fields = ABSENT
    value: object = ABSENT
    if op == "write" and isinstance(fields, dict) and "value" in fields:
        value = decode_value(fields.pop("value"))
    found = run.door.perform(op, fields, value)
    if found is None:
        return b"null"
    if isinstance(found, list):
        return _entries(found)
    return found.json_text().encode("ascii")


def _entries(found: list[Entry]) -> bytes:
    return f"[{','.join([entry.json_text() for entry in found])}]".encode("ascii")


def _tell(run: Run, code: str, message: str, out: int, room: int) -> None:
    """Put the envelope where it fits; a gene may hand it on as its own output."""
    told = dumps({REFUSAL: {"code": code, "message": message}}).encode("ascii")
    if not run.inside(out, room) or len(told) > room:
        return
    run.write(out, told + b"\0" if len(told) < room else told)
