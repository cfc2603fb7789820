"""The words that cases are written in: what a role asks for, and what must come of it.

Each call of a role is a :class:`Step`: the request, the answer it must get, and the lines that must
stand in the audit log for it. What is not written down is expected not to happen, so a line too
many is a difference like one too few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rotifer_engine.conformance._values import NOW, SHARED, Kept, Line
from rotifer_engine.conformance._values import retention as retention_policy

__all__ = [
    "DEPLOYER",
    "DOMAINS",
    "LAYERS",
    "NOBODY",
    "A",
    "B",
    "C",
    "Count",
    "Counts",
    "D",
    "Entries",
    "Gene",
    "Keys",
    "Nobody",
    "Refusal",
    "Rows",
    "Step",
    "Told",
    "after",
    "elsewhere",
    "set_agent",
]

DENIED = "MEMORY_ACCESS_DENIED"
INVALID = "MEMORY_INVALID_INPUT"
NOT_FOUND = "MEMORY_NOT_FOUND"
QUOTA = "MEMORY_QUOTA_EXCEEDED"

#: The genes of every case, and their domains. Two share one; D's is the beginning of theirs.
DOMAINS: dict[str, str] = {
    "A": "code.format",
    "B": "code.format",
    "C": "text.search",
    "D": "code",
    "Nobody": "code.format",
}
#: The role of the gene that has no v2 identity.
NOBODY = "Nobody"
#: Whom steps on the layers are asked by: the actor stands in the request.
LAYERS = "layers"


class Refusal(NamedTuple):
    """The error that a step must get.

    Args:
        code: its code.
        says: what its message must hold, the figures above all (memory §8).
    """

    code: str
    says: tuple[str, ...] = ()


class Keys(NamedTuple):
    """The keys that a query must give, in order."""

    keys: tuple[str, ...]


class Rows(NamedTuple):
    """The rows that the deployer must see, in order."""

    rows: tuple[Kept, ...]


class Count(NamedTuple):
    """The number that must come out."""

    number: int


class Entries(NamedTuple):
    """The entries that a query must give, in order and whole."""

    entries: tuple[Kept, ...]


class Told(NamedTuple):
    """The entries of layers that must come, in order.

    Args:
        entries: each with a neutral form.
        one: whether it is one entry, not a list of them.
    """

    entries: tuple[Any, ...]
    one: bool = False


class Counts(NamedTuple):
    """How many entries each layer must have; those that are not named: none."""

    numbers: Mapping[str, int]


Answer = Kept | Keys | Entries | Rows | Count | Counts | Told | Refusal | None


class Step(NamedTuple):
    """One step of a case.

    Args:
        who: a role, ``deployer``, or empty for what happens to the agent.
        call: what is done.
        request: with what: the fields of the memory page, and ``value``.
        answer: what must come back.
        lines: the audit lines, those of each transaction together.
        agent: which of the case's two agents it is about.
    """

    who: str
    call: str
    request: Mapping[str, Any]
    answer: Answer = None
    lines: tuple[tuple[Line, ...], ...] = ()
    agent: int = 0

    def __str__(self) -> str:
        """The step as a person may read it."""
        parts = []
        for name, value in self.request.items():
            text = f"{len(value):,} bytes" if isinstance(value, bytes) else ascii(value)
            parts.append(f"{name}={text if len(text) <= 90 else text[:87] + '...'}")
        where = " in the other agent" if self.agent else ""
        return f"{self.who or 'then'} {self.call}({', '.join(parts)}){where}"


def _groups(*groups: Sequence[Line]) -> tuple[tuple[Line, ...], ...]:
    return tuple(tuple(group) for group in groups if group)


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that were given; None is null, ``...`` was left out."""
    return {name: value for name, value in fields.items() if value is not ...}


