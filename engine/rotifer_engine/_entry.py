"""What is remembered: entries as plain values, and their JSON forms (memory §2)."""

from __future__ import annotations

from functools import lru_cache

from rotifer_engine._policy import AccessPolicy, RetentionPolicy
from rotifer_engine._time import format_time
from rotifer_engine.quick import NamedTuple, quote, sha256

__all__ = ["Entry", "EntrySummary", "access_text", "entry_id", "retention_text"]


@lru_cache(maxsize=4096)  # a gene asks for the same keys again; a read has some 15 µs in all
def entry_id(agent_id: str, key: bytes) -> str:
    """SHA-256 of the agent's id, one NUL byte and the key, as 64 hex digits.

    The NUL keeps two pairs apart whose texts joined would be the same; a key cannot hold one
    **[ours]**.
    """
    return sha256(b"%b\0%b" % (agent_id.encode(), key)).hexdigest()


@lru_cache(maxsize=256)
def access_text(policy: AccessPolicy) -> str:
    """The policy as compact JSON."""
    read, write, share = policy
    return f'{{"readScope":"{read}","writeScope":"{write}","sharePolicy":"{share}"}}'


@lru_cache(maxsize=256)
def retention_text(policy: RetentionPolicy | None) -> str:
    """The policy as compact JSON."""
    if policy is None:
        return "null"
    days, auto_delete, anonymization = policy
    return (
        f'{{"maxRetentionDays":{"null" if days is None else days},'
        f'"autoDeleteOnTermination":{"true" if auto_delete else "false"},'
        f'"anonymizationSupported":{"true" if anonymization else "false"}}}'
    )


def _base64(value: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(value, newline=False).decode("ascii")


class EntrySummary(NamedTuple):
    """Everything about an entry but its value: what the rules decide on, and the deployer sees.

    Args:
        entry_id: 64 hex digits; never changes.
        category: one of the four.
        key: the key as given.
        size: bytes that count against the quota: the key's and the value's.
        created_by: v2 id of the creator.
        created_domain: the creator's domain at creation.
        last_accessed_by: v2 id of the gene that last read or wrote it.
        created_at: milliseconds since 1970.
        updated_at: milliseconds since 1970.
        access_policy: who may do what.
        retention_policy: how long it is kept; None = follow the agent's data policy.
        order: the agent's update sequence: the larger, the more recently updated.
    """

    entry_id: str
    category: str
    key: str
    size: int
    created_by: str
    created_domain: str | None
    last_accessed_by: str
    created_at: int
    updated_at: int
    access_policy: AccessPolicy
    retention_policy: RetentionPolicy | None
    order: int

    @property
    def value_size(self) -> int:
        """Bytes of the value alone."""
        return self.size - len(self.key.encode())


class Entry(NamedTuple):
    """One remembered value: the fields of :class:`EntrySummary`, with ``value`` for ``size``."""

    entry_id: str
    category: str
    key: str
    value: bytes
    created_by: str
    created_domain: str | None
    last_accessed_by: str
    created_at: int
    updated_at: int
    access_policy: AccessPolicy
    retention_policy: RetentionPolicy | None
    order: int

    @property
    def size(self) -> int:
        """Bytes that count against the quota: the key's and the value's (memory §6)."""
        return len(self.key.encode()) + len(self.value)

    def meta_json(self) -> str:
        """The public fields but ``value`` as compact ASCII JSON; on the path of every read."""
        return self._text("")

    def json_text(self) -> str:
        """All public fields as compact ASCII JSON, the value in base64."""
        return self._text(f'"value":"{_base64(self.value)}",')

    def _text(self, value: str) -> str:
        return (
            f'{{"entryId":"{self.entry_id}","category":"{self.category}","key":{quote(self.key)},'
            f'{value}"createdBy":"{self.created_by}","lastAccessedBy":"{self.last_accessed_by}",'
            f'"createdAt":"{format_time(self.created_at)}",'
            f'"updatedAt":"{format_time(self.updated_at)}",'
            f'"accessPolicy":{access_text(self.access_policy)},'
            f'"retentionPolicy":{retention_text(self.retention_policy)}}}'
        )

    def to_json(self) -> dict[str, object]:
        """The public fields in the documented order, the value in base64."""
        retention = self.retention_policy
        return {
            "entryId": self.entry_id,
            "category": self.category,
            "key": self.key,
            "value": _base64(self.value),
            "createdBy": self.created_by,
            "lastAccessedBy": self.last_accessed_by,
            "createdAt": format_time(self.created_at),
            "updatedAt": format_time(self.updated_at),
            "accessPolicy": self.access_policy.to_json(),
            "retentionPolicy": None if retention is None else retention.to_json(),
        }
