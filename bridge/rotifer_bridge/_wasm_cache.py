"""Compiled modules, kept in the project's cache (wasm-genes §4, design §4).

wasmtime believes what it is given to load: it is machine code, and a changed byte runs as it
stands, outside every sandbox. So a file is sealed with a secret that lies outside the project, over
the very module, version and configuration that it is for; what is torn, foreign or for something
else is compiled anew and written over.
"""

from __future__ import annotations

import os
import sys
from hashlib import blake2b, sha256

from rotifer_bridge import _wasm_api as api
from rotifer_bridge._cache_folder import MODULE, keep, kept
from rotifer_bridge._user_secret import user_secret
from rotifer_bridge._wasm_compiler import SMALL, compile_apart

__all__ = ["ready_module"]

_SEAL = 32  # bytes, before the machine code


def ready_module(wasm: bytes, cache_dir: str) -> int:
    """The address of the compiled module; who asks frees it.

    Raises:
        Refused: it is no valid module.
    """
    key = _key(wasm)
    secret = user_secret()
    if secret is not None:
        data = kept(cache_dir, key + MODULE)
        if data is not None and _seal(secret, key, data[_SEAL:]) == data[:_SEAL]:
            module = api.deserialize(data[_SEAL:])
            if module is not None:
                return module
    module, code = _compile(wasm)
    if secret is not None:
        code = code or api.serialize(module)
        keep(cache_dir, key + MODULE, _seal(secret, key, code) + code)
    return module


def _compile(wasm: bytes) -> tuple[int, bytes | None]:
    """The module, and its machine code if that is at hand."""
    if len(wasm) <= SMALL or not sys.executable:
        return api.compile_module(wasm), None
    code = compile_apart(wasm)
    module = api.deserialize(code)
    if module is None:
        raise api.Refused("what was compiled for it cannot be loaded here")
    return module, code


def _key(wasm: bytes) -> str:
    made_with = f"{api.version()} {os.uname().machine} {api.ENGINE_CONFIG}"
    return sha256(sha256(wasm).digest() + made_with.encode()).hexdigest()


def _seal(secret: bytes, key: str, code: bytes) -> bytes:
    sealed = blake2b(key.encode(), key=secret, digest_size=_SEAL, person=b"rotifer-module")
    sealed.update(code)
    return sealed.digest()
