"""What the service takes and gives, as JSON Schemas for its OpenAPI document.

Requests are judged by the engine, whose refusals are the same at every door; these schemas say
beforehand what it takes. Words and limits come from the engine's tables, the entries' schemas from
its models.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from rotifer_bridge._composition import COMPOSITIONS, MERGES
from rotifer_bridge._names import NAME_LIMIT
from rotifer_bridge._service_agents import RUN_SECONDS_MAX
from rotifer_engine import CATEGORIES, MAX_QUOTA_BYTES, MAX_VALUE_BYTES
from rotifer_engine.layers import KINDS, LAYERS, LIMITS, all_memory_layers
from rotifer_engine.models import (
    MemoryAccessPolicy,
    MemoryEntry,
    MemoryFilter,
    MemoryRetentionPolicy,
)

__all__ = ["components", "ref"]

Schema = dict[str, Any]

# base64 in its one canonical form.
_BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?$"
_GENE_NAME = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
_COUNT: Schema = {"type": "integer", "minimum": 0}
_STRING: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _STRING}
_ANY: Schema = {}


def ref(name: str) -> Schema:
    """A reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Schema, optional: Schema | None = None, **more: Any) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _text(name: str) -> Schema:
    """A text of the layers; characters are counted here, bytes by the engine."""
    return {
        "type": "string",
        "maxLength": LIMITS[name],
        "pattern": r"^[^\u0000]*$",
        "description": f"At most {LIMITS[name]:,} bytes of UTF-8, without NUL.",
    }


_WRITABLE = [name for name, layer in LAYERS.items() if layer.is_writable]
_NAME: Schema = {"type": "string", "pattern": _GENE_NAME, "maxLength": NAME_LIMIT}

_OWN: dict[str, Schema] = {
    "Error": _object({"error": _object({"code": _STRING, "message": _STRING})}),
    "Health": _object({"status": {"const": "ok"}}),
    # ---- an agent's memory
    "Key": {
        "type": "string",
        "minLength": 1,
        "maxLength": 1_024,
        "pattern": r"^[^\u0000]+$",
        "description": "At most 1,024 bytes of UTF-8, without NUL.",
    },
    "Value": {
        "type": "string",
        "pattern": _BASE64,
        "contentEncoding": "base64",
        "maxLength": (MAX_VALUE_BYTES + 2) // 3 * 4,
        "description": f"At most {MAX_VALUE_BYTES:,} bytes, in canonical base64.",
    },
    "Category": {"type": "string", "enum": list(CATEGORIES)},
    "ReadRequest": _object({"key": ref("Key")}, {"category": ref("Category")}),
    "WriteRequest": _object(
        {"key": ref("Key"), "value": ref("Value"), "category": ref("Category")},
        {
            "accessPolicy": ref("MemoryAccessPolicy"),
            "retentionPolicy": _or_null(ref("MemoryRetentionPolicy")),
        },
        description="A policy that is left out keeps what is stored; retentionPolicy null follows "
        "the agent.",
    ),
    "DeleteRequest": _object({"key": ref("Key")}),
    "EntryOrNull": _or_null(ref("MemoryEntry")),
    "Entries": _list_of(ref("MemoryEntry")),
    "Deleted": _object({"deleted": _COUNT}),
    "MemoryList": _object(
        {
            "agent": _STRING,
            "usageBytes": _COUNT,
            "quotaBytes": _COUNT,
            "entries": _list_of(
                _object(
                    {
                        "key": _STRING,
                        "category": ref("Category"),
                        "size": _COUNT,
                        "createdBy": _STRING,
                        "updatedAt": {"type": "string", "format": "date-time"},
                    }
                )
            ),
        }
    ),
    # ---- layers
    **{name.capitalize(): _text(name) for name in ("actor", "namespace", "scope", "session")},
    "Kind": {"type": "string", "enum": list(KINDS)},
    "LayerWrite": _object(
        {
            "layer": {"type": "string", "enum": _WRITABLE},
            "content": {
                "type": "string",
                "minLength": 1,
                "maxLength": LIMITS["content"],
                "pattern": r"^[^\u0000]+$",
            },
        },
        {
            "actor": ref("Actor"),
            "namespace": ref("Namespace"),
            "kind": {**ref("Kind"), "default": "fact"},
            "session": ref("Session"),
            "key": ref("Key"),
            "metadata": {"type": "object"},
        },
    ),
    "LayerEntry": _object(
        {
            "entryId": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "layer": {"type": "string", "enum": list(all_memory_layers())},
            "scope": _STRING,
            "actor": _or_null(_STRING),
            "namespace": _STRING,
            "kind": _STRING,
            "session": _or_null(_STRING),
            "key": _or_null(_STRING),
            "content": _STRING,
            "metadata": {"type": "object"},
            "createdAt": {"type": "string", "format": "date-time"},
            "updatedAt": {"type": "string", "format": "date-time"},
        }
    ),
    "LayerEntries": _list_of(ref("LayerEntry")),
    "Counts": _object(dict.fromkeys(all_memory_layers(), _COUNT)),
    # ---- agents
    "Agent": {
        "type": "object",
        "required": ["id", "name", "genome"],
        "properties": {"id": _STRING, "name": _STRING, "genome": _list_of(_STRING)},
        "description": "An agent's record, fields of other programs included.",
    },
    "Agents": _object({"agents": _list_of(ref("Agent")), "faults": _TEXTS}),
    "NewAgent": _object(
        {"name": _NAME, "genes": {**_list_of(_NAME), "minItems": 1}},
        {
            "composition": {
                "anyOf": [{"type": "string", "enum": list(COMPOSITIONS)}, {"type": "object"}]
            },
            "parMerge": {"type": "string", "enum": list(MERGES)},
            "memoryQuota": {
                "anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": MAX_QUOTA_BYTES},
                    {"type": "string", "pattern": "^[1-9][0-9]{0,5}(KB|MB|GB)$"},
                    {"type": "null"},
                ]
            },
        },
    ),
    "CreatedAgent": _object({"agent": ref("Agent"), "warnings": _TEXTS}),
    "RunRequest": _object(
        {},
        {
            "input": _ANY,
            "strict": {"type": "boolean", "default": False},
            "timeLimit": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": RUN_SECONDS_MAX,
                "default": 60,
                "description": "Seconds for each gene.",
            },
        },
        description="input left out is an empty object.",
    ),
    "Run": _object(
        {
            "agent": _STRING,
            "composition": _STRING,
            "output": _ANY,
            "steps": _list_of({"type": "object"}),
            "durationMs": {"type": "number"},
            "warnings": _TEXTS,
            "log": _list_of(_object({"gene": _STRING, "line": _STRING})),
            "logLinesDropped": _COUNT,
        }
    ),
}


def components() -> dict[str, Schema]:
    """Every schema by its name."""
    _, theirs = models_json_schema(
        [
            (MemoryEntry, "serialization"),
            (MemoryFilter, "validation"),
            (MemoryAccessPolicy, "validation"),
            (MemoryRetentionPolicy, "validation"),
        ],
        ref_template="#/components/schemas/{model}",
    )
    return {**theirs["$defs"], **_OWN}
