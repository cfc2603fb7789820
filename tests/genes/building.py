"""Build the test genes from source: with wasmtime, npm's assemblyscript and PyPI's ziglang.

Each is built once a process, in a folder of its own that is gone afterwards, zig's caches included: processes
that test at the same time cannot get in each other's way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache

from tests import npm

from rotifer_bridge._node import find_node

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

ASC_FLAGS = ("-O", "--use", "abort=")
"""Without ``abort=`` a module would import ``env.abort``, which nobody has."""
ZIG_FLAGS = ("-target", "wasm32-freestanding", "-Oz", "-nostdlib", "-Wl,--no-entry")
ZIG_LIBC_FLAGS = ("-target", "wasm32-wasi", "-Oz")


def source(name):
    """The text of a file beside this one."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


@cache
def wat(text):
    """A module from WAT."""
    from wasmtime import wat2wasm

    return bytes(wat2wasm(text))


@cache
def assemblyscript(text):
    """A module from AssemblyScript."""
    asc = npm.installed(npm.ASC)
    with tempfile.TemporaryDirectory() as folder:
        put(folder, "gene.ts", text)
        command = [find_node(None).path, asc, "gene.ts", *ASC_FLAGS, "-o", "gene.wasm"]
        return built(command, folder)


@cache
def c(text, flags=ZIG_FLAGS):
    """A module from C; `relay.h` is there to be included."""
    with tempfile.TemporaryDirectory() as folder:
        put(folder, "gene.c", text)
        put(folder, "relay.h", source("relay.h"))
        command = [sys.executable, "-m", "ziglang", "cc", *flags, "gene.c", "-o", "gene.wasm"]
        return built(command, folder, ZIG_GLOBAL_CACHE_DIR=folder, ZIG_LOCAL_CACHE_DIR=folder)


def put(folder, name, text):
    """Write one file."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def built(command, folder, **environment):
    """What the command left in ``gene.wasm``."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    with open(os.path.join(folder, "gene.wasm"), "rb") as file:
        return file.read()


RELAYS = {
    "assemblyscript": lambda: assemblyscript(source("relay.as.ts")),
    "c": lambda: c(source("relay.c")),
    "c-wasi": lambda: c(source("relay_wasi.c")),
    "wat": lambda: wat(source("relay.wat")),
}
"""The relay as a module, by the kind of it."""


def relay_files(kind):
    """The files of a relay gene: a module, or the source of the one that runs under Node."""
    if kind == "typescript":
        return {"index.ts": source("relay.ts")}
    return {"gene.ir.wasm": RELAYS[kind]()}
