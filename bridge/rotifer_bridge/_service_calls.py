"""The one table of the service's calls: who may make them, and what they take and give.

The routes, the checks of tokens and the OpenAPI document are all made from it, and a test holds
docs/http.md to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_bridge import (
    _service_agents as agents,
)
from rotifer_bridge import (
    _service_layers as layers,
)
from rotifer_bridge import (
    _service_memory as memory,
)
from rotifer_bridge._service_errors import RUN_CODES
from rotifer_engine import ERROR_CODES
from rotifer_engine.layers import LAYER_ERRORS, all_memory_layers

if TYPE_CHECKING:
    from rotifer_bridge._service_state import Asked, State

__all__ = ["BODY_LIMIT", "CALLS", "RUN_BODY_LIMIT", "Call", "Parameter"]

BODY_LIMIT = 2 * 1024 * 1024
"""The most bytes of a body [ours]: a value of 1 MiB in base64, a key in escapes, and room."""
RUN_BODY_LIMIT = 8 * 1024 * 1024
"""The same for the input of a run [ours]."""

_MEMORY = tuple(ERROR_CODES)
_STORE = ("MEMORY_INVALID_INPUT", "MEMORY_STORAGE_ERROR")
_AGENT = ("E0050", "PROJECT_ERROR")


class Parameter(NamedTuple):
    """A parameter of the query.

    Args:
        name: as it stands in the address.
        schema: what it may be.
        about: a sentence.
    """

    name: str
    schema: dict[str, Any]
    about: str


class Call(NamedTuple):
    """One call.

    Args:
        method: of HTTP.
        path: the address; the part in braces is an agent's name.
        name: its name in the OpenAPI document.
        kinds: the kinds of tokens that may make it.
        lane: the threads it runs in.
        answer: what does it.
        gives: the name of the model of its answer.
        codes: the errors of its own, beside those that every call has.
        about: a sentence.
        takes: the name of the model of its body; empty for none.
        query: its parameters.
        status: of its answer.
        limit: the most bytes of its body.
        together: does several at once; for each what it gives, or the error it ends with.
    """

    method: str
    path: str
    name: str
    kinds: tuple[str, ...]
    lane: str
    answer: Callable[[State, Asked], object]
    gives: str
    codes: tuple[str, ...]
    about: str
    takes: str = ""
    query: tuple[Parameter, ...] = ()
    status: int = 200
    limit: int = BODY_LIMIT
    together: Callable[[State, Sequence[Asked]], Sequence[object]] | None = None


def _number(name: str, default: int, low: int, high: int, about: str) -> Parameter:
    schema = {"type": "integer", "minimum": low, "maximum": high, "default": default}
    return Parameter(name, schema, about)


_CATEGORY = Parameter("category", {"$ref": "#/components/schemas/Category"}, "One category.")
_KEY = Parameter("key", {"$ref": "#/components/schemas/Key"}, "The key of one entry.")


def _text(name: str, about: str) -> Parameter:
    return Parameter(name, {"$ref": f"#/components/schemas/{name.capitalize()}"}, about)


_LAYER = Parameter("layer", {"type": "string", "enum": list(all_memory_layers())}, "One layer.")
_ACTOR = _text("actor", "Whose: the token must be bound to it.")
_NAMESPACE = _text("namespace", "Exactly this namespace.")
_SESSION = _text("session", "The session the actor is in: it shows what is ephemeral there.")
_SCOPE = _text("scope", "One scope; not together with a layer.")
_LAYERED = (*LAYER_ERRORS, *_STORE)
_READERS = ("actor", "admin")

_OF_A_GENE = "/agents/{agent}/memory/"

CALLS: tuple[Call, ...] = (
    Call(
        "GET", "/memory", "listLayers", _READERS, "read", layers.list_entries,
        "LayerEntries", _LAYERED, "The entries that the actor sees, newest first.",
        query=(
            _LAYER, _SCOPE, _ACTOR, _NAMESPACE,
            Parameter("kind", {"$ref": "#/components/schemas/Kind"}, "One kind."),
            _SESSION,
            _number("limit", 50, 1, 1_000, "At most so many."),
            _number("offset", 0, 0, 10**9, "Leave out so many of the newest."),
        ),
    ),
    Call(
        "GET", "/memory/counts", "countLayers", _READERS, "read", layers.counts,
        "Counts", _LAYERED, "How many entries of each layer the actor sees.",
        query=(_ACTOR, _SESSION),
    ),
    Call(
        "POST", "/memory", "saveToLayer", _READERS, "change", layers.save,
        "LayerEntry", _LAYERED, "Write to a layer.", takes="LayerWrite",
        query=(_ACTOR,), status=201, together=layers.save_together,
    ),
    Call(
        "DELETE", "/memory/layer", "clearLayer", _READERS, "change", layers.clear,
        "Deleted", _LAYERED, "Delete the actor's entries of a layer, or all of consensus.",
        query=(_LAYER, _SCOPE, _ACTOR, _NAMESPACE),
    ),
    Call(
        "GET", "/agents", "listAgents", ("deployer",), "read", agents.list_all,
        "Agents", ("PROJECT_ERROR",), "Every agent's record.",
    ),
    Call(
        "POST", "/agents", "createAgent", ("deployer",), "read", agents.create,
        "CreatedAgent", ("E0040", "NAME_TAKEN", "PROJECT_ERROR"),
        "Make an agent from genes of the project.",
        takes="NewAgent", status=201,
    ),
    Call(
        "POST", "/agents/{agent}/run", "runAgent", ("deployer",), "run", agents.run,
        "Run", (*RUN_CODES, "PROJECT_ERROR", "STOPPING"), "Run an agent once.",
        takes="RunRequest", limit=RUN_BODY_LIMIT,
    ),
    Call(
        "POST", _OF_A_GENE + "read", "readMemory", ("gene",), "read", memory.call("read"),
        "EntryOrNull", _MEMORY, "One entry, or null.", takes="ReadRequest",
    ),
    Call(
        "POST", _OF_A_GENE + "write", "writeMemory", ("gene",), "change", memory.call("write"),
        "MemoryEntry", _MEMORY, "Create or replace an entry.", takes="WriteRequest",
        together=memory.write_together,
    ),
    Call(
        "POST", _OF_A_GENE + "query", "queryMemory", ("gene",), "read", memory.call("query"),
        "Entries", _MEMORY, "The entries that meet every filter.", takes="MemoryFilter",
    ),
    Call(
        "POST", _OF_A_GENE + "delete", "deleteMemory", ("gene",), "change", memory.call("delete"),
        "Deleted", _MEMORY, "Delete an entry.", takes="DeleteRequest",
    ),
    Call(
        "GET", "/agents/{agent}/memory", "listMemory", ("deployer",), "read", memory.list_entries,
        "MemoryList", (*_AGENT, *_STORE), "What an agent remembers, without values.",
        query=(
            _CATEGORY,
            _number("limit", memory.LIST_LIMIT, 1, memory.LIST_MOST, "At most so many."),
            _number("offset", 0, 0, 10**9, "Leave out so many of the first."),
        ),
    ),
    Call(
        "DELETE", "/agents/{agent}/memory", "clearMemory", ("deployer",), "change", memory.clear,
        "Deleted", (*_AGENT, *_STORE, "MEMORY_NOT_FOUND"),
        "Delete one entry, or all of a category, whatever their policies say.",
        query=(_CATEGORY, _KEY),
    ),
)  # fmt: skip
