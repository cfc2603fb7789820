"""Start a child process: its own session, its own pipes, one socket, nothing else (design §2, §5a).

``os.posix_spawn`` because it is quick, needs no fork of a process that already has nng's threads,
and takes no ``preexec_fn``.
"""

from __future__ import annotations

import os
import sys
import threading
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import TYPE_CHECKING

from rotifer_bridge.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["spawn", "stream_pair", "tether"]

_SETPRIV = ("/usr/bin/setpriv", "/bin/setpriv")
_FLOOR = 10  # sources are moved above the targets 0..3, so that no dup2 overwrites one still needed


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
    if threading.current_thread() is threading.main_thread():
        return _spawn(argv, env, descriptors)
    return _Spawner.shared().spawn(argv, env, descriptors)


def _spawn(argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]) -> int:
    moved: dict[int, int] = {}
    try:
        for target, source in descriptors.items():
            moved[target] = fcntl(source, F_DUPFD_CLOEXEC, _FLOOR)
        actions: list[tuple[int, ...]] = [
            (os.POSIX_SPAWN_DUP2, source, target) for target, source in moved.items()
        ]
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in _inheritable() if fd not in descriptors]
        return os.posix_spawn(argv[0], argv, env, file_actions=actions, setsid=True)
    except OSError as error:
        raise NodeError(
            f"cannot start {argv[0]}: {error.strerror}",
            help="see 'rotifer doctor'; the limits of processes and open files are in 'ulimit -a'",
        ) from error
    finally:
        for fd in moved.values():
            os.close(fd)


def _inheritable() -> list[int]:
    """Descriptors above 2 that whoever started us left open for our children."""
    found = []
    for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"):
        fd = int(name)
        try:
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            continue  # the listing's own descriptor, closed by now
    return found


class _Spawner:
    """A thread that lives as long as the process and spawns on behalf of threads that may not."""

    _shared: _Spawner | None = None
    _lock = threading.Lock()

    @classmethod
    def shared(cls) -> _Spawner:
        with cls._lock:
            if cls._shared is None:
                cls._shared = cls()
            return cls._shared

    def __init__(self) -> None:
        from queue import SimpleQueue

        self._work: SimpleQueue[tuple[object, ...]] = SimpleQueue()
        self._queue = SimpleQueue
        threading.Thread(target=self._run, name="rotifer-spawner", daemon=True).start()

    def spawn(
        self, argv: Sequence[str], env: Mapping[str, str], descriptors: Mapping[int, int]
    ) -> int:
        answer = self._queue[int | BaseException]()
        self._work.put((argv, env, descriptors, answer))
        pid = answer.get()
        if isinstance(pid, BaseException):
            raise pid
        return pid

    def _run(self) -> None:
        while True:
            argv, env, descriptors, answer = self._work.get()
            try:
                answer.put(_spawn(argv, env, descriptors))  # type: ignore[attr-defined, arg-type]
            except BaseException as error:  # noqa: BLE001 - it belongs to the thread that asked
                answer.put(error)  # type: ignore[attr-defined]
