"""The file that a memory travels in: JSON Lines, one entry a line (memory §11, docs/export.md).

::

    {"format":"rotifer-memory","version":1,"agentId":"...","exportedAt":"..."}
    {"category":"PREFERENCE","key":"indent","value":"NA==","createdBy":"v2:...", ...}
    {"end":true,"entries":1}

The order of the lines is the update order. The last line counts the entries, so a file that was
cut off is noticed. An entry's id is not in it: that is made of the agent's id and the key, and the
file may go to another agent.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING, Any, NamedTuple

from rotifer_engine._access import is_v2_id
from rotifer_engine._category import CATEGORIES
from rotifer_engine._entry import Entry, access_text, entry_id, retention_text
from rotifer_engine._input import (
    check_category,
    check_fields,
    check_key,
    check_text,
    decode_value,
    kind,
    shown,
)
from rotifer_engine._policy import AccessPolicy, RetentionPolicy
from rotifer_engine._time import format_time, parse_time
from rotifer_engine.errors import InvalidInput
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from typing import BinaryIO

    from rotifer_engine._retention import Moment
    from rotifer_engine._store import Snapshot

__all__ = [
    "FORMAT",
    "MAX_LINE_BYTES",
    "VERSION",
    "Exported",
    "judged_lines",
    "read_entries",
    "write_entries",
]

FORMAT = "rotifer-memory"
VERSION = 1
MAX_LINE_BYTES = 4 * 1024 * 1024  # the base64 of the largest value takes a third of it

_HEADER = ("format", "version", "agentId", "exportedAt")
_CLOSING = ("end", "entries")
_ENTRY = (
    "category",
    "key",
    "value",
    "createdBy",
    "createdDomain",
    "lastAccessedBy",
    "createdAt",
    "updatedAt",
    "accessPolicy",
    "retentionPolicy",
)


class Exported(NamedTuple):
    """What was exported.

    Args:
        entries: how many.
        size: bytes of their keys and values.
    """

    entries: int
    size: int


def write_entries(
    file: BinaryIO, snapshot: Snapshot, agent_id: str, moment: Moment, *, with_cache: bool
) -> Exported:
    """Write the live entries of one moment, least recently updated first.

    Args:
        file: where to.
        snapshot: the moment.
        agent_id: whose.
        moment: decides what is live.
        with_cache: also what may be left behind.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "agentId": agent_id,
        "exportedAt": format_time(moment.now),
    }
    file.write(_line(header))
    categories = [name for name, rule in CATEGORIES.items() if rule.migrates or with_cache]
    count = size = 0
    for entry in snapshot.entries(agent_id, categories, moment):
        file.write(_entry_line(entry))
        count += 1
        size += entry.size
    file.write(_line({"end": True, "entries": count}))
    return Exported(count, size)


def _line(fields: dict[str, object]) -> bytes:
    return dumps(fields).encode("ascii") + b"\n"


def _entry_line(entry: Entry) -> bytes:
    domain = "null" if entry.created_domain is None else quote(entry.created_domain)
    value = binascii.b2a_base64(entry.value, newline=False).decode("ascii")
    return (
        f'{{"category":"{entry.category}","key":{quote(entry.key)},"value":"{value}",'
        f'"createdBy":"{entry.created_by}","createdDomain":{domain},'
        f'"lastAccessedBy":"{entry.last_accessed_by}",'
        f'"createdAt":"{format_time(entry.created_at)}",'
        f'"updatedAt":"{format_time(entry.updated_at)}",'
        f'"accessPolicy":{access_text(entry.access_policy)},'
        f'"retentionPolicy":{retention_text(entry.retention_policy)}}}\n'
    ).encode("ascii")


def read_entries(file: BinaryIO, agent_id: str) -> Iterator[tuple[int, Entry]]:
    """The entries of an export as those of an agent, each with the number of its line.

    They come one at a time, so what follows a bad line is not known when it is met.

    Args:
        file: where from.
        agent_id: whose they are to be.

    Raises:
        InvalidInput: a line breaks a rule, or the file is cut off; the message has its number.
    """
    for number, _, entry in _judged(file, agent_id):
        if entry is not None:
            yield number, entry


