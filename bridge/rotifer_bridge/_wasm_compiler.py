"""Compiling a module in a process of its own.

Compiling is not held to a run's limits, and it cannot be interrupted: a module of 200 KB can be
made so that it takes a minute and a gigabyte. So all but the smallest are compiled in a child that
has limits and can be ended; what it hands back is machine code of our own making.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

from rotifer_bridge import _wasm_api as api

__all__ = ["COMPILE_SECONDS", "SMALL", "compile_apart", "main"]

SMALL = 16 * 1024
"""Bytes of a module that is compiled where it is needed: the worst take some 0.3 s."""
COMPILE_SECONDS = 60.0
"""[ours]"""
_CHILD_BYTES = 2 * 1024 * 1024 * 1024
_REFUSED = 3
_PR_SET_PDEATHSIG = 1

# The child finds the packages where we did, wherever it is started.
_SCRIPT = """\
import sys
sys.path[:] = sys.argv[2:]
from rotifer_bridge._wasm_compiler import main
main()
"""


def compile_apart(wasm: bytes, *, seconds: float = COMPILE_SECONDS) -> bytes:
    """The machine code of a module, as `_wasm_api.deserialize` takes it.

    Args:
        wasm: the module.
        seconds: until the child is ended.

    Raises:
        Refused: it is no valid module, or takes too long or too much memory to compile.
    """
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - this very Python
            [sys.executable, "-c", _SCRIPT, str(os.getpid()), *sys.path],
            input=wasm,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise api.Refused(f"it takes more than {seconds:g} s to compile") from None
    except OSError as error:
        raise api.Refused(f"no process can be started to compile it: {error.strerror}") from None
    if done.returncode == _REFUSED:
        raise api.Refused(done.stdout.decode("utf-8", "replace"))
    if done.returncode:
        raise api.Refused(
            f"compiling it ended with {done.returncode}: it takes more than "
            f"{_CHILD_BYTES // 1024**3} GiB, or wasmtime failed"
        )
    return done.stdout


def main() -> None:
    """The child: a module on standard input, machine code on standard output."""
    # Whoever would end it when its time is up may be killed first.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_DATA, (_CHILD_BYTES, _CHILD_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open(0, "rb", closefd=False) as file:
            made = api.serialize(api.compile_module(file.read()))
        code = 0
    except api.Refused as error:
        made, code = str(error).encode(), _REFUSED
    with open(1, "wb", closefd=False) as file:
        file.write(made)
    os._exit(code)
