"""One Node process for one gene: started, served, watched and ended (design §2)."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from contextlib import suppress

from rotifer_bridge import _gil
from rotifer_bridge._door import MEMORY_OPS, failure
from rotifer_bridge._failure import broken, death, failed, timed_out, unserved
from rotifer_bridge._inmost import KILLED_WORDS, end_inmost, inmost, true_status
from rotifer_bridge._launch import Launched, discard, live
from rotifer_bridge._log import LogPipe
from rotifer_bridge._nng import Responder
from rotifer_bridge._node import Node, node_version, old_node, too_old
from rotifer_bridge._pairing import Pairing
from rotifer_bridge._spawn import SIGKILL
from rotifer_bridge.errors import GeneFailed, RotiferError
from rotifer_engine import MAX_VALUE_BYTES
from rotifer_engine.quick import SimpleQueue, dumps, loads

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rotifer_bridge._door import ClosedDoor, Door, Reply
    from rotifer_bridge._gateway import Gateway, Traffic
    from rotifer_bridge._transform import ReadyFile

__all__ = ["MAX_OUTPUT", "Worker"]

MAX_OUTPUT = 64 * 1024 * 1024
"""The largest output of a gene, in bytes of JSON [ours]."""
_MAX_MESSAGE = MAX_OUTPUT + 65_536
_GLANCE = 0.05  # seconds between two looks at whether the worker has to wait for its processor
_LATER: Reply = ()  # the request is answered by another thread
_SURVIVED = frozenset({"threw", "undefined", "not-json", "too-large"})


class Worker:
    """A gene's process: it may be starting still, and the gene can be handed to it later.

    One thread at a time may call it. The service thread answers its memory calls.

    Args:
        process: the process, as `launch` gave it; the worker owns all of it from here on.
        node: the Node it runs.
        on_log: called with the gene's name and each line it prints, by the thread that is in
            ``run`` or ``close``.
    """

    engine = "node"
    fuel = None

    def __init__(
        self, process: Launched, node: Node, *, on_log: Callable[[str, str], object]
    ) -> None:
        self.on_log = on_log
        self.on_print: Callable[[str], object] | None = None
        """Called in place of ``on_log`` with each line on stdout."""
        self.name = "?"
        self._folder = "/"
        self.node = node
        self._door: Door | ClosedDoor | None = None
        self._live = 0  # the run that is going on; 0 between runs
        # A run was answered, and whoever calls for the next one sends it.
        self._owed = self._greeted = self._closed = self._killed = False
        self._gateway: Gateway | None = None
        self.traffic: Traffic | None = None
        """What the last run asked of the network; None for a gene that cannot."""
        self._runs = 0
        self._status: int | None = None
        self._events: deque[tuple[str, dict[str, Any], bytes]] = deque()
        self._replies: SimpleQueue[Reply | None] = SimpleQueue()
        self.pid, self._on_hello = process.pid, process.on_hello
        self.wall = process.wall
        """What stands round the process (`_sandbox.WALLS`)."""
        self._owner = os.getpid()
        self._serving = threading.Lock()  # held during a memory call (`end_all`)
        self._out = LogPipe(process.stdout, self._print)
        self._err = LogPipe(process.stderr, self._log)
        self._poll, self._ended, self._printed = select.poll(), select.poll(), select.poll()
        self._service = threading.Thread(
            target=self._serve, name=f"rotifer-worker-{self.pid}", daemon=True
        )
        opened: list[int] = []
        try:
            opened.append(os.pidfd_open(self.pid))
            opened.append(os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
            self._pidfd, self._bell = opened
            self._second, process.gateway = process.gateway, -1
            opened.append(self._second)
            channel, process.channel = process.channel, -1
            self._socket = Responder(channel, max_message=_MAX_MESSAGE)
            try:
                self._service.start()
            except BaseException:
                self._socket.close()
                raise
        except BaseException as error:
            for fd in opened:
                os.close(fd)
            discard(process)
            if isinstance(error, (OSError, RuntimeError)):
                raise unserved(error) from error
            raise
        self._ended.register(self._pidfd, select.POLLIN)
        for fd in (self._out.fd, self._err.fd):
            self._printed.register(fd, select.POLLIN)
        for fd in (self._pidfd, self._bell, self._out.fd, self._err.fd):
            self._poll.register(fd, select.POLLIN)
        live[self.pid] = self._serving
        self._pairing = Pairing(self._service.native_id or 0)

    @property
    def alive(self) -> bool:
        """Whether it can take another run: not closed, and its process is there."""
        return not (self._closed or self._ended.poll(0))

    def load(
        self,
        name: str,
        folder: str,
        files: Sequence[ReadyFile],
        entry: str,
        *,
        exports: Sequence[str] = ("express",),
        gateway: Callable[[int], Gateway] | None = None,
    ) -> None:
        """Hand over the gene; does not wait for it to be loaded. `admit` it before it runs.

        Args:
            name: the gene's name, for messages.
            folder: the gene's folder, for places in messages.
            files: every file of the gene, ready to run (design §4).
            entry: the URL of the one to import.
            exports: the names its function may have, in order.
            gateway: opens the gene's way to the network on the descriptor it is given, for a gene
                that has one (`gateway_of`).
        """
        second, self._second = self._second, -1
        if gateway is None:
            os.close(second)
        else:
            self._gateway = gateway(second)
        self.name, self._folder = name, folder
        head = dumps(
            {
                "files": [[file.url, file.format, len(file.source)] for file in files],
                "entry": entry,
                "exports": list(exports),
                "limits": {"value": MAX_VALUE_BYTES, "output": MAX_OUTPUT},
                "gateway": gateway is not None,
            }
        )
        self._replies.put((head.encode("ascii"), b"\n", *[file.source for file in files]))

    def admit(self, door: Door | ClosedDoor) -> None:
        """Give the gene its way to a memory, or another one, before a run."""
        self._door = door

    def run(self, given: bytes, *, time_limit: float) -> bytes:
        """Run the gene once.

        Args:
            given: the input, as JSON.
            time_limit: seconds until the process is killed, loading included.

        Returns:
            The output, as JSON.

        Raises:
            GeneFailed: it threw, exited, cannot be loaded, or gave no JSON value.
            WorkerDied: its process ended.
            RunTimedOut: it did not answer in time.
            NodeError: this Node is too old.
        """
        return self._ask("", given, time_limit)

    def display(self, output: bytes, options: dict[str, Any], *, time_limit: float) -> bytes:
        """Have the gene show an output to a person, if it exports ``display`` (projects §2).

        Args:
            output: what ``run`` gave.
            options: the function's second argument.
            time_limit: seconds until the process is killed.

        Returns:
            JSON: the text that it gave back; null where it printed for itself; false where the
            gene exports no such function.

        Raises:
            RunError: as `run` does.
        """
        return self._ask(',"display":' + dumps(options), output, time_limit)

    def _ask(self, more: str, given: bytes, time_limit: float) -> bytes:
        deadline = time.monotonic() + time_limit
        self._runs += 1
        self._live = self._runs
        self._pairing.enter()
        if self._gateway is not None:
            self._gateway.begin(self._runs)
        head = f'{{"run":{self._runs}{more}}}\n'
        parts = head.encode("ascii"), given
        _gil.enter()
        try:
            if self._owed:
                # The gene waits after its last run: the service thread need not wake up for this.
                self._owed = False
                try:
                    self._socket.answer(*parts)
                except OSError as error:  # it has not read the reply before
                    raise broken(self.name, str(error)) from error
            else:
                self._replies.put(parts)
            return self._answer(deadline, time_limit)
        except BaseException as error:
            survived = isinstance(error, GeneFailed) and getattr(error, "survived", False)
            if not survived:
                self.close()
            raise
        finally:
            _gil.leave()
            self._pairing.leave()
            if self._gateway is not None:
                self.traffic = self._gateway.end()

    def _log(self, line: str) -> None:
        if line == KILLED_WORDS and self.wall == "unshare":
            self._killed = True
        else:
            self.on_log(self.name, line)

    def _print(self, line: str) -> None:
        if self.on_print is None:
            self.on_log(self.name, line)
        else:
            self.on_print(line)

    def _settle_logs(self) -> None:
        """All that the run printed is in the pipes by now: Node writes to pipes synchronously."""
        there = self._printed.poll(0)
        for pipe in (self._out, self._err):
            if there:
                pipe.drain()
            pipe.end_run(self.name)

    def _answer(self, deadline: float, time_limit: float) -> bytes:
        while True:
            op, message, tail = self._next_event(deadline, time_limit)
            if op == "done":
                self._settle_logs()
                return tail
            if op == "failed":
                kind, told = str(message.get("kind")), message.get("error")
                error = failed(self.name, self._folder, kind, told, limit=MAX_OUTPUT)
                error.survived = kind in _SURVIVED  # type: ignore[attr-defined]
                self._settle_logs()
                raise error
            if op == "hello":
                self._greeted = True
                self._pairing.found(inmost(self.pid))
                version = str(message.get("node"))
                if too_old(version):
                    raise old_node(self.node, version)
            elif op == "broken":
                raise broken(self.name, message["reason"])

    def _next_event(self, deadline: float, time_limit: float) -> tuple[str, dict[str, Any], bytes]:
        """The service thread's next event; meanwhile logs are read and death is noticed."""
        while not self._events:
            left = deadline - time.monotonic()
            if left <= 0:
                raise timed_out(self.name, time_limit)
            patience = min(left, _GLANCE) if self._pairing.changes else left
            ready = {fd for fd, _ in self._poll.poll(patience * 1000 + 1)}
            if not ready:
                self._pairing.check()
                continue
            if self._out.fd in ready and not self._out.drain():
                self._poll.unregister(self._out.fd)
            if self._err.fd in ready and not self._err.drain():
                self._poll.unregister(self._err.fd)
            if self._bell in ready:
                os.eventfd_read(self._bell)
            elif self._pidfd in ready and not self._events:
                raise self._death()
        return self._events.popleft()

    def _death(self) -> RotiferError:
        self.close()
        if not self._greeted:
            version = node_version(self.node.path)
            if version is not None and too_old(version):
                return old_node(self.node, version)
        return death(self.name, self._status, self._err.last_words(), limit=_MAX_MESSAGE)

    # -- the service thread -------------------------------------------------------------------

    def _serve(self) -> None:
        """Answer requests until the socket closes. The one thread that touches the socket."""
        _gil.prompt()
        try:
            while True:
                request = self._socket.recv()
                if request is None:
                    return
                reply = self._reply(*request)
                if reply is None or not (reply is _LATER or self._socket.send(*reply)):
                    return
        except Exception as error:  # noqa: BLE001 - told to the thread that waits in run()
            self._tell("broken", {"reason": f"{type(error).__name__}: {error}"}, b"")

    def _reply(self, head: bytes, tail: bytes) -> Reply | None:
        try:
            message = loads(head.decode())
            op = message["op"]
        except (ValueError, TypeError, KeyError, RecursionError):
            self._tell("broken", {"reason": f"it sent {head[:80]!r}"}, b"")
            return None
        if op in MEMORY_OPS and not self._owed:
            return self._memory_call(op, message, tail)
        if self._owed or op not in {"hello", "next", "done", "failed"}:
            self._tell("broken", {"reason": f"it asked for {str(op)[:40]!r}"}, b"")
            return None
        if op == "hello":
            self._on_hello()
        ended = op in {"done", "failed"}
        if ended:
            self._live = 0
            self._socket.set_aside()
            self._owed = True
        self._tell(op, message, tail)
        return _LATER if ended else self._replies.get()

    def _memory_call(self, op: str, message: dict[str, Any], value: bytes) -> Reply:
        if self._door is None:
            return failure("MEMORY_ACCESS_DENIED", "no gene has been loaded yet")
        current = message.pop("run", None) == self._live != 0
        del message["op"]
        request = message.get("filter", {}) if op == "query" else message
        with self._serving:
            return self._door.answer(op, request, value, live=current)

    def _tell(self, op: str, message: dict[str, Any], tail: bytes) -> None:
        self._events.append((op, message, tail))
        os.eventfd_write(self._bell, 1)

    # -- the end ------------------------------------------------------------------------------

    def kill(self) -> None:
        """End the process only: whoever is in ``run`` is told, and gives everything back."""
        if not self._closed and self._owner == os.getpid():
            with suppress(ProcessLookupError):
                os.killpg(self.pid, SIGKILL)

    def close(self) -> None:
        """End the process and give everything back. May be repeated.

        The order matters (design §2): kill the whole session, reap it, read its pipes to the end,
        and only then close the socket; so nothing leaks and nothing is left running.
        """
        if self._closed:
            return
        self._closed = True
        self._on_hello()
        if self._owner != os.getpid():
            return  # a fork's copy: the process is its parent's
        live.pop(self.pid, None)
        end_inmost(self.pid, self._pidfd)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, SIGKILL)
        status: int | None = None
        with suppress(ChildProcessError):  # the host program ignores SIGCHLD, or reaped it
            _, status = os.waitpid(self.pid, 0)
        self._out.finish(self.name)
        self._err.finish(self.name)
        if status is not None:
            ended = os.waitstatus_to_exitcode(status)
            self._status = true_status(ended, self.wall, killed=self._killed)
        if self._gateway is not None:
            self._gateway.close()
        elif self._second >= 0:
            os.close(self._second)
        self._replies.put(None)
        self._socket.stop()
        self._service.join()
        self._socket.close()
        os.close(self._pidfd)
        os.close(self._bell)
