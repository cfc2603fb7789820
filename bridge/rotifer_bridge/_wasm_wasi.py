"""WASI mode: JSON on standard input, JSON on standard output (wasm-genes §1).

These functions are ours and all there is: no files, no arguments, no environment, no random
numbers, and one time for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from rotifer_bridge._wasm_host import HostFunction
from rotifer_bridge._wasm_limits import MAX_OUTPUT
from rotifer_bridge.errors import GeneFailed

if TYPE_CHECKING:
    from rotifer_bridge._wasm_instance import Instance
    from rotifer_bridge._wasm_run import Run

__all__ = ["WASI_FUNCTIONS", "Exit", "Exited", "command"]

_SUCCESS, _BADF, _FAULT, _INVAL, _SPIPE = 0, 8, 21, 28, 70  # wasi_snapshot_preview1's errno
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MAX_PARTS = 1_024  # buffers of one call, as Linux has it
_LAST_WORDS = 4_096
_MODULE = "wasi_snapshot_preview1"


class Exit(Exception):
    """The module called ``proc_exit``; the code is in the run."""


class Exited(GeneFailed):
    """The run was ended by ``proc_exit``."""

    def __init__(self, gene: str, exit_code: int) -> None:
        super().__init__(
            f"gene '{gene}' ended with exit code {exit_code} before it answered", code="E0052"
        )
        self.exit_code = exit_code


def command(instance: Instance, given: bytes) -> bytes:
    """Run ``_start`` on the input, and give what it wrote on standard output.

    Args:
        instance: of a module in WASI mode.
        given: compact JSON.

    Raises:
        GeneFailed: it ended with another exit code than 0, or wrote nothing; the message has the
            end of what it wrote on standard error.
        RunError: as `Instance` says.
    """
    run = instance.run
    run.stdin = given
    output = run.stdout = bytearray()
    try:
        instance.call(b"_start", results=0)
    except Exited as exited:
        if exited.exit_code:
            raise _with_words(exited, run.stderr) from None
    except GeneFailed as error:
        raise _with_words(error, run.stderr) from None
    text = bytes(output.strip())
    if text:
        return text
    silent = GeneFailed(
        f"gene '{run.gene}' ended and had written nothing on standard output",
        code="E0052",
        help="write one JSON document there",
    )
    raise _with_words(silent, run.stderr)


def _with_words(error: GeneFailed, stderr: bytes) -> GeneFailed:
    """The same failure, with what the module wrote about it."""
    words = stderr.decode("utf-8", "replace").strip()
    if not words:
        return error
    return GeneFailed(
        f"{error.message}: {words}", code=error.code, where=error.where, help=error.help
    )


def _parts(run: Run, at: int, count: int) -> list[tuple[int, int]] | None:
    """Where the buffers of a call are; None where they, or their list, are outside the memory."""
    if not run.inside(at, 8 * count):
        return None
    raw = run.read(at, 8 * count)
    numbers = [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]
    parts = list(zip(numbers[::2], numbers[1::2], strict=True))
    return parts if all(run.inside(start, size) for start, size in parts) else None


def _fd_read(run: Run, fd: int, at: int, count: int, done: int) -> int:
    if fd != _STDIN:
        return _BADF
    if count > _MAX_PARTS:
        return _INVAL
    parts = _parts(run, at, count)
    if parts is None or not run.inside(done, 4):
        return _FAULT
    before = run.stdin_at
    for start, size in parts:
        piece = run.stdin[run.stdin_at : run.stdin_at + size]
        run.write(start, piece)
        run.stdin_at += len(piece)
    run.write_number(done, run.stdin_at - before)
    return _SUCCESS


def _fd_write(run: Run, fd: int, at: int, count: int, done: int) -> int:
    if fd not in {_STDOUT, _STDERR}:
        return _BADF
    if count > _MAX_PARTS:
        return _INVAL
    parts = _parts(run, at, count)
    if parts is None or not run.inside(done, 4):
        return _FAULT
    total = sum(size for _, size in parts)  # parts may overlap: it can be more than the memory
    if total > MAX_OUTPUT:
        return _INVAL
    if fd == _STDOUT and run.stdout is not None and len(run.stdout) + total > MAX_OUTPUT:
        raise GeneFailed(
            f"gene '{run.gene}' wrote more than {MAX_OUTPUT:,} bytes on standard output",
            code="E0052",
        )
    for start, size in parts:
        data = run.read(start, size)
        if fd == _STDERR:
            run.stderr = (run.stderr + data)[-_LAST_WORDS:]
            run.log.feed(data)
        elif run.stdout is None:
            run.log.feed(data)
        else:
            run.stdout += data
    run.write_number(done, total)
    return _SUCCESS


def _fd_close(_run: Run, fd: int) -> int:
    return _SUCCESS if fd <= _STDERR else _BADF


def _fd_fdstat_get(run: Run, fd: int, out: int) -> int:
    if fd > _STDERR:
        return _BADF
    if not run.inside(out, 24):
        return _FAULT
    right = 1 << 1 if fd == _STDIN else 1 << 6  # fd_read, fd_write
    # Of no known kind, no flags, the one right, nothing to inherit: a libc takes it for a pipe.
    run.write(out, bytes(8) + right.to_bytes(8, "little") + bytes(8))
    return _SUCCESS


def _fd_seek(_run: Run, fd: int, _offset: int, _whence: int, _out: int) -> int:
    return _SPIPE if fd <= _STDERR else _BADF


def _clock_time_get(run: Run, _clock: int, _precision: int, out: int) -> int:
    if not run.inside(out, 8):
        return _FAULT
    run.write_number(out, run.started_ns, 8)
    return _SUCCESS


def _environ_sizes_get(run: Run, count: int, size: int) -> int:
    if not (run.inside(count, 4) and run.inside(size, 4)):
        return _FAULT
    run.write_number(count, 0)
    run.write_number(size, 0)
    return _SUCCESS


def _environ_get(_run: Run, _list: int, _texts: int) -> int:
    return _SUCCESS


def _proc_exit(run: Run, code: int) -> NoReturn:
    run.exit_code = code
    raise Exit


def _named(name: str, parameters: str, result: str, call: Callable[..., object]) -> _Named:
    return (_MODULE, name), HostFunction(parameters, result, call)


_Named = tuple[tuple[str, str], HostFunction]

WASI_FUNCTIONS: dict[tuple[str, str], HostFunction] = dict(
    [
        _named("fd_read", "iiii", "i", _fd_read),
        _named("fd_write", "iiii", "i", _fd_write),
        _named("fd_close", "i", "i", _fd_close),
        _named("fd_fdstat_get", "ii", "i", _fd_fdstat_get),
        _named("fd_seek", "iIii", "i", _fd_seek),
        _named("clock_time_get", "iIi", "i", _clock_time_get),
        _named("environ_sizes_get", "ii", "i", _environ_sizes_get),
        _named("environ_get", "ii", "i", _environ_get),
        _named("proc_exit", "i", "", _proc_exit),
    ]
)
