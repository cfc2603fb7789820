"""The trusted Node process that compiles a gene's sources (design §4).

It runs no code of the gene. It gets the request as a file, no environment, a session of its own and
a limit on its time, and it is gone when this function returns.
"""

from __future__ import annotations

import os
import resource
import select
import time

from rotifer_bridge._failure import NO_MEMORY, limits_met
from rotifer_bridge._node import Node, old_node, too_old
from rotifer_bridge._sandbox import DATA_BYTES
from rotifer_bridge._transformer_start import FLAGS, Transformer, take_ahead
from rotifer_engine.quick import dumps, loads

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Ended", "transform"]

_BAD_OPTION = 9


class Ended(RuntimeError):
    """The compiler's Node ended without an answer; ``str()`` says how.

    Args:
        message: how.
        help: what to do, where that is known.
    """

    def __init__(self, message: str, help: str | None) -> None:  # noqa: A002 - as in `errors`
        super().__init__(message)
        self.help = help


def transform(node: str, files: list[dict[str, str]], *, deadline: float) -> list[dict[str, Any]]:
    """Have ``transform.cjs`` compile files.

    Args:
        node: the Node binary, absolute.
        files: a ``path`` and a ``source`` each; at least one.
        deadline: when it must be done, by ``time.monotonic()``.

    Returns:
        The files' outcomes in their order, as ``transform.cjs`` says; at least the first's, and not
        more after a file on which the compiler itself broke.

    Raises:
        NodeError: this Node is too old.
        OSError: Node could not be started.
        TimeoutError: it did not come to an end before the deadline.
        Ended: Node did, without an answer.
        RuntimeError: it gave no answer; the text says why.
    """
    request = dumps({"files": files}).encode()
    for flags in (FLAGS, FLAGS[1:]):
        process = take_ahead(node) or Transformer(node, flags)
        answer, status, words = _attempt(process, request, deadline)
        if answer.endswith(b"\n"):
            return _outcomes(node, answer)
        if status != _BAD_OPTION:
            break
    if status is None:
        raise TimeoutError
    if NO_MEMORY in words:
        words = NO_MEMORY
    limits, help_ = limits_met(status, words)
    raise Ended(f"Node ended with {_ending(status)}{limits}: {words or 'it said nothing'}", help_)


def _outcomes(node: str, answer: bytes) -> list[dict[str, Any]]:
    try:
        told = loads(answer.decode())
        if too_old(told["node"]):
            raise old_node(Node(node, "the rules of 'rotifer doctor'"), told["node"])
        made: list[dict[str, Any]] = told["files"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RuntimeError(f"it answered {answer[:80]!r}; is it Node?") from None
    return made


def _attempt(
    process: Transformer, request: bytes, deadline: float
) -> tuple[bytes, int | None, str]:
    """Ask it once: its output, its exit status (None when its time was up), what it complained."""
    try:
        process.ask(request)
        _bound(process.pid, deadline)
        output = _read_line(process.reading, deadline)
        if output is None:
            return b"", None, ""
        if output.endswith(b"\n"):
            return output, 0, ""
        status = process.wait()
        words = os.pread(process.stderr, 2_000, 0).decode(errors="replace").strip()
        return output, status, words
    finally:
        process.close()


def _bound(pid: int, deadline: float) -> None:
    """Let the kernel bound its memory, and its time should this process be killed before it can."""
    seconds = max(1, round(deadline - time.monotonic()))
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, DATA_BYTES)):
        try:
            _, hard = resource.prlimit(pid, kind)
            if hard != resource.RLIM_INFINITY:
                most = min(most, hard)  # noqa: PLW2901 - who is not root cannot raise it again
            resource.prlimit(pid, kind, (most, most))
        except OSError:
            return  # it has ended already


def _read_line(fd: int, deadline: float) -> bytes | None:
    """Read up to the end of the line or of the file; None when the time is up first."""
    parts: list[bytes] = []
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0:
        if not poll.poll(left * 1_000):
            continue
        part = os.read(fd, 1 << 20)
        parts.append(part)
        if not part or part.endswith(b"\n"):
            return b"".join(parts)
    return None


def _ending(status: int) -> str:
    if status < 0:
        import signal

        return f"signal {signal.Signals(-status).name}"
    return f"exit code {status}"
