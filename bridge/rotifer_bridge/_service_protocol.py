"""One connection of the HTTP service: deadlines for slow clients, and a limit for how many.

uvicorn reads and answers; what it leaves to a proxy in front is here, because there is none: a
request's head that never comes to its end, an answer that nobody takes, one connection too many.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rotifer_bridge._service_errors import error_body, status_of

if TYPE_CHECKING:
    from rotifer_bridge._service_log import Log

__all__ = ["Limits", "protocol_class"]

_LINGER = 5.0  # how long bytes that were written last may wait to be taken


class Limits(NamedTuple):
    """What connections may cost [ours].

    Args:
        connections: how many may be open at once.
        head_seconds: how long a request's head may take, and a connection be silent before it.
        take_seconds: how long an answer may wait for whoever asked.
    """

    connections: int = 16_384
    head_seconds: float = 10.0
    take_seconds: float = 60.0


_REASONS = {400: "Bad Request", 408: "Request Timeout", 503: "Service Unavailable"}


def _plain_answer(code: str, message: str) -> bytes:
    """A whole answer, for where no request is there to be answered; the connection ends with it."""
    body = error_body(code, message)
    status = status_of(code)
    retry = "retry-after: 5\r\n" if status == 503 else ""
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n{retry}connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def protocol_class(limits: Limits, log: Log) -> type[asyncio.Protocol]:
    """The class of the connections of one service."""

    class Connection(_Connection):
        _limits = limits
        _log = log

    return Connection


class _Connection(H11Protocol):
    _limits: Limits
    _log: Log

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._refused = False
        self._silent = True
        self._head_timer: asyncio.TimerHandle | None = None
        self._take_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it in and wait for a request, or refuse it."""
        most = self._limits.connections
        if len(self.connections) >= most:
            self._refused = True
            self.transport = transport
            self._log.tally(f"refused a connection: {most:,} are open, which is the limit")
            self._end(_plain_answer("BUSY", f"{most:,} connections are open, which is the limit"))
            return
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on; a refused connection has nothing to say any more."""
        if self._refused or self.transport.is_closing():
            return
        self._silent = False
        super().data_received(data)
        self._watch()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """A client that has said all it wants may still want its answer (a half-closed connection).

        Returns:
            True to keep our half open until the answer is out.
        """
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn's types leave the None out
        if self._refused or cycle is None or cycle.response_complete or cycle.more_body:
            return None
        cycle.keep_alive = False
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self._cancel("_head_timer")
        self._cancel("_take_timer")
        if not self._refused:
            super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """After an answer: what is there already is the next request."""
        self._silent = True
        super().on_response_complete()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self.loop.call_later(self._limits.take_seconds, self.transport.abort)
        self._watch()

    def pause_writing(self) -> None:
        """The client is slower than we are: it has its time."""
        if self._refused:
            return
        super().pause_writing()
        if self._take_timer is None:
            self._take_timer = self.loop.call_later(self._limits.take_seconds, self._not_taken)

    def resume_writing(self) -> None:
        """It has caught up."""
        self._cancel("_take_timer")
        if not self._refused:
            super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are not ours
        """What came is no HTTP: said in the shape of every other error."""
        self._end(_plain_answer("INVALID_REQUEST", "this is not a request of HTTP/1.1"))

    # ---- the deadlines

    def _watch(self) -> None:
        """See that a deadline runs exactly while a request is awaited.

        uvicorn's own timer runs between two requests, and stops at the first byte of the next.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if (cycle is not None and not cycle.response_complete) or self.transport.is_closing():
            self._cancel("_head_timer")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        seconds = self._limits.head_seconds
        cycle: RequestResponseCycle | None = self.cycle
        if self._silent or cycle is not None:
            self._log.tally(f"closed a connection: no request came on it within {seconds:g} s")
            self._end(b"")
            return
        self._log.tally(f"closed a connection: its request took more than {seconds:g} s to come")
        self._end(
            _plain_answer("REQUEST_TIMEOUT", f"the request's head did not arrive in {seconds:g} s")
        )

    def _not_taken(self) -> None:
        self._take_timer = None
        self._log.tally(
            f"closed a connection: its answer was not taken within {self._limits.take_seconds:g} s"
        )
        self.transport.abort()

    def _end(self, answer: bytes) -> None:
        """Close, with these last words; nobody is waited for who does not take them."""
        if answer:
            self.transport.write(answer)
        self.transport.close()
        self.loop.call_later(_LINGER, self.transport.abort)

    def _cancel(self, name: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
