"""Who may do what (memory §4)."""

from __future__ import annotations

from rotifer_engine.conformance._case import Case, case
from rotifer_engine.conformance._steps import (
    DEPLOYER,
    A,
    B,
    C,
    D,
    Gene,
    Nobody,
    Step,
    set_agent,
)
from rotifer_engine.conformance._values import Kept, access, retention

__all__ = ["CASES"]

_SCOPES = {
    "CREATOR_GENE_ONLY": "the gene whose v2 id is createdBy",
    "SAME_DOMAIN": "genes of the creator's domain",
    "ALL_GENES": "every gene of the agent that has a v2 id",
}
_LET_IN = {"CREATOR_GENE_ONLY": "A", "SAME_DOMAIN": "AB", "ALL_GENES": "ABCD"}
_BEFORE = "memory §4: access is checked before every read, write and delete"
_FIRST = "memory §4: input is validated before access is judged"
_NO_ID = "memory §4: a gene without a v2 id gets MEMORY_ACCESS_DENIED on every call"
_SHARE = (
    "memory §4 sharePolicy: ANONYMIZED_SHARE, KNOWLEDGE_GENE are MEMORY_ACCESS_DENIED unless the "
    "agent's data policy has anonymizationSupported: true"
)
_LONGER = (
    "memory §4: a retentionPolicy that asks for longer than the agent's data policy allows "
    "(null counts as forever) is MEMORY_ACCESS_DENIED"
)


def _reading(scope: str, gene: Gene) -> Case:
    policy = access(scope, "ALL_GENES")
    kept = Kept("k", b"1", "CACHE", "A", access=policy)
    allowed = gene.role in _LET_IN[scope]
    words = "may" if allowed else "may not"
    last: tuple[Step, ...]
    if allowed:
        last = (gene.reads(kept), gene.finds({}, "k"))
    else:
        last = (gene.denied("read"), gene.finds({}), A.gets({}, kept))
    return case(
        f"{_whose(gene)} {words} read with readScope {scope}",
        f"memory §4 {scope}: {_SCOPES[scope]}",
        A.creates("k", access=policy),
        *last,
    )


def _writing(scope: str, gene: Gene) -> Case:
    policy = access("ALL_GENES", scope)
    kept = Kept("k", b"1", "CACHE", "A", access=policy)
    allowed = gene.role in _LET_IN[scope]
    words = "may" if allowed else "may not"
    if allowed:
        new = kept._replace(value=b"2", last=gene.role)
        last = (gene.updates(kept), A.reads(new), gene.deletes(new), A.misses("k"))
    else:
        last = (
            gene.denied("write", value=b"2", says=(scope,)),
            gene.denied("delete", says=(scope,)),
            A.gets({}, kept),
            A.reads(kept),
        )
    return case(
        f"{_whose(gene)} {words} write and delete with writeScope {scope}",
        f"memory §4 {scope}: {_SCOPES[scope]}",
        A.creates("k", access=policy),
        *last,
    )


def _whose(gene: Gene) -> str:
    return {
        "A": "the creator",
        "B": "a gene of the creator's domain",
        "C": "a gene of another domain",
        "D": "a gene whose domain is the beginning of the creator's",
    }[gene.role]


