"""What a write may do to an entry, and what the entry is afterwards (memory §4, §5)."""

from __future__ import annotations

from rotifer_engine._absent import ABSENT, Absent
from rotifer_engine._access import Caller, allows
from rotifer_engine._entry import Entry, EntrySummary, entry_id
from rotifer_engine._input import check_category, check_key, check_value
from rotifer_engine._policy import (
    DEFAULT_ACCESS,
    AccessPolicy,
    RetentionPolicy,
    broken_data_policy,
)
from rotifer_engine.quick import NamedTuple

__all__ = ["Wish", "Write", "checked_wish", "entry_after", "parse_policies", "why_not_write"]


class Wish(NamedTuple):
    """What a caller asks to have written, checked.

    Args:
        key: the entry's name.
        value: its new value.
        category: its new category.
        access: the access policy to set; None: leave it.
        retention: the retention policy to set, where None means to follow the agent; absent:
            leave it.
    """

    key: str
    value: bytes
    category: str
    access: AccessPolicy | None
    retention: RetentionPolicy | Absent | None

    @property
    def size(self) -> int:
        """Bytes that the entry would count against the quota."""
        return len(self.key.encode()) + len(self.value)


#: The arguments of a write: who, key, value, category, access policy, retention policy.
Write = tuple[Caller, object, object, object, object, object]


def checked_wish(
    key: object, value: object, category: object, access: object, retention: object
) -> Wish:
    """What the arguments of a write ask for.

    Raises:
        InvalidInput: one of them breaks a rule.
    """
    check_key(key)
    assert isinstance(key, str)
    content = check_value(value)
    return Wish(key, content, check_category(category), *parse_policies(access, retention))


def parse_policies(
    access: object, retention: object
) -> tuple[AccessPolicy | None, RetentionPolicy | Absent | None]:
    """Check the two policy arguments of a write.

    Raises:
        InvalidInput: a policy is malformed; null is one only for retention.
    """
    return (
        None if isinstance(access, Absent) else AccessPolicy.parse(access),
        retention
        if retention is None or isinstance(retention, Absent)
        else RetentionPolicy.parse(retention),
    )


def why_not_write(
    caller: Caller, stored: EntrySummary | None, wish: Wish, data: RetentionPolicy
) -> str | None:
    """Why this write is denied; None when it is not.

    A policy equal to the stored one is no change, so it is judged neither by the creator rule
    nor anew by the data policy **[ours]**.
    """
    access, retention = wish.access, wish.retention
    if stored is not None:
        scope = stored.access_policy.write_scope
        if not allows(scope, stored.created_by, stored.created_domain, caller):
            return f"writeScope is {scope}"
        if access == stored.access_policy:
            access = None
        if retention == stored.retention_policy:
            retention = ABSENT
        changes = access is not None or not isinstance(retention, Absent)
        if changes and caller.gene_id != stored.created_by:
            return "only the gene that created the entry may change its policies"
    return broken_data_policy(access, None if isinstance(retention, Absent) else retention, data)


def entry_after(
    agent_id: str,
    gene_id: str,
    domain: str | None,
    stored: EntrySummary | None,
    wish: Wish,
    *,
    now: int,
    order: int,
) -> Entry:
    """The entry as the write leaves it.

    Args:
        agent_id: whose memory it is in.
        gene_id: the gene that writes.
        domain: its domain.
        stored: what it replaces: its id, creator, time of creation and unmentioned policies stay.
        wish: what is written.
        now: the time of the write.
        order: the agent's next number in the update sequence.
    """
    retention = wish.retention
    if stored is None:
        return Entry(
            entry_id(agent_id, wish.key.encode()),
            wish.category,
            wish.key,
            wish.value,
            gene_id,
            domain,
            gene_id,
            now,
            now,
            wish.access or DEFAULT_ACCESS,
            None if isinstance(retention, Absent) else retention,
            order,
        )
    return Entry(
        stored.entry_id,
        wish.category,
        wish.key,
        wish.value,
        stored.created_by,
        stored.created_domain,
        gene_id,
        stored.created_at,
        now,
        wish.access or stored.access_policy,
        stored.retention_policy if isinstance(retention, Absent) else retention,
        order,
    )
