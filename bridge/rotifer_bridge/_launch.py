"""Start a gene's Node process: the first thing a command does (design §5a).

Node takes 25 ms to be ready, so it is started before anything else is imported: this module and
what it imports stay small.
"""

from __future__ import annotations

import os

from rotifer_bridge._grants import Fence
from rotifer_bridge._sandbox import environment, fenced, limit_from_outside, node_command
from rotifer_bridge._sandbox_here import wall_here
from rotifer_bridge._spawn import SIGKILL, cannot_start, spawn, stream_pair

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Lock

__all__ = ["Launched", "discard", "end_all", "launch", "live"]

_NETWORK = ("--allow-net",)
_ASKS_SINCE = 25


live: dict[int, Lock | None] = {}
"""The processes that are running for us, and what is held while one of them is served."""


def _nothing() -> None:
    """What there is to do after a start that nobody waits for."""


class Launched:
    """A process that is starting, and our ends of what connects us to it.

    Args:
        pid: its process id.
        channel: the descriptor of our end of the channel (fd 3 on the other side); -1 once
            somebody else owns it.
        gateway: the same of the second channel (fd 4), that Hybrid genes reach the network by.
            Every worker has one: it is started before anybody knows which gene it gets.
        stdout: the descriptor that its standard output is read from.
        stderr: the same for standard error.
        fence: what it may touch.
        wall: what stands round it (`_sandbox.WALLS`).
    """

    __slots__ = ("channel", "fence", "gateway", "on_hello", "pid", "stderr", "stdout", "wall")

    def __init__(  # noqa: PLR0917 - six numbers and words that belong together
        self,
        pid: int,
        channel: int,
        gateway: int,
        stdout: int,
        stderr: int,
        fence: Fence,
        wall: str,
    ) -> None:
        self.pid = pid
        self.on_hello: Callable[[], object] = _nothing
        """Called once Node is there, or has ended; by any thread, more than once."""
        self.fence = fence
        self.wall = wall
        self.channel = channel
        self.gateway = gateway
        self.stdout = stdout
        self.stderr = stderr


def launch(
    node: str, shim: str, root: str, fence: Fence, inspector: tuple[str, ...] = ()
) -> Launched:
    """Start a worker.

    Args:
        node: the path of the Node to run.
        shim: the folder of the shim's files, that it may read.
        root: the project's folder.
        fence: what else it may touch.
        inspector: Node's flags for a debugger; with them its port must be reachable from outside.

    Raises:
        NodeError: it cannot be started.
        UsageError: the environment asks for a sandbox that there is not.
    """
    opened: list[int] = []
    try:
        wall = wall_here(root, node)
        ours, theirs = stream_pair()
        opened += (ours, theirs)
        gateway, their_gateway = stream_pair()
        opened += (gateway, their_gateway)
        out, their_out = os.pipe()
        opened += (out, their_out)
        err, their_err = os.pipe()
        opened += (err, their_err)
        null = os.open(os.devnull, os.O_RDONLY)
        opened.append(null)
        walls = fence
        if inspector:
            walls = Fence(fence.folder, fence.readable, fence.writable, network=True)
        hidden = wall == "bubblewrap"
        flags = (*inspector, *(_NETWORK if fence.network and _asks_for_network(node) else ()))
        command = node_command(node, shim, fence, flags, hidden=hidden)
        command = fenced(wall, command, walls, (shim,))
        descriptors = {0: null, 1: their_out, 2: their_err, 3: theirs, 4: their_gateway}
        pid = spawn(command, environment(), descriptors)
    except BaseException as error:
        for fd in opened:
            os.close(fd)
        if isinstance(error, OSError):
            raise cannot_start(node, error) from error
        raise
    live[pid] = None
    limit_from_outside(pid, fence)
    for fd in (theirs, their_gateway, their_out, their_err, null):
        os.close(fd)
    return Launched(pid, ours, gateway, out, err, fence, wall)


def _asks_for_network(node: str) -> bool:
    """Whether this Node's permissions keep the network closed unless they are told: since 25."""
    from rotifer_bridge._node import node_version

    major = (node_version(node) or "").lstrip("v").partition(".")[0]
    return major.isdigit() and int(major) >= _ASKS_SINCE


def end_all() -> None:
    """Kill every process that runs for us; let a call that is being served come to its end.

    Called by a signal's handler, so it imports nothing: what it needs may be half imported.
    """
    for pid in list(live):
        try:
            os.killpg(pid, SIGKILL)
        except OSError:
            continue
    for pid, lock in list(live.items()):
        if lock is not None:
            lock.acquire(timeout=1)
        try:
            os.waitpid(pid, 0)
        except OSError:
            continue


def discard(launched: Launched) -> None:
    """End a process that nobody is going to use, and close our ends."""
    live.pop(launched.pid, None)
    from contextlib import suppress

    try:
        os.killpg(launched.pid, SIGKILL)
    except ProcessLookupError:
        pass  # it has died by itself
    except PermissionError:
        os.kill(launched.pid, SIGKILL)
    with suppress(ChildProcessError):  # the host program ignores SIGCHLD, or reaped it
        os.waitpid(launched.pid, 0)
    for fd in (launched.channel, launched.gateway, launched.stdout, launched.stderr):
        if fd >= 0:
            os.close(fd)