def _scopes() -> list[Case]:
    matrix = [(scope, gene) for scope in _SCOPES for gene in (A, B, C, D)]
    return [
        *(_reading(scope, gene) for scope, gene in matrix),
        *(_writing(scope, gene) for scope, gene in matrix),
        case(
            "the default lets the creator's domain in",
            "memory §4 SAME_DOMAIN: the default for both",
            A.creates("k"),
            B.updates(Kept("k", b"1", "CACHE", "A")),
            C.denied("read"),
            C.denied("write"),
            C.denied("delete"),
        ),
        case(
            "a domain does not reach into the domains below it",
            "memory §2: domains are compared as whole strings",
            D.creates("k"),
            A.denied("read"),
            A.denied("write"),
            A.denied("delete"),
            A.finds({}),
            D.finds({}, "k"),
        ),
        case(
            "the domain that counts is that of the creator at creation",
            "memory §2: the creator's domain at creation: SAME_DOMAIN is judged against it",
            C.creates("k", access=access("SAME_DOMAIN", "ALL_GENES")),
            A.updates(
                Kept("k", b"1", "CACHE", "C", access=access("SAME_DOMAIN", "ALL_GENES")), b"2"
            ),
            A.denied("read"),
            B.denied("read"),
            C.reads(Kept("k", b"2", "CACHE", "C", access=access("SAME_DOMAIN", "ALL_GENES"))),
        ),
        case(
            "reading and writing are two permissions",
            _BEFORE,
            A.creates("k", access=access("CREATOR_GENE_ONLY", "ALL_GENES")),
            C.denied("read"),
            C.updates(
                Kept("k", b"1", "CACHE", "A", access=access("CREATOR_GENE_ONLY", "ALL_GENES"))
            ),
            C.denied("read"),
        ),
        case(
            "every gene with an identity may create",
            "memory §5 writeMemory: replacing needs write permission; creating needs none",
            A.creates("k1"),
            C.creates("k2", access=access("CREATOR_GENE_ONLY")),
            D.creates("k3", access=access("ALL_GENES")),
        ),
    ]


def _forbidden_words() -> list[Case]:
    rule = (
        "memory §4 DEPLOYER_CONFIGURED: nobody in this version; a write that sets it is "
        "MEMORY_ACCESS_DENIED"
    )
    kept = Kept("k", b"1", "CACHE", "A")
    return [
        *(
            case(
                f"{scope} may not be {name}",
                rule,
                A.denied("write", accessPolicy=access(*scopes)),
                A.misses("k"),
                A.creates("k"),
                A.denied("write", value=b"2", accessPolicy=access(*scopes)),
                A.reads(kept),
            )
            for scope, name, scopes in (
                ("DEPLOYER_CONFIGURED", "the readScope", ("DEPLOYER_CONFIGURED", "ALL_GENES")),
                ("DEPLOYER_CONFIGURED", "the writeScope", ("ALL_GENES", "DEPLOYER_CONFIGURED")),
            )
        ),
        *(
            case(
                f"{share} needs an agent that supports anonymization",
                _SHARE,
                A.denied("write", accessPolicy=access("SAME_DOMAIN", share=share), says=(share,)),
                A.misses("k"),
                set_agent(anonymization=True),
                A.creates("k", access=access("SAME_DOMAIN", share=share)),
                A.creates("k2"),
                A.updates(
                    Kept("k2", b"1", "CACHE", "A"), access=access("SAME_DOMAIN", share=share)
                ),
            )
            for share in ("ANONYMIZED_SHARE", "KNOWLEDGE_GENE")
        ),
        case(
            "the entry's own retention policy does not allow sharing",
            _SHARE,
            A.denied(
                "write",
                accessPolicy=access("SAME_DOMAIN", share="KNOWLEDGE_GENE"),
                retentionPolicy=retention(1, anonymization=True),
            ),
            A.misses("k"),
        ),
    ]


