"""The policies of an entry and of its agent (memory §2, §4)."""

from __future__ import annotations

from rotifer_engine._access import SCOPES
from rotifer_engine._input import check_fields, check_integer, check_word, kind
from rotifer_engine.errors import InvalidInput
from rotifer_engine.quick import NamedTuple

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)
if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "DEFAULT_ACCESS",
    "DEFAULT_DATA_POLICY",
    "MAX_RETENTION_DAYS",
    "SHARE_POLICIES",
    "AccessPolicy",
    "DataPolicy",
    "RetentionPolicy",
    "broken_data_policy",
]

MAX_RETENTION_DAYS = 2_147_483_647  # memory §2

#: Each share policy, and whether the agent's data policy must support anonymization for it.
SHARE_POLICIES: dict[str, bool] = {
    "PRIVATE": False,
    "ANONYMIZED_SHARE": True,
    "KNOWLEDGE_GENE": True,
}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class AccessPolicy(NamedTuple):
    """Who may read, write and share an entry; always all three **[ours]**."""

    read_scope: str
    write_scope: str
    share_policy: str

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a policy from its JSON form, or check one made by hand.

        Raises:
            InvalidInput: a field is missing, unknown or holds an unknown word.
        """
        if isinstance(value, AccessPolicy):
            value = value.to_json()
        fields = check_fields(value, "accessPolicy", _ACCESS_FIELDS, _ACCESS_FIELDS)
        read, write, share = (fields[name] for name in _ACCESS_FIELDS)
        return cls(
            check_word(read, "accessPolicy.readScope", SCOPES),
            check_word(write, "accessPolicy.writeScope", SCOPES),
            check_word(share, "accessPolicy.sharePolicy", SHARE_POLICIES),
        )

    def to_json(self) -> dict[str, object]:
        """The policy with the field names of the memory page."""
        return dict(zip(_ACCESS_FIELDS, self, strict=True))


class RetentionPolicy(NamedTuple):
    """How long an entry is kept; the agent's data policy has the same three fields."""

    max_retention_days: int | None
    auto_delete_on_termination: bool
    anonymization_supported: bool

    @classmethod
    def parse(cls, value: object, what: str = "retentionPolicy") -> Self:
        """Read a policy from its JSON form, or check one made by hand.

        Args:
            value: the mapping, or a policy.
            what: what the policy is called in messages.

        Raises:
            InvalidInput: a field is missing, unknown or of the wrong type.
        """
        if isinstance(value, RetentionPolicy):
            value = value.to_json()
        fields = check_fields(value, what, _RETENTION_FIELDS, _RETENTION_FIELDS)
        days, auto_delete, anonymization = (fields[name] for name in _RETENTION_FIELDS)
        if days is not None:
            days = check_integer(days, f"{what}.maxRetentionDays", 1, MAX_RETENTION_DAYS)
        return cls(
            days,
            _check_boolean(auto_delete, f"{what}.autoDeleteOnTermination"),
            _check_boolean(anonymization, f"{what}.anonymizationSupported"),
        )

    def to_json(self) -> dict[str, object]:
        """The policy with the field names of the memory page."""
        return dict(zip(_RETENTION_FIELDS, self, strict=True))


_ACCESS_FIELDS = tuple(map(_camel, AccessPolicy._fields))
_RETENTION_FIELDS = tuple(map(_camel, RetentionPolicy._fields))

#: The agent's own policy: the same three fields, read as what it allows.
DataPolicy = RetentionPolicy

DEFAULT_ACCESS = AccessPolicy("SAME_DOMAIN", "SAME_DOMAIN", "PRIVATE")
DEFAULT_DATA_POLICY = DataPolicy(
    None, auto_delete_on_termination=False, anonymization_supported=False
)


def _check_boolean(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be true or false; got {kind(value)}")
    return value


def broken_data_policy(
    access: AccessPolicy | None, retention: RetentionPolicy | None, data: RetentionPolicy
) -> str | None:
    """Why the agent's data policy forbids an entry these policies; None when it allows them.

    Args:
        access: the access policy that a write sets; None when it sets none.
        retention: the retention policy that a write sets; None when it sets none, or null.
        data: the agent's data policy.
    """
    if access is not None:
        for name, scope in (("readScope", access.read_scope), ("writeScope", access.write_scope)):
            if not SCOPES[scope].settable:
                return f"accessPolicy.{name} {scope} cannot be set in this version"
        if SHARE_POLICIES[access.share_policy] and not data.anonymization_supported:
            return (
                f"sharePolicy {access.share_policy} needs an agent whose data policy has "
                "anonymizationSupported: true"
            )
    if retention is not None and data.max_retention_days is not None:
        asked = retention.max_retention_days
        if asked is None or asked > data.max_retention_days:
            days = "null (forever)" if asked is None else f"{asked:,}"
            return (
                f"retentionPolicy.maxRetentionDays is {days}; "
                f"the agent's data policy allows {data.max_retention_days:,}"
            )
    return None
