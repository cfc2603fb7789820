"""The trusted Node process that compiles a gene's sources (design §4).

It runs no code of the gene. It gets the request as a file, no environment, a session of its own and
a limit on its time, and it is gone when this function returns.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from contextlib import suppress
from typing import Any, BinaryIO, cast

from rotifer_bridge._launch import live
from rotifer_bridge._node import Node, old_node, too_old
from rotifer_bridge._spawn import tether
from rotifer_shim import shim_path

__all__ = ["transform"]

# The inner door is the better compiler; a Node without the option (it exits with 9) is asked again.
_FLAGS = ("--expose-internals", "--experimental-vm-modules", "--no-warnings")
_BAD_OPTION = 9

# What a Node that is a script, or stands on libraries of its own, needs to start.
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH")


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
        RuntimeError: it gave no answer; the text says why.
    """
    with _nameless_file() as stdin, _nameless_file() as stderr:
        stdin.write(json.dumps({"files": files}).encode())
        stdin.flush()
        for flags in (_FLAGS, _FLAGS[1:]):
            answer, status = _attempt([node, *flags], stdin, stderr, deadline)
            if answer.endswith(b"\n"):
                return _outcomes(node, answer)
            if status != _BAD_OPTION:
                break
        stderr.seek(0)
        words = stderr.read(2_000).decode(errors="replace").strip()
    if status is None:
        raise RuntimeError("Node did not come to an end in time")
    raise RuntimeError(f"Node ended with {_ending(status)}: {words or 'it said nothing'}")


def _outcomes(node: str, answer: bytes) -> list[dict[str, Any]]:
    try:
        told = json.loads(answer)
        if too_old(told["node"]):
            raise old_node(Node(node, "the rules of 'rotifer doctor'"), told["node"])
        return cast("list[dict[str, Any]]", told["files"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RuntimeError(f"it answered {answer[:80]!r}; is it Node?") from None


def _nameless_file() -> BinaryIO:
    # A file, unlike a pipe, takes all of the request before anybody reads it.
    if hasattr(os, "memfd_create"):
        return cast("BinaryIO", open(os.memfd_create("rotifer-transform"), "w+b"))
    import tempfile

    return cast("BinaryIO", tempfile.TemporaryFile())


def _attempt(
    command: list[str], stdin: BinaryIO, stderr: BinaryIO, deadline: float
) -> tuple[bytes, int | None]:
    """Run it once; its output and exit status, None when its time was up."""
    stdin.seek(0)
    reading, writing = os.pipe()
    pid = started = 0
    try:
        whole = tether([*command, shim_path("transform.cjs")])
        pid = os.posix_spawn(
            whole[0],
            whole,
            {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, stdin.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, stderr.fileno(), 2),
            ],
            setsid=True,
        )
        started = pid
        live[pid] = None
        theirs, writing = writing, -1  # an interrupt in between must not close it twice
        os.close(theirs)
        _limit_cpu(pid, deadline)
        output = _read_line(reading, deadline)
        if output is None:
            return b"", None
        if output.endswith(b"\n"):
            return output, 0
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        pid = 0
        return output, status
    finally:
        live.pop(started, None)
        if pid:
            # Its answer is in: nobody waits for Node to tidy up.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # the host program ignores SIGCHLD
                os.waitpid(pid, 0)
        os.close(reading)
        if writing != -1:
            os.close(writing)


def _limit_cpu(pid: int, deadline: float) -> None:
    """Let the kernel end it too, should this process be killed before it can."""
    seconds = max(1, round(deadline - time.monotonic()))
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
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
        return f"signal {signal.Signals(-status).name}"
    return f"exit code {status}"
