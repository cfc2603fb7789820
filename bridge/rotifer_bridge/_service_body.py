"""The body of a request: read within a size and a time, and read as strict JSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rotifer_bridge._json import NotJSON, kind_of, parse_json
from rotifer_bridge._names import shown
from rotifer_bridge._service_errors import Refused

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request

__all__ = ["BODY_SECONDS", "object_of", "read_body", "value_of"]

BODY_SECONDS = 30.0
"""How long a body may take to arrive, once its head is there [ours]."""


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body.

    Args:
        request: whose.
        limit: the most bytes that it may have.

    Raises:
        Refused: it is longer, or came too slowly, or the connection ended within it.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(int(length), limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Refused("INVALID_REQUEST", "the connection ended within the body")
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise _too_large(size, limit)
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(
            "REQUEST_TIMEOUT",
            f"the body did not arrive within {BODY_SECONDS:g} s; {size:,} bytes of it did",
            {"connection": "close"},
        ) from None


def value_of(body: bytes) -> Any:
    """The JSON value of a body, whatever its content type says.

    Raises:
        Refused: it is none, and the message has the line and the column; or a field stands twice.
    """
    try:
        return parse_json(body, once=True)
    except NotJSON as error:
        raise Refused("INVALID_REQUEST", f"the body {error.told}") from None


def object_of(
    body: bytes, known: Collection[str], required: Collection[str] = ()
) -> dict[str, Any]:
    """The JSON object of a body, with no field but the known ones.

    Raises:
        Refused: it is none, or a field is unknown or missing.
    """
    value = value_of(body)
    if not isinstance(value, dict):
        raise Refused("INVALID_REQUEST", f"the body must be an object; got {kind_of(value)}")
    for name in value:
        if name not in known:
            raise Refused(
                "INVALID_REQUEST",
                f"the body has an unknown field {shown(name)}; it knows {', '.join(known)}",
            )
    for name in required:
        if name not in value:
            raise Refused("INVALID_REQUEST", f"the body has no field {name}")
    return value


def _too_large(size: int, limit: int) -> Refused:
    return Refused("BODY_TOO_LARGE", f"the body is {size:,} bytes or more; the limit is {limit:,}")