def judged_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of an export, each once it was judged by itself: a copy holds nothing else.

    What only a memory can tell, such as a key that is there already, is not looked at.

    Args:
        file: where from; it is read a line at a time, and no further than a bad one.

    Raises:
        InvalidInput: a line breaks a rule, or the file is cut off; the message has its number.
    """
    return (raw for _, raw, _ in _judged(file, ""))


def _judged(file: BinaryIO, agent_id: str) -> Iterator[tuple[int, bytes, Entry | None]]:
    """Each line with its number, and the entry if it holds one."""
    reader = _Reader(agent_id)
    number = 0
    for number, raw in _numbered(file):
        try:
            entry = reader.read(raw)
        except InvalidInput as error:
            raise InvalidInput(f"line {number:,}: {error.message}") from None
        yield number, raw, entry
    if not reader.closed:
        raise InvalidInput(
            f"the file ends after line {number:,} without its closing line: it was cut off"
            if number
            else "the file is empty; an export has a first and a closing line"
        )


class _Reader:
    """What has been read of an export so far."""

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id
        self._begun = False
        self._count = 0
        self.closed = False

    def read(self, raw: bytes) -> Entry | None:
        """The entry that the next line holds; None for the first and the closing line."""
        if self.closed:
            raise InvalidInput("something follows the closing line")
        fields = _parse(raw)
        if not self._begun:
            _check_header(fields)
            self._begun = True
            return None
        if "end" in fields:
            _check_closing(fields, self._count)
            self.closed = True
            return None
        self._count += 1
        return _entry(fields, self._agent_id)


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            raise InvalidInput(
                f"line {number:,}: it has more than {MAX_LINE_BYTES:,} bytes, which no entry needs"
            )
        yield number, raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidInput("a field stands there twice")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        value = _DECODER.decode(raw.decode().rstrip("\r\n"))
    except (ValueError, RecursionError) as error:
        # Not the text of the error, which for bytes that are no UTF-8 holds parts of the line.
        column = (
            f" from column {error.colno:,} on" if isinstance(error, json.JSONDecodeError) else ""
        )
        raise InvalidInput(f"it is not JSON{column}; is it a whole line of an export?") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"it must be an object; got {kind(value)}")
    return value


def _check_header(fields: dict[str, Any]) -> None:
    if fields.get("format") != FORMAT:
        raise InvalidInput(f'this is no export of a memory: it has no "format":"{FORMAT}"')
    version = fields.get("version")
    if version != VERSION or isinstance(version, bool):
        plain = isinstance(version, (int, str)) and not isinstance(version, bool)
        got = shown(version) if plain else kind(version)
        raise InvalidInput(
            f"the export's format is version {got}; this rotifer-bridge knows {VERSION}"
        )
    check_fields(fields, "the first line", _HEADER, _HEADER)
    check_text(fields["agentId"], "agentId")
    _time(fields["exportedAt"], "exportedAt")


def _check_closing(fields: dict[str, Any], count: int) -> None:
    check_fields(fields, "the closing line", _CLOSING, _CLOSING)
    counted = fields["entries"]
    if fields["end"] is not True or isinstance(counted, bool) or not isinstance(counted, int):
        raise InvalidInput('the closing line must be {"end":true,"entries":NUMBER}')
    if counted != count:
        raise InvalidInput(
            f"the closing line counts {shown(counted)} entries; there are {count:,}: the file is "
            "not whole"
        )


def _entry(fields: dict[str, Any], agent_id: str) -> Entry:
    check_fields(fields, "the entry", _ENTRY, _ENTRY)
    key = check_key(fields["key"])
    domain, retention = fields["createdDomain"], fields["retentionPolicy"]
    return Entry(
        entry_id(agent_id, key),
        check_category(fields["category"]),
        fields["key"],
        decode_value(fields["value"]),
        _gene(fields["createdBy"], "createdBy"),
        None if domain is None else check_text(domain, "createdDomain"),
        _gene(fields["lastAccessedBy"], "lastAccessedBy"),
        _time(fields["createdAt"], "createdAt"),
        _time(fields["updatedAt"], "updatedAt"),
        AccessPolicy.parse(fields["accessPolicy"]),
        None if retention is None else RetentionPolicy.parse(retention),
        0,
    )


def _gene(value: object, what: str) -> str:
    if not isinstance(value, str) or not is_v2_id(value):
        got = shown(value) if isinstance(value, str) else kind(value)
        raise InvalidInput(
            f"{what} must be a v2 identity (v2: and 64 lower-case hex digits); got {got}"
        )
    return value


def _time(value: object, what: str) -> int:
    """A time in the one form that we print, so that no digit is lost."""
    time = parse_time(value, what)
    if format_time(time) != value:
        raise InvalidInput(
            f"{what} is {shown(value)}; an export has {format_time(time)}: UTC, milliseconds"
        )
    return time
