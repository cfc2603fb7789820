"""What ``compile`` puts into a module: four sections, and the hash over them (wasm-genes §5).

Modules without them run; nothing here looks at them when it runs one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from rotifer_bridge._wasm_binary import CODE, CUSTOM, HEADER, Section, read_layout
from rotifer_bridge._wasm_limits import FUEL, MEMORY_BYTES
from rotifer_bridge.errors import GeneError

__all__ = ["SECTIONS", "ir_hash", "with_sections"]

SECTIONS = ("rotifer.version", "rotifer.phenotype", "rotifer.constraints", "rotifer.metering")
"""In this order."""
_HASHED = SECTIONS[:3]

_VERSION = {"spec_version": "0.2.0", "ir_version": 2}
_TIMEOUT_MS = 60_000  # of a run that says nothing else (wasm-genes §4)

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def with_sections(wasm: bytes, phenotype: Mapping[str, Any]) -> bytes:
    """The module with the four sections at its end, in the place of those that it has.

    Args:
        wasm: a module.
        phenotype: of the gene that it is; ``irHash`` is left out, for it is made from this.

    Raises:
        NotWasm: it cannot be read.
        GeneError: E0021 the phenotype holds what MessagePack cannot.
    """
    bare = b"".join(
        wasm[section.outer : section.end]
        for section in read_layout(wasm).sections
        if section.name not in SECTIONS
    )
    contents = {name: value for name, value in phenotype.items() if name != "irHash"}
    payloads = (
        _VERSION,
        _snake_case(contents),
        # What the two hold beside their names is ours [ours]: the limits of a run.
        {"max_memory_bytes": MEMORY_BYTES, "timeout_ms": _TIMEOUT_MS},
        {"fuel_limit": FUEL, "fuel_unit": "wasmtime"},
    )
    added = [_section(name, _pack(value)) for name, value in zip(SECTIONS, payloads, strict=True)]
    return HEADER + bare + b"".join(added)


def ir_hash(wasm: bytes) -> str:
    """SHA-256 of the version, phenotype and constraints payloads and of the code section, in hex.

    Raises:
        NotWasm: it cannot be read.
    """
    found: dict[str | int | None, Section] = {}
    for section in read_layout(wasm).sections:
        found.setdefault(section.name if section.number == CUSTOM else section.number, section)
    digest = sha256()
    for key in (*_HASHED, CODE):
        if key in found:
            digest.update(memoryview(wasm)[found[key].start : found[key].end])
    return digest.hexdigest()


def _snake_case(phenotype: Mapping[str, Any]) -> dict[str, Any]:
    """The phenotype's own names; what stands in a schema is the schema's."""
    renamed = {_HUMP.sub("_", name).lower(): value for name, value in phenotype.items()}
    network = renamed.get("network")
    if isinstance(network, dict):
        renamed["network"] = {_HUMP.sub("_", k).lower(): v for k, v in network.items()}
    return renamed


def _pack(value: object) -> bytes:
    import msgpack

    try:
        packed: bytes = msgpack.packb(_sorted(value))
    except (OverflowError, ValueError, UnicodeEncodeError) as error:
        raise GeneError(
            f"phenotype.json holds what MessagePack cannot: {error}",
            code="E0021",
            help="use whole numbers below 2^63 and well-formed text",
        ) from None
    return packed


def _sorted(value: Any) -> Any:
    """The same with the keys of every object in order, so that equal phenotypes give one hash."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _section(name: str, payload: bytes) -> bytes:
    encoded = name.encode("ascii")
    contents = _leb128(len(encoded)) + encoded + payload
    return bytes([CUSTOM]) + _leb128(len(contents)) + contents


def _leb128(number: int) -> bytes:
    encoded = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        encoded.append(low | (0x80 if number else 0))
        if not number:
            return bytes(encoded)
