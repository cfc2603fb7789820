"""The extra ``wasm``, loaded when it is needed; where it is missing, how to get it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotifer_bridge.errors import GeneError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["missing_extra", "wasm_api"]

_PACKAGES = ("wasmtime", "msgpack")


def wasm_api() -> ModuleType:
    """`_wasm_api`, which imports wasmtime.

    Raises:
        GeneError: a package of the extra is not installed.
    """
    try:
        import msgpack  # noqa: F401 - both or none

        from rotifer_bridge import _wasm_api
    except ModuleNotFoundError as missing:
        raise missing_extra(missing) from None
    return _wasm_api


def missing_extra(missing: ModuleNotFoundError) -> Exception:
    """The error for a package of the extra that is not there; for any other, that error itself."""
    package = (missing.name or "").partition(".")[0]
    if package not in _PACKAGES:
        return missing
    return GeneError(
        f"a gene that is WASM needs {package}, which is not installed",
        code="E0051",
        help="pip install 'rotifer-bridge[wasm]'",
    )
