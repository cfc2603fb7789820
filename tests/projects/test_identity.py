"""The content id and the v2 identity."""

from __future__ import annotations

import json
import subprocess
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotifer_bridge._identity import canonical_json, content_id, v2_identity

# What the reference does, in its own language: sort deep, then print.
REFERENCE = """
const sortDeep = (v) => Array.isArray(v) ? v.map(sortDeep)
  : v && typeof v === "object"
    ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sortDeep(v[k])])) : v;
require("readline").createInterface({ input: process.stdin })
  .on("line", (line) => console.log(JSON.stringify(sortDeep(JSON.parse(line)))));
"""


@pytest.fixture(scope="module")
def as_node(node_path):
    """Ask one Node process, value by value, what it prints."""
    with subprocess.Popen(
        [node_path, "-e", REFERENCE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as node:

        def ask(value):
            # Bytes: a text stream would have its own idea of where a line ends.
            node.stdin.write(json.dumps(value).encode("ascii") + b"\n")
            node.stdin.flush()
            return node.stdout.readline().removesuffix(b"\n").decode()

        yield ask
        node.stdin.close()


KEYS = ["b", "a", "10", "9", "0", "00", "01", "-1", "1.5", "4294967294", "4294967295", "4294967296",
        "99999999999", "", " ", "é", "\u2028", "\ufffd", "\U00010000", "\ud800", "\udfff", "\x00",
        "\x1f", "\x7f", '"', "\\", "/", "١"]  # fmt: skip


def test_keys_stand_as_in_javascript(as_node):
    """Array indices first and in numeric order, then UTF-16 code units; lone surrogates escaped."""
    value = {key: {"in": key} for key in KEYS}

    assert as_node(value) == canonical_json(value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(), max_size=3) | st.integers(0, 2**33).map(str), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_any_json_as_in_javascript(as_node, value):
    """Canonical JSON of any value is byte for byte what Node gives."""
    assert as_node(value) == canonical_json(value)


def test_content_id_is_the_hash_of_the_canonical_text():
    """SHA-256 over the sorted, compact text."""
    phenotype = {"version": "0.1.0", "domain": "code", "n": 1.0}
    expected = sha256(b'{"domain":"code","n":1,"version":"0.1.0"}').hexdigest()

    assert expected == content_id(phenotype)


def test_v2_identity_leaves_out_what_is_not_the_gene():
    """When it was made and what was compiled from it change nothing."""
    plain = {"domain": "code", "version": "0.1.0"}
    dated = {**plain, "createdAt": "2026-01-01T00:00:00.000Z", "irHash": "abc"}
    files = {"index.ts": b"export const express = () => 1"}

    assert v2_identity(plain, files) == v2_identity(dated, files)
    assert v2_identity(plain, files).startswith("v2:")
    assert len(v2_identity(plain, files)) == 3 + 64


@pytest.mark.parametrize(
    "files",
    [
        {"index.ts": b"export const express = () => 2"},
        {"index.js": b"export const express = () => 1"},
        {"index.ts": b"export const express = () => 1", "data.json": b"{}"},
        {},
    ],
)
def test_v2_identity_changes_with_any_byte_or_name(files):
    """Another byte, another name, a file more or less: another gene."""
    phenotype = {"domain": "code"}
    before = {"index.ts": b"export const express = () => 1"}

    assert v2_identity(phenotype, before) != v2_identity(phenotype, files)


def test_v2_identity_is_stable():
    """The identity of a fixed gene is fixed: memories written under it depend on that."""
    digest = sha256(b"x").hexdigest()
    whole = f'{{"files":{{"index.ts":"{digest}"}},"phenotype":{{"domain":"code"}}}}'

    assert "v2:" + sha256(whole.encode()).hexdigest() == v2_identity(
        {"domain": "code"}, {"index.ts": b"x"}
    )


@pytest.mark.parametrize("value", [{1}, b"bytes", object()])
def test_what_is_not_json_is_refused(value):
    """A value that JSON cannot hold has no canonical text."""
    with pytest.raises(TypeError, match="is not JSON"):
        canonical_json({"x": value})