class Gene:
    """A gene's role.

    Args:
        role: its letter.
    """

    def __init__(self, role: str) -> None:
        self.role = role

    def _expired(self, rows: Sequence[Kept]) -> list[Line]:
        return [Line("expire", self.role, row.key, row.category, row.size) for row in rows]

    def _step(self, call: str, request: dict[str, Any], answer: Answer, *groups: Any) -> Step:
        return Step(self.role, call, request, answer, _groups(*groups))

    def creates(
        self,
        key: str,
        value: bytes = b"1",
        category: str = "CACHE",
        *,
        access: Any = ...,
        retention: Any = ...,
        evicting: Sequence[Kept] = (),
        expiring: Sequence[Kept] = (),
    ) -> Step:
        """A write that makes a new entry; policies as given, else the defaults."""
        kept = Kept(
            key,
            value,
            category,
            self.role,
            created=NOW,
            access=SHARED if access is ... else access,
            retention=None if retention is ... else retention,
        )
        request = _given(
            key=key, value=value, category=category, accessPolicy=access, retentionPolicy=retention
        )
        line = Line("create", self.role, key, category, kept.size)
        return self._step(
            "write", request, kept, self._expired(expiring), [*self._evicted(evicting), line]
        )

    def updates(
        self,
        was: Kept,
        value: bytes = b"2",
        category: str | None = None,
        *,
        access: Any = ...,
        retention: Any = ...,
        evicting: Sequence[Kept] = (),
        expiring: Sequence[Kept] = (),
    ) -> Step:
        """A write that replaces: creator, creation and what is not given stay."""
        kept = was._replace(
            value=value,
            category=category or was.category,
            last=self.role,
            updated=NOW,
            access=was.access if access is ... else access,
            retention=was.retention if retention is ... else retention,
        )
        request = _given(
            key=was.key,
            value=value,
            category=kept.category,
            accessPolicy=access,
            retentionPolicy=retention,
        )
        line = Line("update", self.role, was.key, kept.category, kept.size)
        return self._step(
            "write", request, kept, self._expired(expiring), [*self._evicted(evicting), line]
        )

    def _evicted(self, rows: Sequence[Kept]) -> list[Line]:
        return [Line("evict", self.role, row.key, row.category, row.size) for row in rows]

    def reads(self, kept: Kept, category: Any = ..., *, expiring: Sequence[Kept] = ()) -> Step:
        """A read that gives the entry, which the reader has accessed last now."""
        request = _given(key=kept.key, category=category)
        return self._step("read", request, kept.seen_by(self.role), self._expired(expiring))

    def misses(self, key: str, category: Any = ..., *, expiring: Sequence[Kept] = ()) -> Step:
        """A read that gives null."""
        return self._step("read", _given(key=key, category=category), None, self._expired(expiring))

    def finds(self, filter: Mapping[str, Any], *keys: str, expiring: Sequence[Kept] = ()) -> Step:  # noqa: A002 - the call's word
        """A query that gives the entries of these keys, in this order."""
        return self._step("query", dict(filter), Keys(keys), self._expired(expiring))

    def gets(self, filter: Mapping[str, Any], *entries: Kept) -> Step:  # noqa: A002
        """A query that gives these entries, compared whole."""
        return self._step("query", dict(filter), Entries(entries))

    def deletes(self, kept: Kept, *, expiring: Sequence[Kept] = ()) -> Step:
        """A delete that is done."""
        line = Line("delete", self.role, kept.key, kept.category, kept.size)
        return self._step("delete", {"key": kept.key}, None, self._expired(expiring), [line])

    def misses_to_delete(self, key: str, *, expiring: Sequence[Kept] = ()) -> Step:
        """A delete of what is not there."""
        return self._step("delete", {"key": key}, Refusal(NOT_FOUND), self._expired(expiring))

    def denied(
        self, call: str, *, says: tuple[str, ...] = (), expiring: Sequence[Kept] = (), **given: Any
    ) -> Step:
        """A call that is denied, and on record for it."""
        request = _call(call, given)
        line = Line("denied", self.role, request.get("key"))
        return self._step(call, request, Refusal(DENIED, says), self._expired(expiring), [line])

    def invalid(self, call: str, *, says: tuple[str, ...] = (), **given: Any) -> Step:
        """A call that is refused for what it was given; it leaves no trace."""
        return self._step(call, _call(call, given), Refusal(INVALID, says))

    def exceeds(
        self,
        key: str,
        value: bytes,
        category: str = "CACHE",
        *,
        says: tuple[str, ...] = (),
        expiring: Sequence[Kept] = (),
    ) -> Step:
        """A write for which no room can be made, and on record for it."""
        size = len(key.encode()) + len(value)
        line = Line("quota_exceeded", self.role, key, category, size)
        request = {"key": key, "value": value, "category": category}
        return self._step("write", request, Refusal(QUOTA, says), self._expired(expiring), [line])


