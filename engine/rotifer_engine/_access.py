"""Who may read, write and delete an entry (memory §4).

A scope says which fact about the caller must equal which fact about the entry. The Python check
and its twin in SQL are both made from that one table, so they cannot have different ideas of
"mine".
"""

from __future__ import annotations

from functools import lru_cache

from rotifer_engine.quick import NamedTuple

__all__ = ["SCOPES", "Caller", "Scope", "allows", "is_v2_id", "refused_identity", "scope_sql"]

_HEX = frozenset("0123456789abcdef")


class Caller(NamedTuple):
    """Who calls: the supervisor's knowledge, never something the gene says.

    Args:
        gene_id: the gene's v2 identity; None when it has none, or runs outside an agent.
        domain: the gene's functional domain.
    """

    gene_id: str | None
    domain: str | None


class Scope(NamedTuple):
    """What a scope lets in: a caller for whom the two facts are equal.

    Args:
        entry_fact: the entry's field (``created_by`` or ``created_domain``); None: no comparison.
        everyone: with no comparison, whether it lets in every gene with a v2 id, or nobody.
        settable: whether a write may set it.
    """

    entry_fact: str | None
    everyone: bool
    settable: bool


SCOPES: dict[str, Scope] = {
    "CREATOR_GENE_ONLY": Scope("created_by", everyone=False, settable=True),
    "SAME_DOMAIN": Scope("created_domain", everyone=False, settable=True),
    "ALL_GENES": Scope(None, everyone=True, settable=True),
    "DEPLOYER_CONFIGURED": Scope(None, everyone=False, settable=False),
}

_CALLER_FACT = {"created_by": "gene_id", "created_domain": "domain"}


def allows(scope: str, created_by: str, created_domain: str | None, caller: Caller) -> bool:
    """Whether a scope lets this caller in. An unknown fact (None) equals nothing."""
    rule = SCOPES[scope]
    if rule.entry_fact is None:
        return rule.everyone and caller.gene_id is not None
    if rule.entry_fact == "created_by":
        return created_by == caller.gene_id
    return created_domain is not None and created_domain == caller.domain


def scope_sql(column: str, gene: str, domain: str) -> str:
    """The same rule as :func:`allows`, as an SQL condition on an entry's row.

    Args:
        column: the column that holds the scope's name.
        gene: the placeholder of the caller's v2 id.
        domain: the placeholder of the caller's domain; NULL equals nothing in SQL either.
    """
    placeholder = {"gene_id": gene, "domain": domain}
    cases = " ".join(
        f"WHEN '{name}' THEN "
        + (
            f"{rule.entry_fact} = {placeholder[_CALLER_FACT[rule.entry_fact]]}"
            if rule.entry_fact
            else f"1 = {int(rule.everyone)}"
        )
        for name, rule in SCOPES.items()
    )
    return f"CASE {column} {cases} ELSE 1 = 0 END"


@lru_cache(maxsize=256)
def refused_identity(caller: Caller) -> str | None:
    """Why this caller may make no call at all; None when it may (memory §4)."""
    if caller.gene_id is None:
        return (
            "memory needs a gene with a v2 identity that runs as part of an agent; "
            "run `rotifer wrap`, then `rotifer agent run`"
        )
    if not is_v2_id(caller.gene_id):
        return "the gene's identity is not a v2 identity (v2: and 64 lower-case hex digits)"
    if caller.domain is not None and not _well_formed(caller.domain):
        return "the gene's domain is not well-formed Unicode"
    return None


def is_v2_id(text: str) -> bool:
    """Whether a text is a v2 identity: ``v2:`` and 64 lower-case hex digits."""
    return len(text) == 67 and text.startswith("v2:") and _HEX.issuperset(text[3:])


def _well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
