"""What the HTTP service answers when it refuses: one shape, one table of codes.

Every error is ``{"error": {"code", "message"}}``. The memory's codes and their statuses are the
engine's (memory §8); the layers' are 400 (layers §3); those of the service itself are below.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from rotifer_bridge._record import FaultyRecord, NameTaken
from rotifer_bridge.errors import (
    AgentError,
    GeneError,
    RotiferError,
    RunError,
    RunTimedOut,
    UsageError,
)
from rotifer_engine import ERROR_CODES, AgentMemoryError
from rotifer_engine.layers import LAYER_ERROR_STATUS, LAYER_ERRORS

__all__ = [
    "RUN_CODES",
    "SERVICE_CODES",
    "Fault",
    "Refused",
    "error_body",
    "fault_of",
    "meaning_of",
    "status_of",
]


class Code(NamedTuple):
    """The status of a code, and when it is given."""

    status: int
    meaning: str


#: The service's own codes, once.
SERVICE_CODES: dict[str, Code] = {
    "INVALID_REQUEST": Code(400, "the body is not JSON, or a field or parameter breaks a rule"),
    "UNAUTHORIZED": Code(401, "no token, or one that is unknown, revoked or expired"),
    "FORBIDDEN": Code(403, "the token is not for this"),
    "NOT_FOUND": Code(404, "there is no such address"),
    "METHOD_NOT_ALLOWED": Code(405, "the address does not take this method"),
    "REQUEST_TIMEOUT": Code(408, "the request did not arrive in time"),
    "NAME_TAKEN": Code(409, "there is an agent of this name already"),
    "BODY_TOO_LARGE": Code(413, "the body is over the limit"),
    "WRONG_HOST": Code(421, "the Host header does not name this machine"),
    "INTERNAL_ERROR": Code(500, "a fault of the service's own; its log has more"),
    "PROJECT_ERROR": Code(503, "a file of the project cannot be used"),
    "BUSY": Code(503, "too much is under way; try again after the time that Retry-After says"),
    "STOPPING": Code(503, "the service is stopping"),
}

#: What making and running agents answers with, beside these (projects §3).
RUN_CODES: dict[str, Code] = {
    "E0040": Code(400, "a gene of the new agent is missing or cannot be used"),
    "E0050": Code(404, "there is no such agent"),
    "E0051": Code(502, "a gene of the agent has no source, or cannot be made ready"),
    "E0052": Code(502, "a gene gave no answer"),
    "E0053": Code(502, "the composition gave no answer"),
    "TIMED_OUT": Code(504, "a gene gave no answer in its time"),
}


class Refused(Exception):
    """The service refuses a request.

    Args:
        code: one of `SERVICE_CODES`.
        message: one sentence for a person.
        headers: further headers of the answer.
    """

    def __init__(self, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


class Fault(NamedTuple):
    """An error as it is answered."""

    status: int
    code: str
    message: str


def status_of(code: str) -> int:
    """The HTTP status of any code."""
    if code in LAYER_ERRORS:
        return LAYER_ERROR_STATUS
    if code in ERROR_CODES:
        return ERROR_CODES[code].http_status
    return (SERVICE_CODES.get(code) or RUN_CODES[code]).status


def meaning_of(code: str) -> str:
    """When a code is given, in half a sentence."""
    if code in LAYER_ERRORS:
        return LAYER_ERRORS[code].meaning
    if code in ERROR_CODES:
        return ERROR_CODES[code].meaning
    return (SERVICE_CODES.get(code) or RUN_CODES[code]).meaning


def error_body(code: str, message: str) -> bytes:
    """The body of an error's answer."""
    return json.dumps({"error": {"code": code, "message": message}}).encode("ascii")


def fault_of(error: Exception) -> Fault | None:
    """How an error is answered; None for one that nobody foresaw."""
    if isinstance(error, AgentMemoryError | Refused):
        return Fault(status_of(error.code), error.code, error.message)
    if not isinstance(error, RotiferError):
        return None
    code = _code_of(error)
    return Fault(status_of(code), code, error.message)


def _code_of(error: RotiferError) -> str:
    if isinstance(error, RunTimedOut):
        return "TIMED_OUT"
    if isinstance(error, FaultyRecord):
        return "PROJECT_ERROR"
    if isinstance(error, NameTaken):
        return "NAME_TAKEN"
    if isinstance(error, UsageError):
        return "INVALID_REQUEST"
    if error.code in RUN_CODES:
        return error.code or ""
    if isinstance(error, RunError):
        return "E0052"
    if isinstance(error, GeneError):
        return "E0051"
    return "INVALID_REQUEST" if isinstance(error, AgentError) else "PROJECT_ERROR"
