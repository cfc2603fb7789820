"""wasmtime's library without its package: the same layouts, and the package where it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rotifer_bridge import _wasm_api as api
from rotifer_bridge import _wasm_library
from rotifer_bridge._wasm_library import KNOWN, load, package_layout

PLAY = """
import sys, resource, pathlib
{before}
from rotifer_bridge import _wasm_library
{patch}
from rotifer_bridge._door import ClosedDoor
from rotifer_bridge._gene import Gene
from rotifer_bridge._wasm import WasmGene
files = {{"gene.ir.wasm": pathlib.Path(sys.argv[1]).read_bytes()}}
gene = Gene("g", "/", {{}}, "d", "Native", None, files, None, True, False, [])
print(WasmGene(gene, ClosedDoor(), cache_dir=sys.argv[2], on_log=print).run(b"[1]", time_limit=5))
"""


@pytest.fixture
def play(tmp_path):
    """Run a gene that gives back its input, in a process of its own."""
    from tests.wasm.conftest import wasm
    from tests.wasm.test_sandbox import ECHO

    module = tmp_path / "gene.wasm"
    module.write_bytes(wasm(ECHO))

    def call(before="", patch=""):
        script = PLAY.format(before=before, patch=patch)
        done = subprocess.run(
            [sys.executable, "-c", script, str(module), str(tmp_path / "cache")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout, done.stderr

    return call


def test_the_layouts_that_are_known():
    """They are those of the package, which was made for the very library."""
    assert KNOWN == package_layout()


def test_the_kinds_that_are_known():
    """So are the numbers of a function and of a memory."""
    from wasmtime import _ffi

    assert (api.FUNCTION, api.MEMORY) == (
        _ffi.WASMTIME_EXTERN_FUNC.value,
        _ffi.WASMTIME_EXTERN_MEMORY.value,
    )
    with pytest.raises(RuntimeError, match="kind 0, and was taken for 3"):
        api.Extern().of(api.MEMORY)


def test_both_ways_give_one_library():
    """The library by itself, and through the package, are the same one."""
    private, public = load(), load(private=False)

    assert private.layout == public.layout
    assert private.dll._handle == public.dll._handle


def test_another_version(monkeypatch):
    """A version whose layouts are not known is taken through its package."""
    monkeypatch.setattr(_wasm_library, "_VERSIONS", ("1.",))

    assert load().dll is __import__("wasmtime")._ffi.dll


def test_a_run_imports_no_wasmtime(play):
    """A gene that runs needs nothing of the package."""
    out, err = play(
        patch="import atexit; atexit.register(lambda: print('wasmtime' in sys.modules))"
    )

    assert ("b'[1]'\nFalse\n", "") == (out, err)


def test_through_the_package(play):
    """A gene runs through the package, too."""
    assert ("b'[1]'\n", "") == play(patch="_wasm_library._VERSIONS = ()")


def test_beside_the_package(play):
    """A program that uses wasmtime itself shares the library with us."""
    before = "import wasmtime; engine = wasmtime.Engine()"

    assert ("b'[1]'\n", "") == play(before=before)


def test_a_process_with_few_addresses(play):
    """Under ulimit -v a gene runs, or fails as one: wasmtime does not end the process."""
    for gigabytes, expected in ((16, "b'[1]'\n"), (2, "")):
        size = gigabytes << 30
        out, err = play(before=f"resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))")
        assert expected == out
        assert (not expected) == ("GeneFailed: gene 'g' could not be started" in err)
