"""The verifier: what is wrong with a module, and what is only odd (wasm-genes §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge._ir import SECTIONS
from rotifer_bridge._text import printable
from rotifer_bridge._wasm_binary import NotWasm, read_layout
from rotifer_bridge._wasm_check import ENTRIES

if TYPE_CHECKING:
    from rotifer_bridge._wasm_binary import Layout

__all__ = ["IMPORT_MODULES", "Verdict", "verify"]

IMPORT_MODULES = (
    "wasi_snapshot_preview1",
    "env",
    "rotifer",
    "rotifer.gene",
    "rotifer.crypto",
    "rotifer.net",
    "rotifer.kv",
    "rotifer.env",
)
"""The known ones, beside those that start with `EXTENSIONS`; not all of them can be run here."""
EXTENSIONS = "rotifer.ext."
_PREFIX = "rotifer."

_MOST_AT_FIRST = 256  # pages
_MOST_EVER = 1_024  # pages


class Verdict(NamedTuple):
    """What the verifier says of a module."""

    failures: list[str]
    warnings: list[str]

    @property
    def word(self) -> str:
        """``PASS``, ``WARN`` or ``FAIL``."""
        if self.failures:
            return "FAIL"
        return "WARN" if self.warnings else "PASS"

    def __str__(self) -> str:
        """The line: ``PASS``, ``WARN: a; b`` or ``FAIL: a; b``."""
        found = self.failures or self.warnings
        return f"{self.word}: {'; '.join(found)}" if found else self.word


def verify(wasm: bytes) -> Verdict:
    """Look at a module; nothing of it is run.

    Raises:
        GeneError: wasmtime is not installed.
    """
    try:
        layout = read_layout(wasm)
    except NotWasm as error:
        return Verdict([f"not a WASM module: {error}"], [])
    from rotifer_bridge._wasm_extra import wasm_api

    api = wasm_api()
    invalid = api.invalid(wasm, wasm_threads=True)
    if invalid is not None:
        return Verdict([f"not a valid WASM module: {invalid}"], [])
    failures = [
        *(f"section {name} is missing" for name in SECTIONS if not _has(layout, name)),
        *_entry_faults(layout),
        *(
            f"memory starts with {memory.minimum:,} pages; the limit is {_MOST_AT_FIRST}"
            for memory in layout.memories
            if memory.minimum > _MOST_AT_FIRST
        ),
    ]
    if api.invalid(wasm, wasm_threads=False) is not None:
        failures.append("it uses atomics")
    warnings = [
        f"section {section.name} is empty"
        for section in layout.sections
        if (section.name or "").startswith(_PREFIX) and section.start == section.end
    ]
    if api.invalid(wasm, wasm_threads=True, wasm_simd=False, wasm_relaxed_simd=False) is not None:
        warnings.append("it uses SIMD")
    return Verdict(failures, [*warnings, *_memory_oddities(layout), *_unknown_imports(layout)])


def _has(layout: Layout, name: str) -> bool:
    return any(section.name == name for section in layout.sections)


def _entry_faults(layout: Layout) -> list[str]:
    faults: list[str] = []
    if not any(_exports(layout, entry, "function") for entry in ENTRIES.values()):
        faults.append("it exports neither express nor _start")
    if not _exports(layout, "memory", "memory"):
        faults.append("it exports no memory")
    return faults


def _exports(layout: Layout, name: str, kind: str) -> bool:
    export = layout.exports.get(name)
    return export is not None and export.kind == kind


def _memory_oddities(layout: Layout) -> list[str]:
    odd: list[str] = []
    for memory in layout.memories:
        if memory.maximum is None:
            odd.append("memory has no maximum")
        elif memory.maximum > _MOST_EVER:
            odd.append(f"memory may grow to {memory.maximum:,} pages, over {_MOST_EVER:,}")
    return odd


def _unknown_imports(layout: Layout) -> list[str]:
    modules = dict.fromkeys(item.module for item in layout.imports)
    return [
        f"it imports from '{printable(module[:200])}', which is not known"
        for module in modules
        if module not in IMPORT_MODULES and not module.startswith(EXTENSIONS)
    ]
