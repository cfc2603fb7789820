"""Start a child process: its own session, pipes and sockets, nothing else (design §2, §5a).

``os.posix_spawn`` because it is quick, needs no fork of a process that already has nng's threads,
and takes no ``preexec_fn``.
"""

from __future__ import annotations

import os
import sys
from fcntl import F_DUPFD_CLOEXEC, fcntl

from rotifer_bridge.errors import NodeError

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SIGKILL", "cannot_start", "spawn", "spawn_here", "stream_pair", "tether"]

SIGKILL = 9
"""By its number, the same everywhere: `signal` takes long to import (rotifer_engine.quick)."""
_SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv")
_FEW = 16  # no limit on descriptors lets Node start that is below this
_FLOOR = 10  # sources are moved above the targets 0..4, so that no dup2 overwrites one still needed


def stream_pair() -> tuple[int, int]:
    """Two connected stream sockets, as descriptors that no child inherits by itself."""
    # `_socket` is what `socket` is made of, without the 5 ms of enums and selectors.
    from _socket import socketpair

    ours, theirs = socketpair()
    return ours.detach(), theirs.detach()


def tether(argv: list[str]) -> list[str]:
    """``argv``, to be killed by the kernel when the thread that spawned it is gone.

    A gene in an endless loop never notices that its socket has closed; this is what ends it when
    the supervisor is killed. Where there is no util-linux ``setpriv``, ``argv`` stays as it is and
    ``rotifer doctor`` says so.
    """
    for path in _SETPRIV:
        if os.path.exists(path):
            return [path, "--pdeathsig", "KILL", "--", *argv]
    return argv


def spawn(argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]) -> int:
    """Start ``argv`` as the leader of a session of its own and give its process id.

    Args:
        argv: the absolute path of a program, and its arguments.
        env: the whole environment of the child.
        descriptors: child descriptor to descriptor of ours; the child gets no others.

    Raises:
        NodeError: the program cannot be started (the message has the system's reason).
    """
    # The parent-death signal follows the spawning thread, so that thread must live as long as we.
    threading = sys.modules.get("threading")  # not imported: there is no other thread
    if threading is None or threading.current_thread() is threading.main_thread():
        return spawn_here(argv, env, descriptors)
    from rotifer_bridge._spawner import spawner

    return spawner().spawn(argv, env, descriptors)


def spawn_here(argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]) -> int:
    """`spawn`, from the calling thread."""
    moved: dict[int, int] = {}
    try:
        for target, source in descriptors.items():
            moved[target] = fcntl(source, F_DUPFD_CLOEXEC, _FLOOR)
        actions: list[tuple[int, ...]] = [
            (os.POSIX_SPAWN_DUP2, source, target) for target, source in moved.items()
        ]
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inheritable() if fd not in descriptors]
        return os.posix_spawn(argv[0], list(argv), env, file_actions=actions, setsid=True)
    except OSError as error:
        raise cannot_start(argv[0], error) from error
    finally:
        for fd in moved.values():
            os.close(fd)


def cannot_start(program: str, error: OSError) -> NodeError:
    """The error for a process that the system refuses to start."""
    return NodeError(
        f"cannot start {program}: {error.strerror}",
        code="E0052",
        help="see 'rotifer doctor'; the limits of processes and open files are in 'ulimit -a'",
    )


def _descriptor_limit() -> int:
    # Not at the top: a millisecond before Node is started, for descriptors that hardly anyone has.
    from resource import RLIMIT_NOFILE, getrlimit

    return getrlimit(RLIMIT_NOFILE)[0]


def _inheritable() -> list[int]:
    """Descriptors above 2 that whoever started us left open for our children."""
    found = []
    for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"):
        fd = int(name)
        try:
            if fd > 2 and os.get_inheritable(fd):
                if fd < _FEW or fd < _descriptor_limit():
                    found.append(fd)
                else:  # the system refuses to close it for the child, by its number
                    os.set_inheritable(fd, False)
        except OSError:
            continue  # the listing's own descriptor, closed by now
    return found
