"""Direct mode: JSON in the module's memory, before and after (wasm-genes §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_bridge._wasm_limits import MAX_OUTPUT
from rotifer_bridge.errors import GeneFailed

if TYPE_CHECKING:
    from rotifer_bridge._wasm_instance import Instance

__all__ = ["express"]

_CHUNK = 4_096


def express(instance: Instance, given: bytes, *, allocates: bool) -> bytes:
    """Hand over the input, call ``express``, and give the text that it points to.

    Args:
        instance: of a module in direct mode.
        given: compact JSON.
        allocates: whether it exports ``alloc``.

    Raises:
        GeneFailed: it answered with an error code, or a pointer is outside its memory.
        RunError: as `Instance` says.
    """
    run = instance.run
    at = instance.call(b"alloc", len(given)) if allocates else 0
    if not run.inside(at, len(given)):
        whose = "where alloc points to" if allocates else "the start of its memory"
        raise GeneFailed(
            f"gene '{run.gene}': its input of {len(given):,} bytes has no room at {at:,}, {whose}: "
            f"its memory is {run.size():,} bytes",
            code="E0052",
            help=None if allocates else "export alloc(size: i32) -> i32",
        )
    run.write(at, given)
    answer = instance.call(b"express", at, len(given))
    if answer >= 1 << 31:
        raise GeneFailed(
            f"gene '{run.gene}' failed: gene returned error code: {answer - (1 << 32)}",
            code="E0052",
        )
    return _text(instance, answer)


def _text(instance: Instance, start: int) -> bytes:
    """The bytes up to a NUL, or to the end of the memory."""
    run = instance.run
    size = run.size()
    if start > size:
        raise GeneFailed(
            f"gene '{run.gene}' answered with the pointer {start:,}; its memory is {size:,} bytes",
            code="E0052",
        )
    parts: list[bytes] = []
    at, step = start, _CHUNK
    while at < size:
        part = run.read(at, min(step, size - at))
        end = part.find(0)
        if end >= 0:
            parts.append(part[:end])
            break
        parts.append(part)
        at += len(part)
        step *= 2
        if at - start > MAX_OUTPUT:
            raise GeneFailed(
                f"gene '{run.gene}' answered with more than {MAX_OUTPUT:,} bytes without a NUL",
                code="E0052",
                help="end the text with a NUL byte",
            )
    return b"".join(parts)
