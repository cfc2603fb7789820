"""wasmtime's shared library and the layout of its structs, without its Python package.

Importing the package takes longer than running a small gene, so the library beside it is loaded by
itself. The layouts below are those of the C API of the versions named; for another version they
are taken from the package, which was made for the very library (a test holds the two together).
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, NamedTuple

__all__ = ["KNOWN", "Layout", "Library", "load", "package_layout"]

_VERSIONS = ("50.",)


class Layout(NamedTuple):
    """Sizes and offsets in bytes."""

    extern: int
    """``wasmtime_extern_t``."""
    instance: int
    """``wasmtime_instance_t``."""
    memory: int
    """``wasmtime_memory_t``."""
    value: int
    """``wasmtime_val_t``."""
    raw: int
    """``wasmtime_val_raw_t``, a slot of a host function."""
    of: int
    """Where ``of`` stands in an extern and in a value, behind their ``kind``."""


KNOWN = Layout(extern=32, instance=16, memory=24, value=32, raw=16, of=8)


class Library(NamedTuple):
    """The library, loaded."""

    dll: ctypes.CDLL
    layout: Layout
    version: str


def load(*, private: bool = True) -> Library:
    """Load the library.

    Args:
        private: try it without the package first (a test takes both ways).

    Raises:
        ModuleNotFoundError: wasmtime is not installed.
    """
    found = _beside_the_package() if private else None
    if found is not None:
        path, version = found
        if version.startswith(_VERSIONS):
            try:
                return Library(ctypes.CDLL(path), KNOWN, version)
            except OSError:
                pass  # the package knows better where its library is, or why it is none
    from wasmtime import _ffi

    return Library(_ffi.dll, package_layout(), found[1] if found else "unknown")


def package_layout() -> Layout:
    """The layout as wasmtime-py has it."""
    from wasmtime import _ffi

    extern: Any = _ffi.wasmtime_extern_t
    value: Any = _ffi.wasmtime_val_t
    if extern.of.offset != value.of.offset:
        raise RuntimeError("this version of wasmtime is not known here; install wasmtime 50")
    size = ctypes.sizeof
    return Layout(
        extern=size(extern),
        instance=size(_ffi.wasmtime_instance_t),
        memory=size(_ffi.wasmtime_memory_t),
        value=size(value),
        raw=size(_ffi.wasmtime_val_raw_t),
        of=extern.of.offset,
    )


def _beside_the_package() -> tuple[str, str] | None:
    """The library's path, and the version; None where they are not where they use to be."""
    if "wasmtime" in sys.modules and sys.modules["wasmtime"] is None:
        return None  # it was made impossible to import
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("wasmtime")
    if spec is None or not spec.submodule_search_locations:
        return None
    package = next(iter(spec.submodule_search_locations))
    path = os.path.join(package, f"linux-{os.uname().machine}", "_libwasmtime.so")
    # importlib.metadata would take longer than all the rest (design §5a).
    for name in os.listdir(os.path.dirname(package)):
        if name.startswith("wasmtime-") and name.endswith(".dist-info"):
            return path, name[len("wasmtime-") : -len(".dist-info")]
    return None
