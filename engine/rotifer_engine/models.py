"""The memory's values as pydantic models, for HTTP, for files and for their JSON Schemas.

The fields are those of the plain tuples that the engine uses and the words those of its tables, so
there is no second list of either; the JSON has the names of the memory page. A model says what a
value looks like. What may be done with it is decided by :func:`rotifer_engine.perform`.

Importing this module imports pydantic, which a run of an agent never does (design §5a).
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    create_model,
)
from pydantic.alias_generators import to_camel

from rotifer_engine._access import SCOPES
from rotifer_engine._category import CATEGORIES
from rotifer_engine._entry import Entry
from rotifer_engine._filter import MAX_LIMIT, Selection
from rotifer_engine._input import check_key, check_prefix, decode_value
from rotifer_engine._policy import (
    MAX_RETENTION_DAYS,
    SHARE_POLICIES,
    AccessPolicy,
    RetentionPolicy,
)
from rotifer_engine._time import parse_time
from rotifer_engine.errors import InvalidInput

__all__ = [
    "MemoryAccessPolicy",
    "MemoryEntry",
    "MemoryFilter",
    "MemoryRetentionPolicy",
]

#: Fields of an entry that stay inside the engine.
_INTERNAL = frozenset({"created_domain", "order"})


def _checked(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """A rule of the engine as pydantic wants it: the same value back, or a ValueError."""

    def validate(value: Any) -> Any:
        try:
            check(value)
        except InvalidInput as error:
            raise ValueError(error.message) from None
        return value

    return validate


def _decoded(value: object) -> object:
    """Bytes as they are; a base64 text decoded, if it is canonical."""
    if isinstance(value, bytes):
        return value
    try:
        return decode_value(value)
    except InvalidInput as error:
        raise ValueError(error.message) from None


def _encoded(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _one_of(words: dict[str, Any]) -> Any:
    return Literal[tuple(words)]


_Time = Annotated[
    str, AfterValidator(_checked(parse_time)), Field(json_schema_extra={"format": "date-time"})
]
_Key = Annotated[str, AfterValidator(_checked(check_key))]
_Value = Annotated[
    bytes,
    BeforeValidator(_decoded),
    PlainSerializer(_encoded, when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
_Days = Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS)] | None


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
    )


def _model(name: str, doc: str, tuple_type: type[NamedTuple], **json_types: Any) -> type[_Model]:
    """A model with the tuple's fields; ``json_types`` for those that look different in JSON."""
    hints = get_type_hints(tuple_type)
    fields: dict[str, Any] = {
        field: (json_types.get(field, hints[field]), ...)
        for field in tuple_type._fields
        if field not in _INTERNAL
    }
    return create_model(name, __base__=_Model, __doc__=doc, __module__=__name__, **fields)


MemoryAccessPolicy = _model(
    "MemoryAccessPolicy",
    "Who may read, write and share an entry.",
    AccessPolicy,
    read_scope=_one_of(SCOPES),
    write_scope=_one_of(SCOPES),
    share_policy=_one_of(SHARE_POLICIES),
)

MemoryRetentionPolicy = _model(
    "MemoryRetentionPolicy",
    "How long an entry is kept.",
    RetentionPolicy,
    max_retention_days=_Days,
)

MemoryEntry = _model(
    "MemoryEntry",
    "One remembered value; make it with `MemoryEntry.model_validate(entry.to_json())`.",
    Entry,
    category=_one_of(CATEGORIES),
    key=_Key,
    value=_Value,
    created_at=_Time,
    updated_at=_Time,
    access_policy=MemoryAccessPolicy,
    retention_policy=MemoryRetentionPolicy | None,
)

_FILTER_TYPES: dict[str, Any] = {
    "category": _one_of(CATEGORIES),
    "key_prefix": Annotated[str, AfterValidator(_checked(check_prefix))],
    "since": _Time,
    "until": _Time,
    "limit": Annotated[int, Field(ge=1, le=MAX_LIMIT)],
}

_filter_fields: dict[str, Any] = {name: (_FILTER_TYPES[name], None) for name in Selection._fields}
MemoryFilter = create_model(
    "MemoryFilter",
    __base__=_Model,
    __doc__="What a query asks for; a field that is left out is no filter. Hand on "
    "`model_dump(by_alias=True, exclude_unset=True)`.",
    __module__=__name__,
    **_filter_fields,
)
