"""Who is let in: the bearer token of a request, and the name of the machine it was meant for."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from rotifer_bridge._service_errors import Refused
from rotifer_bridge._tokens import Expired
from rotifer_bridge.errors import ProjectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_bridge._service_calls import Call
    from rotifer_bridge._service_state import State
    from rotifer_bridge._tokens import Token

__all__ = ["admit", "is_loopback_name"]

_CHALLENGE = 'Bearer realm="rotifer"'


def admit(state: State, authorization: Sequence[str], call: Call) -> Token:
    """The token of a request, if it is good and of a kind that may make this call.

    Args:
        state: the service's.
        authorization: every header of that name.
        call: what is asked for.

    Raises:
        Refused: there is none, or it is not good (401), not for this (403), or the tokens cannot
            be read (503).
    """
    if not authorization:
        raise _unauthorized(
            "this needs a token: send the header 'Authorization: Bearer TOKEN', with one from "
            "'rotifer token create'",
            _CHALLENGE,
        )
    scheme, _, text = authorization[0].partition(" ")
    if len(authorization) > 1 or scheme.lower() != "bearer":
        raise _unauthorized("one header 'Authorization: Bearer TOKEN' is needed", _CHALLENGE)
    try:
        token = state.tokens.find(text.strip(), state.clock.now_ms())
    except Expired:
        raise _unauthorized("the token has expired: make a new one", _invalid("expired")) from None
    except ProjectError as error:
        raise Refused("PROJECT_ERROR", error.message) from None
    if token is None:
        raise _unauthorized("the token is unknown or was revoked", _invalid("unknown"))
    if token.kind not in call.kinds:
        raise Refused(
            "FORBIDDEN",
            f"this needs a token of the kind {' or '.join(call.kinds)}; yours is of the kind "
            f"{token.kind}",
        )
    return token


def _unauthorized(message: str, challenge: str) -> Refused:
    return Refused("UNAUTHORIZED", message, {"www-authenticate": challenge})


def _invalid(why: str) -> str:
    return f'{_CHALLENGE}, error="invalid_token", error_description="{why}"'


def is_loopback_name(host: str) -> bool:
    """Whether a Host header names this machine itself, with any port.

    A page of a stranger's whose name was made to lead to 127.0.0.1 sends the stranger's name.
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    if name.lower().removesuffix(".") == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
