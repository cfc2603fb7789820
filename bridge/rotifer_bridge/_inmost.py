"""The process of the gene itself, behind the processes that fence it in (design §5).

A wall with a process-id namespace stays as a process of its own round Node, and the supervisor's
child is the outermost. Signals and the end go by that one; a processor is Node's own matter.
"""

from __future__ import annotations

import os
from contextlib import suppress

from rotifer_bridge._spawn import SIGKILL

__all__ = ["KILLED_WORDS", "end_inmost", "inmost", "kill_inmost", "true_status"]

KILLED_WORDS = "unshare: sigprocmask unblock failed: Invalid argument"
"""What util-linux says, and exits with 1, in place of dying by SIGKILL as its child did."""
_DEPTH = 4  # bubblewrap has two round Node, unshare one
_SIGNALED = 128


def inmost(pid: int) -> int:
    """The process at the end of a chain of only children: Node, once it has been started."""
    for _ in range(_DEPTH):
        try:
            with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
                children = file.read().split()
        except OSError:
            break
        if len(children) != 1:
            break
        pid = int(children[0])
    return pid


def kill_inmost(pid: int) -> bool:
    """Kill Node alone, without waiting; whether there is anything round it."""
    found = inmost(pid)
    if found == pid:
        return False
    with suppress(OSError):
        os.kill(found, SIGKILL)
    return True


def end_inmost(pid: int, pidfd: int) -> None:
    """Kill Node alone and give the walls a moment to reap it and end.

    Killed together, they would leave its remains to the machine's first process, and in a container
    that may be one that reaps nobody. Whoever calls this kills the whole session afterwards.
    """
    from select import POLLIN, poll

    if kill_inmost(pid):
        waiting = poll()
        waiting.register(pidfd, POLLIN)
        waiting.poll(_MOMENT_MS)


_MOMENT_MS = 100


def true_status(status: int, wall: str, *, killed: bool) -> int:
    """The exit status of the gene's process, as its wall tells it: bubblewrap adds 128 to a signal.

    Args:
        status: what ``os.waitstatus_to_exitcode`` gives for the outermost process.
        wall: what stands round it.
        killed: whether ``KILLED_WORDS`` were said.
    """
    if killed and status == 1:
        return -SIGKILL
    if wall == "bubblewrap" and status > _SIGNALED:
        return _SIGNALED - status
    return status
