"""When an entry is gone (memory §7).

An entry expires at ``updatedAt`` + N x 86,400 s: at that very instant it is gone. All in integer
milliseconds; the largest N gives about 1.9e17, far inside 64 bits.

What is compared at every door is one condition, :func:`expired_sql`: the instant of an entry with
a policy of its own is known when it is written and stored beside it; an entry that follows the
agent is measured against a cut-off, because the agent's policy may change after it was written.
"""

from __future__ import annotations

from rotifer_engine._policy import RetentionPolicy
from rotifer_engine._time import DAY_MS
from rotifer_engine.quick import NamedTuple

__all__ = ["Moment", "expired_sql", "is_expired", "moment_of", "own_expiry"]


class Moment(NamedTuple):
    """When a call happens, and what that means for entries that follow the agent.

    Args:
        now: milliseconds since 1970.
        cutoff: entries that follow the agent's data policy and were updated at or before this
            instant are gone; None when that policy has no limit.
    """

    now: int
    cutoff: int | None


def own_expiry(updated_at: int, policy: RetentionPolicy | None) -> int | None:
    """The instant at which an entry's own policy ends it; None when its own policy never does."""
    if policy is None or policy.max_retention_days is None:
        return None
    return updated_at + policy.max_retention_days * DAY_MS


def moment_of(now: int, data: RetentionPolicy) -> Moment:
    """The moment of a call that comes at this time, under this data policy."""
    days = data.max_retention_days
    return Moment(now, None if days is None else now - days * DAY_MS)


def is_expired(updated_at: int, policy: RetentionPolicy | None, moment: Moment) -> bool:
    """Whether an entry of this last update and policy is gone: what :func:`expired_sql` says."""
    if policy is None:
        return moment.cutoff is not None and updated_at <= moment.cutoff
    end = own_expiry(updated_at, policy)
    return end is not None and end <= moment.now


def expired_sql(row: str, now: str, cut: str) -> str:
    """The condition under which a row is gone; never NULL, and the same words for every store.

    Args:
        row: the name that the row has in the statement.
        now: the placeholder of the time.
        cut: the placeholder of the cut-off, which may be NULL.
    """
    return (
        f"(coalesce({row}.expires_at <= {now}, 1 = 0)"
        f" OR ({row}.follows_agent = 1 AND coalesce({row}.updated_at <= {cut}, 1 = 0)))"
    )
