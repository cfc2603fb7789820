"""Start the trusted Node that compiles (design §4), if need be before it is known what.

Node and its compiler take 50 ms to load. Where it is plain that a gene must be compiled, because no
outcome in the cache is as new as its sources, that begins right behind the gene's own process
(design §5a): so this module imports next to nothing. A wrong guess costs a process, never more.
"""

from __future__ import annotations

import os

from rotifer_bridge._cache_folder import READY
from rotifer_bridge._launch import live
from rotifer_bridge._spawn import tether
from rotifer_shim import shim_path

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FLAGS", "Transformer", "give_up_ahead", "start_ahead", "take_ahead"]

# The inner door is the better compiler; a Node without the option is asked again without it.
FLAGS = ("--expose-internals", "--experimental-vm-modules", "--no-warnings")
SOURCES = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")

# What a Node that is a script, or stands on libraries of its own, needs to start.
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH")
_SIGKILL = 9


class Transformer:
    """A Node process that compiles one request, and our ends of what connects us to it.

    Args:
        node: the Node binary, absolute.
        flags: Node's flags.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, node: str, flags: Sequence[str]) -> None:
        self.node = node
        self.pid = 0
        opened: list[int] = []
        try:
            self.stdin = _nameless_file()
            opened.append(self.stdin)
            self.stderr = _nameless_file()
            opened.append(self.stderr)
            self.reading, writing = os.pipe()
            opened += (self.reading, writing)
            waiting, self.go = os.pipe()
            opened += (waiting, self.go)
            whole = tether([node, *flags, shim_path("transform.cjs"), "wait"])
            self.pid = os.posix_spawn(
                whole[0],
                whole,
                {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, self.stdin, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_DUP2, self.stderr, 2),
                    (os.POSIX_SPAWN_DUP2, waiting, 3),
                ],
                setsid=True,
            )
        except BaseException:
            for fd in opened:
                os.close(fd)
            raise
        live[self.pid] = None
        os.close(writing)
        os.close(waiting)

    def ask(self, request: bytes) -> None:
        """Say what is to be compiled."""
        # A file, unlike a pipe, takes all of the request before anybody reads it.
        view = memoryview(request)
        while view:
            view = view[os.write(self.stdin, view) :]
        os.lseek(self.stdin, 0, os.SEEK_SET)  # both ends have one place in it
        self._begin()

    def _begin(self) -> None:
        """Let it read its request: the end of this pipe is what it waits for."""
        if self.go >= 0:
            go, self.go = self.go, -1
            os.close(go)

    def wait(self) -> int:
        """Wait until it has ended: its exit code, or the signal as a negative number."""
        live.pop(self.pid, None)
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def close(self) -> None:
        """End it and give everything back."""
        live.pop(self.pid, None)
        if self.pid:
            # Its answer is in, or nobody wants it: nobody waits for Node to tidy up.
            for end in (lambda: os.killpg(self.pid, _SIGKILL), lambda: os.waitpid(self.pid, 0)):
                try:
                    end()
                except OSError:
                    continue  # it has ended, or the host program ignores SIGCHLD
        self._begin()
        for fd in (self.stdin, self.stderr, self.reading):
            os.close(fd)


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rotifer-transform")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


_ahead: list[Transformer] = []  # started before it was known for what, until somebody takes it


def start_ahead(node: str, cache_dir: str, folder: str | None) -> None:
    """Start a transformer, if the sources of a gene are newer than all outcomes in the cache.

    Args:
        node: the Node that will run the gene.
        cache_dir: the project's cache.
        folder: the gene's folder; what is deeper in it is not looked at.

    Raises:
        OSError: the folder cannot be read, or Node not be started.
    """
    if folder is None:
        return
    changed = _newest(folder, SOURCES)
    if changed and changed > _newest(cache_dir, (READY,)):
        _ahead.append(Transformer(node, FLAGS))


def _newest(folder: str, endings: tuple[str, ...]) -> int:
    """When the newest of the files was last changed, in ns; 0 if there is none."""
    try:
        with os.scandir(folder) as found:
            times = [file.stat().st_mtime_ns for file in found if file.name.endswith(endings)]
    except FileNotFoundError:
        return 0
    return max(times, default=0)


def take_ahead(node: str) -> Transformer | None:
    """The transformer that was started ahead, if it is of this Node; whoever takes it closes it."""
    taken = _ahead.pop() if _ahead else None
    if taken is not None and taken.node != node:
        taken.close()
        return None
    return taken


def give_up_ahead(outcome: str) -> None:
    """There was nothing to compile.

    Args:
        outcome: the path of what was found in the cache; it is as good as new, and next time no
            transformer is started for it.
    """
    if _ahead:
        _ahead.pop().close()
        try:
            os.utime(outcome)
        except OSError:
            return  # the next run guesses wrong again
