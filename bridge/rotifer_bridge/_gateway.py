"""A Hybrid gene's way to the network: the second channel, fd 4 on the other side (projects §6).

The memory channel alternates strictly and blocks the gene; here many requests are outstanding at
once, each with an id. It is a plain socket pair with frames of a length (4 bytes, big-endian) and a
payload in the memory channel's form: a line of JSON, then bytes. nng's reply socket serves one
request at a time, and many only by a context and a waiting thread for each, whether used or not;
here threads are started when there is something to do.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge._gateway_rules import (
    GatewayRefusal,
    Network,
    RateWindow,
    network_of,
    parse_network,
)
from rotifer_bridge.errors import RunError
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from rotifer_bridge._gateway_http import Attempt
    from rotifer_bridge._gene import Gene

__all__ = ["MAX_AT_ONCE", "MAX_REQUEST", "Gateway", "Traffic", "opener"]

MAX_AT_ONCE = 32
"""How many requests of a gene are performed at the same time [ours]; the others wait."""
MAX_REQUEST = 16 * 1024 * 1024
"""The largest request, in bytes of its frame [ours]."""
_MOST_HELD = 64 * 1024 * 1024  # bytes of requests that wait; then no more are read for a while

_METHOD = re.compile(r"[A-Z]{1,20}")
_NOT_OURS = frozenset({"CONNECT", "TRACE"})
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Traffic(NamedTuple):
    """What one run of a gene asked of the network."""

    requests: int
    received: int
    """Bytes of the bodies that the gene was given."""
    failed: dict[str, int]
    """How many requests failed, by code."""

    def to_json(self) -> dict[str, Any]:
        """Its part of the document that ``agent run --json`` prints."""
        return {"requests": self.requests, "receivedBytes": self.received, "failed": self.failed}


class _Request(NamedTuple):
    id: int
    run: int
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None
    deadline: float


class Gateway:
    """Serves one worker's channel until it is closed.

    Args:
        fd: our end of the channel; the gateway's from here on.
        network: what the gene may do.
        window: counts its requests; outlives the worker.
    """

    def __init__(self, fd: int, network: Network, window: RateWindow) -> None:
        self._channel = socket.socket(fileno=fd)
        self._network = network
        self._window = window
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._held = 0  # bytes of the bodies that wait or are being sent
        self._sending = threading.Lock()
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._free = 0  # threads with nothing to do, less the requests that wait for one
        self._attempts: set[Attempt] = set()
        self._run = 0
        self._closed = False
        self._asked = 0
        self._received = 0
        self._failed: dict[str, int] = {}
        self._reader = threading.Thread(target=self._read, name="rotifer-gateway", daemon=True)
        try:
            self._reader.start()
        except RuntimeError as error:
            self._channel.close()
            raise RunError(
                f"cannot serve another worker: {error}",
                code="E0052",
                help="close agents that are not in use; see 'ulimit -u'",
            ) from None

    def begin(self, run: int) -> None:
        """A run begins: its requests are served, and counted from zero."""
        with self._lock:
            self._run = run
            self._asked, self._received, self._failed = 0, 0, {}

    def end(self) -> Traffic:
        """The run has ended: what it still waited for is given up."""
        with self._lock:
            self._run = 0
            attempts = list(self._attempts)
            traffic = Traffic(self._asked, self._received, self._failed)
        for attempt in attempts:
            attempt.cancel()
        return traffic

    def close(self) -> None:
        """End all requests and give everything back. May be repeated."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._room.notify_all()
            threads = list(self._threads)
        self.end()
        with suppress(OSError):  # the other side is gone already
            self._channel.shutdown(socket.SHUT_RDWR)
        for _ in threads:
            self._queue.put(None)
        for thread in (self._reader, *threads):
            thread.join()
        self._channel.close()

    # -- the reading thread -------------------------------------------------------------------

    def _read(self) -> None:
        try:
            with self._channel.makefile("rb") as stream:
                while len(prefix := stream.read(4)) == 4:
                    size = int.from_bytes(prefix, "big")
                    if size > MAX_REQUEST:
                        break
                    payload = stream.read(size)
                    if len(payload) < size or not self._take(payload):
                        break
        except OSError:
            pass  # closed by us, or the worker has died
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)  # the shim gives up what it waits for

    def _take(self, payload: bytes) -> bool:
        """Take one request; False where it is none of the protocol."""
        head, _, body = payload.partition(b"\n")
        try:
            told = json.loads(head)
            number, run = told["id"], told["run"]
            if not (type(number) is int and type(run) is int):
                return False
        except (ValueError, TypeError, KeyError, RecursionError):
            return False
        with self._lock:
            if self._closed or run != self._run:
                return True  # of a run that has ended: nobody waits
            self._asked += 1
        try:
            request = self._checked(number, run, told, body)
        except GatewayRefusal as refusal:
            self._refuse(number, run, refusal)
            return True
        with self._lock:
            while self._held > _MOST_HELD and not self._closed:
                self._room.wait()
            if self._closed:
                return True
            self._held += len(request.body or b"")
            self._free -= 1
            if self._free < 0 and len(self._threads) < MAX_AT_ONCE:
                name = f"rotifer-gateway-{len(self._threads) + 1}"
                thread = threading.Thread(target=self._serve, name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more threads on this machine: the others will come to it
                    if not self._threads:
                        raise OSError("no thread for the gateway") from None
                else:
                    self._threads.append(thread)
                    self._free += 1
        self._queue.put(request)
        return True

    def _checked(self, number: int, run: int, told: Any, body: bytes) -> _Request:
        method, url, pairs = told.get("method"), told.get("url"), told.get("headers")
        if not (isinstance(method, str) and _METHOD.fullmatch(method)) or method in _NOT_OURS:
            raise GatewayRefusal("NETWORK_ERROR", f"{str(method)[:40]!r} is not a method to use")
        if not isinstance(url, str) or not isinstance(pairs, list):
            raise GatewayRefusal("NETWORK_ERROR", "the request has no URL or no headers")
        headers: dict[str, str] = {}
        for pair in pairs:
            name, value = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
            if not (isinstance(name, str) and _HEADER_NAME.fullmatch(name)):
                raise GatewayRefusal("NETWORK_ERROR", f"{str(name)[:80]!r} is not a header's name")
            if not (isinstance(value, str) and _HEADER_VALUE.fullmatch(value)):
                raise GatewayRefusal(
                    "NETWORK_ERROR", f"the value of the header {name} has characters it cannot have"
                )
            headers[name.lower()] = value
        now = time.monotonic()
        wait = self._window.admit(now)
        if wait is not None:
            raise GatewayRefusal(
                "RATE_LIMITED",
                f"over {self._network.requests_per_minute:,} requests in 60 s; "
                f"the next one is free in {wait:.1f} s",
            )
        sent = body if told.get("body") else None
        return _Request(number, run, method, url, headers, sent, now + self._network.timeout)

    # -- the serving threads ------------------------------------------------------------------

    def _serve(self) -> None:
        while (request := self._queue.get()) is not None:
            try:
                self._answer(request)
            finally:
                with self._lock:
                    self._free += 1
                    self._held -= len(request.body or b"")
                    self._room.notify_all()

    def _answer(self, request: _Request) -> None:
        try:
            from rotifer_bridge._gateway_http import Attempt

            attempt = Attempt(self._network, request.deadline)
            with self._lock:
                if request.run != self._run:
                    return
                self._attempts.add(attempt)
            try:
                answer = attempt.perform(request.method, request.url, request.headers, request.body)
            finally:
                with self._lock:
                    self._attempts.discard(attempt)
        except GatewayRefusal as refusal:
            self._refuse(request.id, request.run, refusal)
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours must not leave the gene waiting
            text = f"the gateway failed inside: {type(error).__name__}: {error}"
            self._refuse(request.id, request.run, GatewayRefusal("NETWORK_ERROR", text))
            return
        with self._lock:
            if request.run == self._run:
                self._received += answer.size
        head = {
            "id": request.id,
            "status": answer.status,
            "headers": answer.headers,
            "isTruncated": answer.is_truncated,
        }
        self._send(request.run, head, answer.text.encode("utf-8", "replace"))

    def _refuse(self, number: int, run: int, refusal: GatewayRefusal) -> None:
        with self._lock:
            if run == self._run:
                self._failed[refusal.code] = self._failed.get(refusal.code, 0) + 1
        told = {"code": refusal.code, "message": refusal.message}
        self._send(run, {"id": number, "error": told}, b"")

    def _send(self, run: int, head: dict[str, Any], body: bytes) -> None:
        line = dumps(head).encode("ascii") + b"\n"
        frame = b"".join(((len(line) + len(body)).to_bytes(4, "big"), line, body))
        with self._sending:
            if run != self._run:
                return
            with suppress(OSError):  # the worker has died, or we are closing
                self._channel.sendall(frame)


def opener(
    gene: Gene, *, own: bool = True, hosts: tuple[str, ...] = ()
) -> Callable[[int], Gateway]:
    """What opens a gene's gateway on a descriptor; all that it opens count together.

    Args:
        gene: the gene.
        own: whether its own ``network`` counts; a Hybrid gene's does.
        hosts: what the deployer lets it reach besides.

    Raises:
        GeneError: the gene's ``network`` cannot be used.
    """
    network = network_of(gene) if own else parse_network({})
    more = parse_network({"allowedDomains": list(hosts)}).allowed_domains
    network = network._replace(allowed_domains=(*network.allowed_domains, *more))
    window = RateWindow(network.requests_per_minute)
    return lambda fd: Gateway(fd, network, window)
