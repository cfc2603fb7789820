"""Scopes: the check, and its twin in SQL."""

from __future__ import annotations

import itertools
import sqlite3

import pytest

from rotifer_engine import SCOPES, Caller
from rotifer_engine._access import allows, refused_identity, scope_sql

CREATOR = "v2:" + "a" * 64
OTHER = "v2:" + "b" * 64


@pytest.mark.parametrize(
    ("scope", "gene_id", "domain", "expected"),
    [
        ("CREATOR_GENE_ONLY", CREATOR, "d", True),
        ("CREATOR_GENE_ONLY", CREATOR, "other", True),
        ("CREATOR_GENE_ONLY", OTHER, "d", False),
        ("SAME_DOMAIN", OTHER, "d", True),
        ("SAME_DOMAIN", OTHER, "d.sub", False),
        ("SAME_DOMAIN", OTHER, "D", False),
        ("SAME_DOMAIN", OTHER, None, False),
        ("ALL_GENES", OTHER, "other", True),
        ("ALL_GENES", None, "d", False),
        ("DEPLOYER_CONFIGURED", CREATOR, "d", False),
    ],
)
def test_scopes(scope, gene_id, domain, expected):
    """Each scope lets in whom the page says, comparing domains as whole strings."""
    assert expected == allows(scope, CREATOR, "d", Caller(gene_id, domain))


def test_an_unknown_domain_equals_nothing():
    """No domain is not the same as no domain."""
    assert not allows("SAME_DOMAIN", CREATOR, None, Caller(OTHER, None))


def test_the_sql_has_the_same_idea_of_mine():
    """For every scope and every combination of facts, the condition in SQL agrees."""
    connection = sqlite3.connect(":memory:")
    genes, domains = (CREATOR, OTHER), ("d", "D", "é", None)
    for scope, created_by, created_domain, gene_id, domain in itertools.product(
        SCOPES, genes, domains, genes, domains
    ):
        statement = (
            f"SELECT {scope_sql('scope', '?4', '?5')} FROM"
            " (SELECT ?1 AS scope, ?2 AS created_by, ?3 AS created_domain)"
        )
        row = connection.execute(statement, (scope, created_by, created_domain, gene_id, domain))

        assert allows(scope, created_by, created_domain, Caller(gene_id, domain)) == bool(
            row.fetchone()[0]
        )
    connection.close()


@pytest.mark.parametrize(
    ("gene_id", "domain", "reason"),
    [
        (CREATOR, "d", None),
        (CREATOR, None, None),
        (None, "d", "needs a gene with a v2 identity"),
        ("v2:" + "A" * 64, "d", "not a v2 identity"),
        ("v2:" + "a" * 63, "d", "not a v2 identity"),
        ("v1:" + "a" * 64, "d", "not a v2 identity"),
        ("deployer", None, "not a v2 identity"),
        ("", "d", "not a v2 identity"),
        (CREATOR, "\ud800", "not well-formed"),
    ],
)
def test_only_a_v2_identity_may_call(gene_id, domain, reason):
    """No principal is never taken as everyone, nor as the deployer."""
    refused = refused_identity(Caller(gene_id, domain))

    assert (reason is None) == (refused is None)
    assert reason is None or reason in refused