def _data_policy() -> list[Case]:
    week = Kept("k", b"1", "CACHE", "A", retention=retention(7))
    return [
        case(
            "an entry may not stay longer than the agent allows",
            _LONGER,
            set_agent(days=7),
            A.denied("write", retentionPolicy=retention(8), says=("8", "7")),
            A.misses("k"),
        ),
        case(
            "an entry may stay exactly as long as the agent allows",
            _LONGER,
            set_agent(days=7),
            A.creates("k", retention=retention(7)),
        ),
        case(
            "an entry may stay for less time than the agent allows",
            _LONGER,
            set_agent(days=7),
            A.creates("k", retention=retention(1)),
        ),
        case(
            "for ever is longer than any limit",
            _LONGER,
            set_agent(days=2_147_483_647),
            A.denied("write", retentionPolicy=retention(None)),
            A.creates("k", retention=retention(2_147_483_647)),
        ),
        case(
            "an agent without a limit allows for ever",
            _LONGER,
            A.creates("k", retention=retention(None)),
        ),
        case(
            "following the agent is never too long",
            _LONGER,
            set_agent(days=1),
            A.creates("k", retention=None),
        ),
        case(
            "an update may not stay longer either, and leaves the entry as it was",
            _LONGER,
            set_agent(days=7),
            A.creates("k", retention=retention(7)),
            A.denied("write", value=b"2", retentionPolicy=retention(30)),
            A.reads(week),
        ),
        case(
            "a policy that is stored already is not judged again",
            "memory §5 writeMemory: a policy equal to the stored one is no change",
            A.creates("k", retention=retention(7)),
            set_agent(days=3),
            A.updates(week, retention=retention(7)),
            B.updates(week, b"3"),
            A.denied("write", retentionPolicy=retention(6)),
        ),
    ]


def _order_and_identity() -> list[Case]:
    secret = access("CREATOR_GENE_ONLY")
    return [
        case(
            "a bad key is bad for a gene without identity too",
            _FIRST,
            Nobody.invalid("read", key=""),
            Nobody.invalid("write", key="a\0b"),
            Nobody.invalid("delete", key=""),
            Nobody.invalid("query", limit=0),
            Nobody.invalid("write", category="SECRET"),
            Nobody.invalid("write", accessPolicy={}),
        ),
        case(
            "a bad argument is bad on an entry that is closed",
            _FIRST,
            A.creates("k", access=secret),
            B.invalid("read", category="SECRET"),
            B.invalid("write", category="cache"),
            B.invalid("write", retentionPolicy=retention(0)),
            B.denied("read"),
        ),
        case("a gene without identity may not read", _NO_ID, Nobody.denied("read")),
        case(
            "a gene without identity may not read what all genes may",
            _NO_ID,
            A.creates("k", access=access("ALL_GENES")),
            Nobody.denied("read"),
        ),
        case(
            "a gene without identity may not write",
            _NO_ID,
            Nobody.denied("write"),
            A.misses("k"),
        ),
        case(
            "a gene without identity may not query",
            _NO_ID,
            A.creates("k", access=access("ALL_GENES")),
            Nobody.denied("query"),
        ),
        case(
            "a gene without identity may not delete",
            _NO_ID,
            A.creates("k", access=access("ALL_GENES")),
            Nobody.denied("delete"),
            Nobody.denied("delete", key="absent"),
            A.reads(Kept("k", b"1", "CACHE", "A", access=access("ALL_GENES"))),
        ),
        case(
            "a closed entry is denied, never null",
            "memory §5 readMemory: an existing entry the gene may not read is MEMORY_ACCESS_DENIED",
            A.creates("k", access=secret),
            B.denied("read"),
            B.denied("read", category="CACHE"),
            B.misses("k2"),
        ),
        case(
            "a closed entry is denied whatever category is asked for",
            "memory §5 readMemory: an existing entry the gene may not read is denied, never null",
            A.creates("k", access=secret),
            B.denied("read", category="PATTERN"),
            A.misses("k", "PATTERN"),
        ),
        case(
            "a denied call changes nothing",
            _BEFORE,
            A.creates("k", access=access("CREATOR_GENE_ONLY")),
            B.denied("read"),
            B.denied("write", value=b"2", category="PATTERN"),
            B.denied("delete"),
            A.gets({}, Kept("k", b"1", "CACHE", "A", access=secret)),
            DEPLOYER.uses(2),
        ),
    ]


CASES: list[Case] = [*_scopes(), *_forbidden_words(), *_data_policy(), *_order_and_identity()]
