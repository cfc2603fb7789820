"""The OpenAPI document, made from the table of calls: every answer that may come is in it."""

from __future__ import annotations

from functools import cache
from typing import Any

from rotifer_bridge._service_calls import CALLS, Call
from rotifer_bridge._service_errors import meaning_of, status_of
from rotifer_bridge._service_schemas import components, ref
from rotifer_bridge._tokens import KINDS

__all__ = ["EVERY_CALL", "WITH_BODY", "codes_of", "openapi_document"]

#: What any call with a token may be answered with.
EVERY_CALL = (
    "INVALID_REQUEST",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "WRONG_HOST",
    "INTERNAL_ERROR",
    "PROJECT_ERROR",
    "BUSY",
)
#: And one with a body.
WITH_BODY = ("BODY_TOO_LARGE",)

_JSON = "application/json"
_NOBODY = (
    "INVALID_REQUEST",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "WRONG_HOST",
    "BUSY",
)


def codes_of(call: Call) -> list[str]:
    """Every code that a call may be answered with, in the order of their statuses."""
    codes = dict.fromkeys((*EVERY_CALL, *(WITH_BODY if call.takes else ()), *call.codes))
    return sorted(codes, key=status_of)


@cache
def openapi_document() -> dict[str, Any]:
    """The whole document."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("rotifer-bridge")
    except PackageNotFoundError:
        release = "0"
    paths: dict[str, dict[str, Any]] = {"/healthz": {"get": _health()}}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rotifer",
            "version": release,
            "description": "The memories of a project's agents, and its layers.",
        },
        "paths": paths,
        "components": {
            "schemas": components(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": f"From `rotifer token create`: {', '.join(KINDS)}.",
                }
            },
        },
    }


def _health() -> dict[str, Any]:
    return {
        "operationId": "health",
        "summary": "Whether the service answers.",
        "responses": _responses(200, "Health", _NOBODY),
    }


def _operation(call: Call) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.about,
        "description": f"Token: {' or '.join(call.kinds)}.",
        "security": [{"token": []}],
        "parameters": _parameters(call),
        "responses": _responses(call.status, call.gives, codes_of(call)),
    }
    if call.takes:
        operation["requestBody"] = {
            "required": True,
            "content": {_JSON: {"schema": ref(call.takes)}},
        }
    return operation


def _parameters(call: Call) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": parameter.name,
            "in": "query",
            "required": False,
            "description": parameter.about,
            "schema": parameter.schema,
        }
        for parameter in call.query
    ]
    if "{agent}" in call.path:
        found.append(
            {
                "name": "agent",
                "in": "path",
                "required": True,
                "description": "The agent's name.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 100},
            }
        )
    return found


def _responses(status: int, gives: str, codes: list[str] | tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(status): {"description": "Done.", "content": {_JSON: {"schema": ref(gives)}}}
    }
    for code in codes:
        key = str(status_of(code))
        line = f"`{code}`: {meaning_of(code)}."
        if key in found:
            found[key]["description"] += f" {line}"
            continue
        found[key] = {"description": line, "content": {_JSON: {"schema": ref("Error")}}}
    if "401" in found:
        found["401"]["headers"] = {
            "WWW-Authenticate": {"required": True, "schema": {"type": "string"}}
        }
    return found
