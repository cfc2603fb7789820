"""Connections of the gateway: to the addresses that were checked, cut off at a deadline.

A host's name is resolved once, and the connection is made to an address that was looked at: a name
that changes its mind between the check and the connection gains nothing (projects §6). httpx's
own limits are for single steps; here every step ends at the request's one deadline.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Line", "Transport"]

_PIECE = 4_096  # of a compressed body: a piece can become a thousand times its size

_context: ssl.SSLContext | None = None
_context_lock = threading.Lock()


class Line:
    """The connections of one request, one after another, up to its deadline.

    ``cancel`` may come from another thread.

    Args:
        deadline: by ``time.monotonic``.
    """

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._resolved: SimpleQueue[list[str] | Exception] = SimpleQueue()
        self._cancelled = False

    def cancel(self) -> None:
        """End it: whatever waits for it fails with an OSError."""
        with self._lock:
            self._cancelled = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
        self._resolved.put(OSError("cancelled"))

    def left(self) -> float:
        """Seconds up to the deadline; negative beyond it."""
        return self._deadline - time.monotonic()

    def patience(self) -> float:
        """Seconds that the next step may take.

        Raises:
            TimeoutError: there are none.
        """
        left = self.left()
        if left <= 0:
            raise TimeoutError
        return left

    def resolve(self, host: str, port: int) -> list[str]:
        """The host's addresses.

        Raises:
            OSError: there are none; a TimeoutError when nobody said in time.
        """
        if _is_address(host):
            return [host]

        def ask() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                self._resolved.put(list(dict.fromkeys(str(each[4][0]) for each in found)))
            except (OSError, UnicodeError) as error:
                self._resolved.put(OSError(str(getattr(error, "strerror", None) or error)))

        # The system's resolver heeds no deadline, so it gets a thread that nobody waits for.
        threading.Thread(target=ask, name="rotifer-resolver", daemon=True).start()
        try:
            outcome = self._resolved.get(timeout=self.patience())
        except Empty:
            raise TimeoutError from None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def connect(self, address: str, port: int) -> socket.socket:
        """A connection to this very address."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._adopt(made)
            made.settimeout(self.patience())
            made.connect((address, port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            made.close()
            raise
        return made

    def secure(
        self, plain: socket.socket, context: ssl.SSLContext, name: str | None
    ) -> socket.socket:
        """The same connection under TLS; the one that is given is gone, also when this raises."""
        with plain:
            secured = context.wrap_socket(
                plain, server_hostname=name, do_handshake_on_connect=False
            )
        try:
            self._adopt(secured)
            secured.settimeout(self.patience())
            secured.do_handshake()
        except BaseException:
            secured.close()
            raise
        return secured

    def _adopt(self, connection: socket.socket) -> None:
        """What `cancel` ends from here on."""
        with self._lock:
            if self._cancelled:
                raise OSError("cancelled")
            self._socket = connection


class _Stream(httpcore.NetworkStream):
    """A connection of a line: every step of it ends at the line's deadline."""

    def __init__(self, line: Line, connection: socket.socket) -> None:
        self._line = line
        self._connection = connection

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        self._connection.settimeout(self._line.patience())
        return self._connection.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        rest = memoryview(buffer)
        while rest:
            self._connection.settimeout(self._line.patience())
            rest = rest[self._connection.send(rest) :]

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Stream(
            self._line, self._line.secure(self._connection, ssl_context, server_hostname)
        )

    def get_extra_info(self, info: str) -> Any:
        return self._connection if info == "socket" else None


class _Backend(httpcore.NetworkBackend):
    """Connects to the addresses that were checked, whatever the name says by now."""

    def __init__(self, line: Line, addresses: list[str]) -> None:
        self._line = line
        self._addresses = addresses

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        last: OSError = OSError("no address")
        for address in self._addresses:
            try:
                return _Stream(self._line, self._line.connect(address, port))
            except TimeoutError:
                raise
            except OSError as error:
                last = error
        raise last


class Transport(httpx.BaseTransport):
    """httpx's way to a connection of its own.

    Args:
        line: what makes and ends the connection.
        addresses: where to, in order; the host's name is not asked again.
    """

    def __init__(self, line: Line, addresses: list[str]) -> None:
        self._backend = _Backend(line, addresses)
        self._connection: httpcore.HTTPConnection | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        origin = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        secure = url.scheme == "https"
        self._connection = httpcore.HTTPConnection(
            origin.origin,
            ssl_context=_tls() if secure else None,
            network_backend=self._backend,
        )
        response = self._connection.handle_request(
            httpcore.Request(
                request.method,
                origin,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Body(httpx.SyncByteStream):
    """A body in pieces that may be compressed: none of them becomes too large."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        names = {name.lower() for name, _ in response.headers}
        self._piece = _PIECE if b"content-encoding" in names else 1 << 20

    def __iter__(self) -> Iterator[bytes]:
        for part in self._response.iter_stream():
            for start in range(0, len(part), self._piece):
                yield part[start : start + self._piece]

    def close(self) -> None:
        self._response.close()


def _tls() -> ssl.SSLContext:
    """The one TLS context: the machine's own certificates, or those that httpx comes with."""
    global _context  # noqa: PLW0603 - making one takes longer than a request
    with _context_lock:
        if _context is None:
            _context = httpx.create_ssl_context()
            _context.set_alpn_protocols(["http/1.1"])
        return _context


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
