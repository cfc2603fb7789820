"""Compiled modules, kept in the project's cache (design §4)."""

from __future__ import annotations

from rotifer_bridge import _wasm_api as api

__all__ = ["ready_module"]


def ready_module(wasm: bytes, cache_dir: str) -> int:  # noqa: ARG001 - kept there from the next commit on
    """The module's address."""
    return api.compile_module(wasm)
