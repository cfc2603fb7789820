"""The verifier, the four sections and their hash (wasm-genes §5)."""

from __future__ import annotations

import contextlib
from hashlib import sha256

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wasm.conftest import wasm

from rotifer_bridge._ir import SECTIONS, ir_hash, with_sections
from rotifer_bridge._verify import verify
from rotifer_bridge._wasm_binary import CODE, NotWasm, read_layout
from rotifer_bridge.errors import GeneError

EXPRESS = '(func (export "express") (param i32 i32) (result i32) (i32.const 0))'
GOOD = f'(module (memory (export "memory") 1 16) {EXPRESS})'
PHENOTYPE = {
    "domain": "code.format",
    "inputSchema": {"type": "object", "additionalProperties": False},
    "version": "0.1.0",
    "network": {"allowedDomains": ["a.example"]},
    "createdAt": "2026-01-01T00:00:00Z",
    "irHash": "old",
    "x-vendorField": [1, 2.5, None, True, "ü"],
}


def sealed(wat, phenotype=PHENOTYPE):
    """A module with the sections."""
    return with_sections(wasm(wat), phenotype)


def payloads(module):
    """The contents of each custom section, by name, in the order they stand in."""
    return {
        section.name: module[section.start : section.end]
        for section in read_layout(module).sections
        if section.number == 0
    }


def custom(name, payload=b""):
    """A custom section of less than 128 bytes."""
    contents = bytes([len(name)]) + name.encode() + payload
    return bytes([0, len(contents)]) + contents


# ---- the sections


def test_the_four_sections():
    """They stand at the end, in order, with snake_case names; what a schema holds is its own."""
    found = payloads(sealed(GOOD))

    assert list(SECTIONS) == list(found)
    values = {name: msgpack.unpackb(data) for name, data in found.items()}
    assert {"spec_version": "0.2.0", "ir_version": 2} == values["rotifer.version"]
    assert {
        "domain": "code.format",
        "input_schema": {"type": "object", "additionalProperties": False},
        "version": "0.1.0",
        "network": {"allowed_domains": ["a.example"]},
        "created_at": "2026-01-01T00:00:00Z",
        "x-vendor_field": [1, 2.5, None, True, "ü"],
    } == values["rotifer.phenotype"]
    assert {"max_memory_bytes": 268_435_456, "timeout_ms": 60_000} == values["rotifer.constraints"]
    assert {"fuel_limit": 500_000_000, "fuel_unit": "wasmtime"} == values["rotifer.metering"]


def test_the_rest_of_the_module_stays():
    """Before the new sections the module is what it was, byte for byte."""
    before = wasm(GOOD) + custom("name of somebody", b"else")

    assert with_sections(before, {}).startswith(before)


def test_sections_are_replaced():
    """A module that has them already gets new ones in their place, wherever they stood."""
    once = sealed(GOOD)

    assert once == with_sections(once, PHENOTYPE)
    old = wasm(GOOD)
    early = old[:8] + custom("rotifer.metering") + custom("rotifer.version", b"x") + old[8:]
    assert once == with_sections(early, PHENOTYPE)


def test_the_hash():
    """It is over three of the payloads and the contents of the code section, and over nothing else."""
    module = sealed(GOOD)
    found = payloads(module)
    [code] = [module[s.start : s.end] for s in read_layout(module).sections if s.number == CODE]
    parts = [found[name] for name in SECTIONS[:3]] + [code]

    assert sha256(b"".join(parts)).hexdigest() == ir_hash(module)
    assert ir_hash(module) == ir_hash(module + custom("other"))
    assert ir_hash(module) == ir_hash(sealed(GOOD, {**PHENOTYPE, "irHash": "new"}))
    assert ir_hash(module) == ir_hash(sealed(GOOD, dict(reversed(PHENOTYPE.items()))))
    assert ir_hash(module) != ir_hash(sealed(GOOD, {**PHENOTYPE, "version": "0.2.0"}))
    assert ir_hash(module) != ir_hash(sealed(GOOD.replace("i32.const 0", "i32.const 1")))


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800"])
def test_what_messagepack_cannot_hold(value):
    """E0021 says what it was."""
    with pytest.raises(GeneError, match="MessagePack cannot"):
        sealed(GOOD, {"domain": value})


# ---- the verifier


