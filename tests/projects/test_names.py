"""What may be called what."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rotifer_bridge import _names
from rotifer_bridge._names import (
    check_agent_name,
    check_domain,
    check_gene_name,
    check_version,
    is_safe_agent_name,
)
from rotifer_bridge.errors import GeneError, UsageError

GOOD_NAMES = ["a", "0", "hello-world", "a.b_c-d", "x" * 100, "a--b", "1.0"]
BAD_NAMES = [
    "", ".", "..", "../x", "a/b", "a\\b", "/a", "A", "aB", "-a", "a-", ".a", "a.", "_a", "a..b", "a b",
    "a\n", "a\x00", "é", "x" * 101, None, 1, ["a"], "\u202eabc",
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_good_names(name):
    """Names by the rule are handed back as they are."""
    assert name == check_gene_name(name)
    assert name == check_agent_name(name)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names(name):
    """Any other name is refused, and the error says what is allowed."""
    with pytest.raises(GeneError) as gene:
        check_gene_name(name, code="E0004")
    with pytest.raises(UsageError) as agent:
        check_agent_name(name)

    assert "E0004" == gene.value.code
    assert "a-z, 0-9" in gene.value.help
    assert "a-z, 0-9" in agent.value.help
    assert gene.value.render().isascii() or "é" in gene.value.render()


def test_the_limit_is_named_with_the_figure():
    """A name that is too long is told how long it is."""
    with pytest.raises(GeneError, match="101 characters; the limit is 100"):
        check_gene_name("x" * 101)


@pytest.mark.parametrize("domain", ["a", "code", "code.format", "1.2.3"])
def test_good_domains(domain):
    """Parts of lower-case letters and digits, joined by dots."""
    assert domain == check_domain(domain)


@pytest.mark.parametrize(
    "domain", ["", ".", "a.", ".a", "a..b", "A", "a-b", "a b", "a\n", None, 3, "é"]
)
def test_bad_domains(domain):
    """Anything else is refused with an example."""
    with pytest.raises(GeneError) as caught:
        check_domain(domain)

    assert "code.format" in caught.value.help


@pytest.mark.parametrize("version", ["0.1.0", "10.20.30", "1.0.0-beta.1", "1.0.0-A"])
def test_good_versions(version):
    """Three numbers, and perhaps a suffix."""
    assert version == check_version(version)


@pytest.mark.parametrize(
    "version", ["", "1", "1.0", "v1.0.0", "1.0.0-", "1.0.0+x", "1.0.0\n", "١.0.0", None, 1.0]
)
def test_bad_versions(version):
    """Anything else is refused with an example."""
    with pytest.raises(GeneError) as caught:
        check_version(version)

    assert "0.1.0-beta.1" in caught.value.help


@pytest.mark.parametrize("name", ["My Agent", "MyAgent", "日本", "a+b", "x" * 100])
def test_names_of_other_makers_are_read(name):
    """The reference takes any name: one that stays in its folder is good enough to be read."""
    assert is_safe_agent_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".x",
        "-x",
        "a..b",
        "a\nb",
        "\x1b[2J",
        "a\u202eb",
        "x" * 101,
        None,
        1,
    ],
)
def test_names_that_leave_or_deceive_are_not(name):
    """A name that could leave its folder, look like an option or drive a terminal is refused."""
    assert not is_safe_agent_name(name)


RULES = {
    _names._is_name: r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?",
    _names._is_domain: r"[a-z0-9]+(\.[a-z0-9]+)*",
    _names._is_version: r"[0-9]+\.[0-9]+\.[0-9]+(-[a-zA-Z0-9.]+)?",
}


@given(st.text("az09AZ._-é٣ \n", max_size=12))
@example("1.0.0-")
@example("1.0.0\n")
@example("")
def test_the_rules_as_patterns(text):
    """Names, domains and versions follow the patterns of projects §2, which take long to import."""
    for rule, pattern in RULES.items():
        assert (re.fullmatch(pattern, text) is not None) == rule(text)
