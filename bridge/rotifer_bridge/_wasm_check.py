"""Which modules are run, and which are refused before they are compiled (wasm-genes §1, §2)."""

from __future__ import annotations

from typing import NamedTuple

from rotifer_bridge._names import shown
from rotifer_bridge._text import printable
from rotifer_bridge._wasm_binary import Layout, NotWasm, read_layout
from rotifer_bridge._wasm_host import signature
from rotifer_bridge._wasm_imports import HOST_FUNCTIONS
from rotifer_bridge._wasm_limits import PAGE
from rotifer_bridge.errors import GeneError

__all__ = ["ASYNC_TEXTS", "DIRECT", "ENTRIES", "WASI", "Checked", "check_module"]

DIRECT, WASI = "direct", "wasi"

ASYNC_TEXTS = (b"async function express", b"express = async")
"""What a compiled TypeScript gene holds whose ``express`` is async: it would answer ``{}``."""

ENTRIES = {DIRECT: "express", WASI: "_start"}
"""The function that each mode calls."""

_Fault = tuple[str, str | None]

_TYPES = {"_start": "() -> ()", "express": "(i32, i32) -> i32", "alloc": "(i32) -> i32"}


class Checked(NamedTuple):
    """How a module is run."""

    mode: str
    allocates: bool
    imports: list[tuple[str, str]]


def check_module(gene: str, wasm: bytes, where: str, *, memory_bytes: int) -> Checked:
    """See what a module needs and whether we have it.

    Args:
        gene: the gene's name.
        wasm: the module.
        where: its file, for messages.
        memory_bytes: the largest memory allowed.

    Raises:
        GeneError: says what is missing, or what there is too much.
    """
    fault = _async_fault(wasm)
    if fault is None:
        try:
            layout = read_layout(wasm)
        except NotWasm as error:
            fault = f"this is no WASM module: {error}", None
        else:
            mode = WASI if "_start" in layout.exports else DIRECT
            allocates = mode == DIRECT and "alloc" in layout.exports
            called = [ENTRIES[mode], "alloc"] if allocates else [ENTRIES[mode]]
            fault = (
                _exports_fault(layout, called)
                or _memory_fault(layout, memory_bytes)
                or _imports_fault(layout)
            )
            if fault is None:
                imports = [(item.module, item.name) for item in layout.imports]
                return Checked(mode, allocates, imports)
    raise GeneError(f"gene {shown(gene)}: {fault[0]}", code="E0051", where=where, help=fault[1])


def _async_fault(wasm: bytes) -> _Fault | None:
    for text in ASYNC_TEXTS:
        if text in wasm:
            return (
                f"its module holds '{text.decode()}': an async express gives no answer here",
                "write express without async and compile it anew, or leave it under Node",
            )
    return None


def _exports_fault(layout: Layout, called: list[str]) -> _Fault | None:
    if not any(entry in layout.exports for entry in ENTRIES.values()):
        return (
            "its module exports neither express nor _start",
            "export express(ptr: i32, len: i32) -> i32",
        )
    memory = layout.exports.get("memory")
    if memory is None:
        return "its module exports no memory", 'export its memory under the name "memory"'
    if memory.kind != "memory":
        return f"its export memory is a {memory.kind}, no memory", None
    for name in called:
        export = layout.exports[name]
        if export.kind != "function":
            return f"its export {name} is a {export.kind}, no function", None
        if export.type != _TYPES[name]:
            return f"its export {name} is {export.type}; it must be {_TYPES[name]}", None
    return None


def _memory_fault(layout: Layout, memory_bytes: int) -> _Fault | None:
    for item in layout.memories:
        if item.minimum * PAGE > memory_bytes:
            wanted = item.minimum * PAGE
            why = f"memory limit: its module wants {wanted:,} bytes; the limit is {memory_bytes:,}"
            return why, "give its memory a smaller initial size"
    return None


def _imports_fault(layout: Layout) -> _Fault | None:
    for item in layout.imports:
        name = f"{item.module}.{item.name}"
        function = HOST_FUNCTIONS.get((item.module, item.name))
        if function is None:
            there = ", ".join(sorted({module for module, _ in HOST_FUNCTIONS}))
            return (
                f"its module imports {printable(name[:200])}, which is not there",
                f"only functions of {there} can be imported, and not all that others have",
            )
        if item.kind != "function":
            return f"its module imports {name} as a {item.kind}; it is a function", None
        if item.type != signature(function):
            return f"its module imports {name} as {item.type}; it is {signature(function)}", None
    return None