def test_pass():
    """A module that is as it should be passes."""
    assert "PASS" == str(verify(sealed(GOOD)))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (b"", "FAIL: not a WASM module: it does not start with the eight bytes of a WASM module"),
        (b"\0asm\x01\0\0\0\x0a", "FAIL: not a WASM module: it ends too early, at byte 9"),
        (wasm(GOOD), "FAIL: " + "; ".join(f"section {name} is missing" for name in SECTIONS)),
        (sealed(f"(module (memory 1 1) {EXPRESS})"), "FAIL: it exports no memory"),
        (
            sealed(f'(module (memory 1 1) (func (export "memory")) {EXPRESS})'),
            "FAIL: it exports no memory",
        ),
        (
            sealed('(module (memory (export "memory") 1 1))'),
            "FAIL: it exports neither express nor _start",
        ),
        (
            sealed('(module (memory (export "memory") 1 1) (memory (export "express") 1))'),
            None,  # several memories: wasmtime's own words
        ),
        (
            sealed(GOOD.replace("1 16", "257 300")),
            "FAIL: memory starts with 257 pages; the limit is 256",
        ),
        (sealed(GOOD.replace("1 16", "256 300")), "PASS"),
        (
            sealed(GOOD.replace("(i32.const 0)", "(i32.atomic.load (i32.const 0))")),
            "FAIL: it uses atomics",
        ),
        (sealed(GOOD.replace("1 16", "1 16 shared")), "FAIL: it uses atomics"),
        (
            sealed(GOOD.replace("(i32.const 0)", "(i32x4.extract_lane 0 (v128.const i32x4 0 0 0 0))")),
            "WARN: it uses SIMD",
        ),
        (sealed(GOOD.replace("1 16", "1")), "WARN: memory has no maximum"),
        (
            sealed(GOOD.replace("1 16", "1 1025")),
            "WARN: memory may grow to 1,025 pages, over 1,024",
        ),
        (sealed(GOOD.replace("1 16", "1 1024")), "PASS"),
        (sealed(GOOD) + custom("rotifer.more"), "WARN: section rotifer.more is empty"),
        (sealed(GOOD) + custom("more"), "PASS"),
        (
            sealed(GOOD.replace("(module", '(module (import "wasi" "x" (func)) (import "a\\1b" "y" (func))')),
            r"WARN: it imports from 'wasi', which is not known; it imports from 'a\x1b', which is not known",
        ),
        (
            sealed(GOOD.replace("(module", '(module (import "rotifer.ext.mine" "x" (func)) (import "rotifer.kv" "y" (func))')),
            "PASS",
        ),
        (
            sealed(GOOD.replace("(module", '(module (import "rotifer.extra" "x" (func))')),
            "WARN: it imports from 'rotifer.extra', which is not known",
        ),
    ],
    ids=range(20),
)  # fmt: skip
def test_the_line(module, line):
    """Each finding stands in the one line, failures before anything else."""
    found = str(verify(module))

    if line is None:
        assert found.startswith("FAIL: not a valid WASM module: multiple memories")
    else:
        assert line == found


def test_not_valid():
    """A module that can be read, and is no valid one, fails in wasmtime's words."""
    module = sealed(GOOD).replace(b"\x41\x00\x0b", b"\x42\x00\x0b")

    assert str(verify(module)).startswith("FAIL: not a valid WASM module: ")
    assert "type mismatch" in str(verify(module))


def test_failures_hide_no_warnings():
    """A module that fails has its warnings, too; the line is about the failures."""
    verdict = verify(wasm(GOOD.replace("1 16", "1")))

    assert ("FAIL", 4, ["memory has no maximum"]) == (verdict.word, len(verdict.failures), verdict.warnings)  # fmt: skip


# ---- bytes of anybody


WHOLE = sealed(GOOD)


@settings(max_examples=300, deadline=None)
@given(st.integers(8, len(WHOLE)), st.binary(max_size=12), st.integers(0, 12))
def test_changed_bytes(at, put, over):
    """Whatever is written over a module, reading it ends with a layout or with NotWasm."""
    data = WHOLE[:at] + put + WHOLE[at + over :]
    with contextlib.suppress(NotWasm):
        sections = read_layout(data).sections
        assert all(8 <= s.outer < s.start <= s.end <= len(data) for s in sections)
        assert verify(data).word in {"PASS", "WARN", "FAIL"}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes(data):
    """The same of any bytes behind the header."""
    assert verify(b"\0asm\x01\0\0\0" + data).word == "FAIL"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(custom("a") * 300_000, id="many sections"),
        pytest.param(b"\x01\x85\x80\x80\x00\xff\xff\xff\xff\x0f", id="a list of 4 billion"),
        pytest.param(b"\x07\xff\xff\xff\x00" + b"\xff" * 0x1FFFFF, id="two million bytes of names"),
        pytest.param(b"\x02\x80\x80\xc0\x00" + b"\x80" * 0x100000, id="a number without an end"),
    ],
)
@pytest.mark.timeout(20)
def test_large_nonsense(data):
    """Reading takes time that grows with the bytes, no more."""
    assert "FAIL" == verify(b"\0asm\x01\0\0\0" + data).word
