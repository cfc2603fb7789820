"""The life of the service: a socket, uvicorn, signals, and an end within seconds."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import uvicorn

from rotifer_bridge._launch import end_all
from rotifer_bridge._names import shown
from rotifer_bridge._service_app import HEAD_BYTES
from rotifer_bridge._service_protocol import Limits, protocol_class
from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from rotifer_bridge._service_log import Log
    from rotifer_bridge._service_state import State

__all__ = [
    "address_of",
    "is_loopback",
    "make_server",
    "open_socket",
    "raise_descriptor_limit",
    "serve",
]

STOP_SECONDS = 4
"""How long requests that are under way have when the service is to stop [ours]; 5 s in all."""
RUNS_SECONDS = 3
"""How long runs of agents have of these."""
BACKLOG = 1_024

_KEEP_ALIVE_SECONDS = 60  # never comes: silence ends after `Limits.head_seconds`
# Descriptors that are not connections: the store's, the workers' pipes, the logs.
_DESCRIPTORS_KEPT = 512
_INTERRUPTED = 130
# While requests are served, threads wait for each other's turn at the interpreter five or six
# times a call; at Python's 5 ms a turn, writes would starve (design §2).
_SWITCH_SECONDS = 1e-4


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Args:
        host: a name or an address.
        port: 0 for one that is free.

    Raises:
        UsageError: there is no such host, or the port cannot be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"--host: {shown(host)} cannot be resolved: {why}",
            help="give one of this machine's addresses or names, or leave --host out",
        ) from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} of {host} is in use by another program",
                help="choose another one, or --port 0 for one that is free",
            ) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise UsageError(
                f"--host: {shown(host)} is no address of this machine",
                help="give one of its addresses or names, or leave --host out",
            ) from None
        raise UsageError(
            f"cannot listen on port {port} of {host}: {(error.strerror or str(error)).lower()}",
            help="ports below 1024 need a privilege; --port 0 takes one that is free",
        ) from None
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Whether only programs on this machine can reach the socket."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    """Its URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def raise_descriptor_limit() -> int:
    """Let this process have as many descriptors as it may; how many connections fit in them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(16, soft - _DESCRIPTORS_KEPT, soft // 2)


class _Server(uvicorn.Server):
    """uvicorn's server; signals are ours, and it says when it accepts connections."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], object]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none: uvicorn would raise SIGTERM again at the end, and exit 0 is asked for."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def serve(
    app: ASGIApp,
    state: State,
    listener: socket.socket,
    log: Log,
    *,
    limits: Limits,
    on_started: Callable[[], object],
) -> int:
    """Serve until a signal comes; the exit code.

    SIGTERM and SIGINT let what is under way come to its end and stop within 5 s; a second one ends
    everything at once.

    Args:
        app: what answers.
        state: closed at the end.
        listener: an open socket.
        log: where it says what it does.
        limits: what connections may cost.
        on_started: called once connections are accepted.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    server = make_server(app, limits, log, on_started=on_started)
    return asyncio.run(_until_signal(server, state, listener, log))


def make_server(
    app: ASGIApp, limits: Limits, log: Log, *, on_started: Callable[[], object]
) -> uvicorn.Server:
    """The server, set up, not started; whoever runs it in a thread ends it by ``should_exit``.

    Args:
        app: what answers.
        limits: what connections may cost.
        log: where it says what it does.
        on_started: called once connections are accepted.
    """
    quiet = logging.getLogger("uvicorn.error")
    quiet.setLevel(logging.CRITICAL)  # its lines would have addresses and texts of exceptions
    most = min(limits.connections, raise_descriptor_limit())
    config = uvicorn.Config(
        app,
        http=protocol_class(limits._replace(connections=most), log),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=[("cache-control", "no-store"), ("x-content-type-options", "nosniff")],
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    return _Server(config, on_started)


async def _until_signal(
    server: uvicorn.Server, state: State, listener: socket.socket, log: Log
) -> int:
    loop = asyncio.get_running_loop()
    codes: list[int] = []

    def stop(name: str, code: int) -> None:
        if codes:
            end_all()
            os._exit(code or 128 + signal.SIGTERM)
        codes.append(code)
        log.say(f"{name}: stopping; requests under way have {STOP_SECONDS} s")
        server.should_exit = True
        loop.call_later(RUNS_SECONDS, loop.run_in_executor, None, state.warm.close)

    loop.add_signal_handler(signal.SIGTERM, stop, "SIGTERM", 0)
    loop.add_signal_handler(signal.SIGINT, stop, "SIGINT", _INTERRUPTED)
    try:
        await server.serve(sockets=[listener])
    finally:
        state.close()
    log.say("stopped")
    return codes[0] if codes else 1
