"""The service as an ASGI application: routes from the table of calls, one shape for every error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rotifer_bridge._names import shown
from rotifer_bridge._service_auth import admit, is_loopback_name
from rotifer_bridge._service_body import read_body
from rotifer_bridge._service_calls import CALLS, Call
from rotifer_bridge._service_errors import Refused, error_body, fault_of, status_of
from rotifer_bridge._service_openapi import openapi_document
from rotifer_bridge._service_state import Asked, State
from rotifer_engine.quick import encoder

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rotifer_bridge._service_lanes import Work
    from rotifer_bridge._service_log import Log

__all__ = ["HEAD_BYTES", "make_app"]

_encode = encoder(allow_nan=False)
HEAD_BYTES = 32 * 1024
"""The most bytes of a request's head [ours]."""

_JSON = "application/json"
_NO_TURN = nullcontext()


def make_app(state: State, log: Log, *, loopback: bool) -> ASGIApp:
    """The application.

    Args:
        state: what its requests share.
        log: where it says what it does.
        loopback: whether only this machine can reach it; then it answers to no other name.
    """
    app = FastAPI(title="Rotifer", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.openapi = openapi_document  # type: ignore[method-assign]  # the one table says more
    app.add_exception_handler(HTTPException, _no_route)
    app.add_route("/healthz", _healthy, methods=["GET"])
    turns = _Turns()
    for call in CALLS:
        app.add_route(call.path, _endpoint(state, call, log, turns), methods=[call.method])
    return _Gate(app, loopback=loopback)


async def _healthy(_: Request) -> Response:
    return Response(b'{"status":"ok"}', media_type=_JSON)


async def _no_route(request: Request, error: Exception) -> Response:
    """An address or a method that there is not."""
    status = getattr(error, "status_code", 404)
    headers = dict(getattr(error, "headers", None) or {})
    if status == 405:
        what = f"this address does not take {shown(request.method)}"
        return _refusal(Refused("METHOD_NOT_ALLOWED", what, headers))
    return _refusal(Refused("NOT_FOUND", "there is no such address; see /openapi.json"))


def _refusal(refused: Refused) -> Response:
    return Response(
        error_body(refused.code, refused.message),
        status_of(refused.code),
        refused.headers,
        _JSON,
    )


class _Gate:
    """Refuses what is too long or no text, or was sent to another machine's name (DNS rebinding).

    Args:
        app: what answers the rest.
        loopback: whether only the names of this machine are answered to.
    """

    def __init__(self, app: ASGIApp, *, loopback: bool) -> None:
        self._app = app
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what is right."""
        refused = self._refused(scope)
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await _refusal(refused)(scope, receive, send)

    def _refused(self, scope: Scope) -> Refused | None:
        headers = scope["headers"]
        size = len(scope["raw_path"]) + len(scope["query_string"])
        size += sum(len(name) + len(value) for name, value in headers)
        if size > HEAD_BYTES:  # uvicorn's own limit is for a head that comes in pieces
            return Refused(
                "INVALID_REQUEST",
                f"the request's head is {size:,} bytes; the limit is {HEAD_BYTES:,}",
                {"connection": "close"},
            )
        if not (_is_utf8(scope["raw_path"]) and _is_utf8(scope["query_string"])):
            return Refused(
                "INVALID_REQUEST", "the bytes of the address, after its percent signs, are no UTF-8"
            )
        if not self._loopback:
            return None
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) == 1 and is_loopback_name(hosts[0].decode("latin-1")):
            return None
        return Refused(
            "WRONG_HOST",
            "the Host header does not name this machine; use 127.0.0.1, [::1] or localhost",
        )


def _is_utf8(part: bytes) -> bool:
    """Whether a part of an address is text: frameworks put U+FFFD for what is none."""
    if b"%" not in part:
        return True  # what is not ASCII was no request at all
    try:
        unquote_to_bytes(part).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Turns:
    """Runs of one agent take turns before they take a thread, so that no other agent waits."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, list[None]]] = {}

    @asynccontextmanager
    async def of(self, agent: str) -> AsyncIterator[None]:
        lock, waiting = self._locks.setdefault(agent, (asyncio.Lock(), []))
        waiting.append(None)
        try:
            async with lock:
                yield
        finally:
            waiting.pop()
            if not waiting:
                self._locks.pop(agent, None)


def _endpoint(
    state: State, call: Call, log: Log, turns: _Turns
) -> Callable[[Request], Awaitable[Response]]:
    """What answers a call: let in, read, carry out in a thread, answer."""
    work = _work_of(state, call, log)

    async def carried_out(request: Request) -> Response:
        token = admit(state, request.headers.getlist("authorization"), call)
        query = _query(request, call)
        body = b""
        if call.takes:
            with state.lanes.arriving(call.lane, token.id):
                body = await read_body(request, call.limit)
        state.lanes.admit(call.lane)
        try:
            asked = Asked(token, request.path_params, query, body)
            async with turns.of(asked.path["agent"]) if call.lane == "run" else _NO_TURN:
                status, text = await state.lanes.run(call.lane, work, asked)
        finally:
            state.lanes.leave(call.lane)
        return Response(text, status, media_type=_JSON)

    async def endpoint(request: Request) -> Response:
        started = perf_counter()
        try:
            response = await carried_out(request)
        except Refused as refused:
            response = _refusal(refused)
        log.request(call.method, call.path, response.status_code, perf_counter() - started)
        return response

    return endpoint


def _query(request: Request, call: Call) -> dict[str, str]:
    """The parameters of the address, each a known one and given once."""
    query: dict[str, str] = {}
    known = [parameter.name for parameter in call.query]
    for name, value in request.query_params.multi_items():
        if name not in known:
            knows = f"it knows {', '.join(known)}" if known else "it knows none"
            raise Refused("INVALID_REQUEST", f"unknown parameter {shown(name)}; {knows}")
        if name in query:
            raise Refused("INVALID_REQUEST", f"the parameter {name} was given more than once")
        query[name] = value
    return query


def _work_of(state: State, call: Call, log: Log) -> Work:
    """What carries the call out, in a thread, for those who ask for it together; never raises."""

    def answered(found: object) -> tuple[int, bytes]:
        if not isinstance(found, Exception):
            try:
                return call.status, _dumps(found)
            except (ValueError, TypeError, RecursionError) as error:  # what no JSON can say
                found = error
        fault = fault_of(found)
        if fault is None:
            log.fault(f"{call.method} {call.path}", found)
            message = "a fault of the service's own; its log says where"
            return status_of("INTERNAL_ERROR"), error_body("INTERNAL_ERROR", message)
        # Whoever asks may be on another machine: where the project lies is none of their business.
        message = fault.message.replace(state.project.root, ".")
        return fault.status, error_body(fault.code, message)

    def work(asked: Sequence[Asked]) -> list[tuple[int, bytes]]:
        return [answered(found) for found in _found(state, call, asked, log)]

    return work


def _found(state: State, call: Call, asked: Sequence[Asked], log: Log) -> Sequence[object]:
    """What each call gives, or the error that it ends with: one's fault is not another's."""
    if call.together is not None:
        try:
            return call.together(state, asked)
        except Exception as error:  # noqa: BLE001 - nor is it the service's end
            if len(asked) == 1:
                return [error]
            # Whose it is shows when each is alone; to write again what was written is harmless.
            log.fault(f"{len(asked):,} of {call.method} {call.path} together", error)
    found: list[object] = []
    for one in asked:
        try:
            found.append(call.answer(state, one))
        except Exception as error:  # noqa: BLE001
            found.append(error)
    return found


def _dumps(value: Any) -> bytes:
    return _encode(value).encode("ascii")