def _call(call: str, given: dict[str, Any]) -> dict[str, Any]:
    """A request that is refused needs only say what it is refused for."""
    if call == "write":
        given = {"key": "k", "value": b"1", "category": "CACHE", **given}
    elif call in {"read", "delete"}:
        given = {"key": "k", **given}
    return _given(**given)


class Deployer:
    """The agent's owner (memory §10)."""

    role = "deployer"

    def _step(self, call: str, request: dict[str, Any], answer: Answer, *groups: Any) -> Step:
        return Step(self.role, call, request, answer, _groups(*groups))

    def _lines(self, action: str, rows: Sequence[Kept]) -> list[Line]:
        return [Line(action, self.role, row.key, row.category, row.size) for row in rows]

    def lists(self, *rows: Kept, category: Any = ..., expiring: Sequence[Kept] = ()) -> Step:
        """What the owner sees: these rows, in this order."""
        return self._step(
            "list", _given(category=category), Rows(rows), self._lines("expire", expiring)
        )

    def deletes(self, kept: Kept, *, expiring: Sequence[Kept] = ()) -> Step:
        """One entry less."""
        return self._step(
            "delete",
            {"key": kept.key},
            Count(1),
            self._lines("expire", expiring),
            self._lines("delete", [kept]),
        )

    def clears(self, category: str, *rows: Kept, expiring: Sequence[Kept] = ()) -> Step:
        """A category less; the rows least recently updated first."""
        return self._step(
            "delete",
            {"category": category},
            Count(len(rows)),
            self._lines("expire", expiring),
            self._lines("delete", rows),
        )

    def refused(
        self,
        call: str,
        code: str,
        *,
        says: tuple[str, ...] = (),
        expiring: Sequence[Kept] = (),
        **given: Any,
    ) -> Step:
        """A call that is refused."""
        return self._step(call, given, Refusal(code, says), self._lines("expire", expiring))

    def uses(self, number: int) -> Step:
        """How many bytes the memory holds."""
        return self._step("usage", {}, Count(number))

    def carries(self, *rows: Kept, with_cache: bool = False) -> Step:
        """The agent moves: the other agent gets its entries, least recently updated first."""
        lines = self._lines("create", rows)
        step = self._step("carry", {"with_cache": with_cache}, Count(len(rows)), lines)
        return step._replace(agent=1)

    def fills(self, *keys: str) -> Step:
        """Many empty entries at once, which all genes may read, in this order."""
        rows = [Kept(key, b"", "PATTERN", "somebody") for key in keys]
        lines = self._lines("create", rows)
        return self._step("fill", {"keys": keys}, Count(len(keys)), lines)

    def quota(self, text: object, answer: int | None) -> Step:
        """What a quota's text stands for; None: it is refused."""
        refused = Refusal(INVALID)
        return self._step("quota", {"text": text}, refused if answer is None else Count(answer))


A, B, C, D, Nobody = (Gene(role) for role in DOMAINS)
DEPLOYER = Deployer()


def after(ms: int) -> Step:
    """The clock goes on, or back."""
    return Step("", "wait", {"ms": ms})


def set_agent(
    *, quota: int | None = None, days: int | None = None, anonymization: bool = False
) -> Step:
    """The agent gets another quota (None: the default) and another data policy."""
    policy = retention_policy(days, anonymization=anonymization)
    return Step("", "set", {"quota": quota, "data_policy": policy})


def elsewhere(step: Step) -> Step:
    """The same, in the other agent."""
    return step._replace(agent=1)
