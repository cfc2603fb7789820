"""What a case expects and what a door gave, in one neutral form that can be compared.

Identities, agents and times differ from store to store and from door to door: a gene stands as the
letter of its role, a time as the milliseconds since the case began, and an entry's id as whether it
is the one of its key. What is compared is JSON, so a difference can be printed as it is.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

__all__ = [
    "DAY",
    "NOW",
    "SHARED",
    "START",
    "Kept",
    "Line",
    "Names",
    "access",
    "instant",
    "neutral_entry",
    "neutral_value",
    "retention",
]

START = 1_790_000_000_000
"""When every case begins, in milliseconds since 1970."""
DAY = 86_400_000
"""Milliseconds of a day (memory §7)."""
NOW = -(10**18)
"""Stands for the time of the step it is expected of."""

_WHOLE = 48  # bytes of a value that are compared as they are; of a longer one, size and digest
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def access(read: str, write: str | None = None, share: str = "PRIVATE") -> dict[str, object]:
    """An access policy; one word for both scopes."""
    return {"readScope": read, "writeScope": write or read, "sharePolicy": share}


SHARED = access("SAME_DOMAIN")
"""The access policy of an entry that was written without one (memory §5)."""


def retention(
    days: object, *, auto_delete: object = False, anonymization: object = False
) -> dict[str, object]:
    """A retention policy."""
    return {
        "maxRetentionDays": days,
        "autoDeleteOnTermination": auto_delete,
        "anonymizationSupported": anonymization,
    }


def instant(after: int = 0) -> str:
    """So many milliseconds after the beginning, as the memory prints times (memory §2)."""
    moment = _EPOCH + timedelta(milliseconds=START + after)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


class Kept(NamedTuple):
    """An entry as a case expects it.

    Args:
        key: its key.
        value: its value.
        category: its category.
        by: the role that created it.
        last: the role that last read or wrote it; None: the creator.
        created: when, in milliseconds after the beginning.
        updated: the same of its last update; None: when it was created.
        access: its access policy.
        retention: its retention policy.
    """

    key: str
    value: bytes
    category: str
    by: str
    last: str | None = None
    created: int = 0
    updated: int | None = None
    access: Mapping[str, object] = SHARED
    retention: Mapping[str, object] | None = None

    @property
    def size(self) -> int:
        """Bytes that count against the quota: the key's and the value's (memory §6)."""
        return len(self.key.encode()) + len(self.value)

    def seen_by(self, role: str) -> Kept:
        """The same, last accessed by this role."""
        return self._replace(last=role)

    def moved(self, after: int) -> Kept:
        """The same, created and updated at another time."""
        return self._replace(created=after, updated=None)

    def at(self, now: int) -> Kept:
        """The same, with the step's time where it was left open."""
        created = now if self.created == NOW else self.created
        updated = now if self.updated == NOW else self.updated
        return self._replace(created=created, updated=created if updated is None else updated)

    def document(self) -> dict[str, Any]:
        """The neutral form."""
        updated = self.created if self.updated is None else self.updated
        return {
            "entryId": "of its key",
            "category": self.category,
            "key": self.key,
            "value": neutral_value(self.value),
            "createdBy": self.by,
            "lastAccessedBy": self.last or self.by,
            "createdAt": self.created,
            "updatedAt": updated,
            "accessPolicy": dict(self.access),
            "retentionPolicy": None if self.retention is None else dict(self.retention),
        }

    def row(self) -> dict[str, Any]:
        """The neutral form of what the deployer sees of it: never the value (memory §10)."""
        updated = self.created if self.updated is None else self.updated
        return {
            "key": self.key,
            "category": self.category,
            "size": self.size,
            "createdBy": self.by,
            "updatedAt": updated,
        }


class Line(NamedTuple):
    """A line of the audit log as a case expects it (memory §9).

    Args:
        action: what happened, without the ``memory.`` before it.
        who: the role that acted.
        key: of the entry it is about; None for a query.
        category: the entry's; None: not compared.
        size: the entry's; None: not compared.
    """

    action: str
    who: str
    key: str | None
    category: str | None = None
    size: int | None = None


class Names(NamedTuple):
    """What real identities are called in a case.

    Args:
        agent_id: the agent's id.
        roles: role by v2 identity.
    """

    agent_id: str
    roles: Mapping[str, str]

    def role(self, identity: object) -> object:
        """A gene's role; an identity that is none of the case's stays as it is."""
        return self.roles.get(identity, identity) if isinstance(identity, str) else identity

    def entry_id(self, given: object, key: object) -> object:
        """Whether an entry's id is the one of its key (memory §2); one that is not stays."""
        return "of its key" if isinstance(key, str) and given == self.id_of(key) else given

    def id_of(self, key: str) -> str:
        """SHA-256 of the agent's id, one NUL byte and the key (memory §2)."""
        return sha256(f"{self.agent_id}\0{key}".encode("utf-8", "replace")).hexdigest()

    def after(self, text: object) -> object:
        """A printed time as milliseconds since the case began; what is printed otherwise stays."""
        if not isinstance(text, str) or len(text) != len(instant()):
            return text
        try:
            moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        except ValueError:
            return text
        after = round((moment - _EPOCH) / timedelta(milliseconds=1)) - START
        return after if instant(after) == text else text


def neutral_value(value: bytes) -> object:
    """A value in base64; of a long one its size and its digest."""
    if len(value) <= _WHOLE:
        return binascii.b2a_base64(value, newline=False).decode("ascii")
    return {"bytes": len(value), "sha256": sha256(value).hexdigest()}


def neutral_entry(given: object, names: Names) -> object:
    """An entry's JSON in the neutral form; what is no entry stays as it is.

    Fields that are missing stay missing and unknown ones stay there: either is a difference.
    """
    if not isinstance(given, dict):
        return given
    entry = dict(given)
    for field, turn in (
        ("value", _value),
        ("createdBy", names.role),
        ("lastAccessedBy", names.role),
        ("createdAt", names.after),
        ("updatedAt", names.after),
    ):
        if field in entry:
            entry[field] = turn(entry[field])
    if "entryId" in entry:
        entry["entryId"] = names.entry_id(entry["entryId"], entry.get("key"))
    return entry


def _value(text: object) -> object:
    """A base64 value; one that is not in its canonical form stays, which is a difference."""
    if not isinstance(text, str):
        return text
    try:
        value = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        return f"not base64: {text[:60]}"
    if binascii.b2a_base64(value, newline=False).decode("ascii") != text:
        return f"not canonical: {text[:60]}"
    return neutral_value(value)
