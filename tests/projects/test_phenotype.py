"""phenotype.json, good and bad."""

from __future__ import annotations

import json

import pytest

from rotifer_bridge._phenotype import fidelity_of, parse_phenotype
from rotifer_bridge.errors import GeneError

GOOD = {"domain": "code", "inputSchema": {}, "outputSchema": True, "version": "1.0.0"}


def test_unknown_fields_are_kept():
    """What we do not know is somebody's all the same."""
    value = {**GOOD, "x-mine": [1, {"a": None}]}

    assert value == parse_phenotype(json.dumps(value).encode(), "p")


def test_a_byte_order_mark_is_accepted():
    """Editors leave one, and it says nothing."""
    assert GOOD == parse_phenotype(b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), "p")


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "E0020", "it is empty"),
        (b"{", "E0020", "line 1, column 2"),
        (b'{\n "a": 1,\n}', "E0020", "line 3, column 1"),
        (b'{"a": NaN}', "E0020", "NaN is not JSON"),
        (b"\xff\xfe{}", "E0020", "not UTF-8: byte 0xff in line 1"),
        (b"[" * 100_000, "E0020", "nested too deeply"),
        (b"[]", "E0020", "holds an array"),
        (b"null", "E0020", "holds null"),
        (b"{}", "E0021", "lacks domain, inputSchema, outputSchema, version"),
        (json.dumps({**GOOD, "inputSchema": "x"}).encode(), "E0021", "inputSchema is a string"),
        (json.dumps({**GOOD, "outputSchema": None}).encode(), "E0021", "outputSchema is null"),
        (json.dumps({**GOOD, "domain": "A b"}).encode(), "E0022", "'A b' is not a domain"),
        (json.dumps({**GOOD, "version": "1"}).encode(), "E0023", "'1' is not a version"),
        (b'{"x":' * 300 + b"1" + b"}" * 300, "E0021", "lacks"),
        (json.dumps({**GOOD, "x": eval("[" * 190 + "]" * 190)}).encode(), None, ""),
        (
            json.dumps({**GOOD, "x": json.loads("[" * 300 + "]" * 300)}).encode(),
            "E0021",
            "nested over 200 levels",
        ),
    ],
)
def test_faults(data, code, words):
    """Each fault has its code, says where it is, and never ends in a stack."""
    if code is None:
        parse_phenotype(data, "p")
        return
    with pytest.raises(GeneError) as caught:
        parse_phenotype(data, "p")

    assert code == caught.value.code
    assert words in caught.value.message
    assert "p" == caught.value.where


def test_fidelity_has_a_default():
    """A phenotype that does not say is Wrapped."""
    assert ("Wrapped", None) == fidelity_of({})


@pytest.mark.parametrize("fidelity", ["wrapped", "Nativ", 3, None, ["Hybrid"]])
def test_an_odd_fidelity_is_unknown_and_said(fidelity):
    """A word that is none of the four does not stop the gene, but it is named."""
    known, note = fidelity_of({"fidelity": fidelity})

    assert "Unknown" == known
    assert "none of Wrapped, Hybrid, Native, Unknown" in note
