"""``rotifer compile``: a module, or TypeScript, becomes a gene's ``gene.ir.wasm``."""

from __future__ import annotations

import json
import os
import sys

import pytest
from tests.cli.conftest import Done
from tests.wasm.conftest import wasm

from rotifer_bridge._cli import run
from rotifer_bridge._ir import SECTIONS, ir_hash
from rotifer_bridge._wasm_binary import read_layout

BARE = {"README.md": "no source"}
ECHO = '(module (memory (export "memory") 1 16) (func (export "express") (param i32 i32) (result i32) (local.get 0)))'
WASI_ONE = """
(module (import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 16) (data (i32.const 0) "\\10\\00\\00\\00\\01\\00\\00\\00") (data (i32.const 16) "1")
  (func (export "_start") (drop (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
"""


@pytest.fixture
def cli(bench, capsys, monkeypatch):
    """Run a command in the bench's folder, in this process, without tools on PATH."""
    monkeypatch.chdir(bench.root)
    monkeypatch.setenv("PATH", bench.path("bin"))

    def call(*argv):
        capsys.readouterr()
        code = run(list(argv))
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def tools(bench):
    """Put scripts in the place of esbuild and javy."""

    def put(folder="bin", **scripts):
        for name, body in scripts.items():
            script = bench.put(f"{folder}/{name}.py", f"import sys, os\n{body}\n")
            # By a shell: the path of this Python may have a space, and the first line takes none.
            start = f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n'
            bench.put(f"{folder}/{name}", start, 0o755)

    return put


def document(bench, name, path):
    """A JSON file of a gene."""
    return json.loads(bench.text(f"genes/{name}/{path}"))


def read(bench, path):
    """The bytes of a file."""
    with open(bench.path(path), "rb") as file:
        return file.read()


def test_a_module_becomes_the_gene(cli, bench):
    """The sections are in, the verifier passed, fidelity, hash and identities are kept and printed."""
    bench.gene("g", BARE, wrapped=False, author="somebody")
    bench.put("build/out.wasm", wasm(ECHO))

    done = cli("compile", "g", "--wasm", "build/out.wasm")

    assert (0, "") == (done.code, done.err)
    module = read(bench, "genes/g/gene.ir.wasm")
    assert module.startswith(wasm(ECHO))
    assert list(SECTIONS) == [s.name for s in read_layout(module).sections if s.name in SECTIONS]
    phenotype, manifest = document(bench, "g", "phenotype.json"), document(bench, "g", ".gene-manifest.json")  # fmt: skip
    assert ("Native", "somebody", ir_hash(module)) == (
        phenotype["fidelity"],
        phenotype["author"],
        phenotype["irHash"],
    )
    result = document(bench, "g", ".compile-result.json")
    assert {"irHash": ir_hash(module), "verdict": "PASS", "warnings": [], "size": len(module), "fidelity": "Native"}.items() <= result.items()  # fmt: skip
    gene = bench.project().gene("g")
    assert gene.v2_id == manifest["geneIdV2"] == result["geneIdV2"]
    assert (True, []) == (gene.compiled, gene.notes)
    for line in (
        f"Gene 'g' is compiled: gene.ir.wasm, {len(module):,} bytes",
        "  Verifier      PASS",
        f"  IR hash       {ir_hash(module)}",
        f"  Gene ID (v2)  {gene.v2_id}",
        "  Fidelity      Native",
    ):
        assert line in done.out.splitlines()


def test_what_was_compiled_runs(cli, bench):
    """The gene that was made runs."""
    bench.gene("g", BARE)
    bench.put("genes/g/gene.wasm", wasm(ECHO))
    assert 0 == cli("compile", "g").code
    bench.record(1, genome=["g"])

    assert {"a": 1} == bench.project().agent("keeper").run({"a": 1}).output


def test_compiling_again_changes_nothing(cli, bench):
    """The same module gives the same bytes, hash and identity; its own output may be given, too."""
    bench.gene("g", BARE)
    bench.put("out.wasm", wasm(ECHO))
    cli("compile", "g", "--wasm", "out.wasm")
    first = read(bench, "genes/g/gene.ir.wasm"), document(bench, "g", ".gene-manifest.json")["geneIdV2"]  # fmt: skip

    done = cli("compile", "g", "--wasm", "genes/g/gene.ir.wasm")
    assert (0, "") == (done.code, done.err)
    assert first == (
        read(bench, "genes/g/gene.ir.wasm"),
        document(bench, "g", ".gene-manifest.json")["geneIdV2"],
    )


def test_another_module_is_another_identity(cli, bench):
    """The identity is that of what runs."""
    bench.gene("g", BARE)
    seen = set()
    for wat in (ECHO, ECHO.replace("local.get 0", "local.get 1")):
        bench.put("out.wasm", wasm(wat))
        cli("compile", "g", "--wasm", "out.wasm")
        seen.add(document(bench, "g", ".gene-manifest.json")["geneIdV2"])

    assert 2 == len(seen)


def test_check_writes_nothing(cli, bench):
    """With --check the module is verified, and the folder is as it was."""
    bench.gene("g", BARE, wrapped=False)
    bench.put("out.wasm", wasm(ECHO))
    before = sorted(os.listdir(bench.path("genes", "g")))

    done = cli("compile", "g", "--wasm", "out.wasm", "--check")
    assert (0, True) == (done.code, "  Verifier      PASS\n" in done.out)
    assert before == sorted(os.listdir(bench.path("genes", "g")))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "FAIL: not a WASM module"),
        (wasm(ECHO)[:-4], "FAIL: not a WASM module"),
        (wasm(ECHO).replace(b"\x20\x00\x0b", b"\x42\x00\x0b"), "FAIL: not a valid WASM module"),
        (wasm('(module (memory (export "memory") 1))'), "neither express nor _start"),
    ],
    ids=["empty", "cut", "not valid", "no entry"],
)
def test_a_module_that_fails(cli, bench, data, words):
    """E0026 with the verifier's line; nothing was written."""
    bench.gene("g", BARE, wrapped=False)
    bench.put("out.wasm", data)
    before = sorted(os.listdir(bench.path("genes", "g")))

    done = cli("compile", "g", "--wasm", "out.wasm")
    assert (1, "") == (done.code, done.out)
    assert "error[E0026]: gene 'g'" in done.err
    assert words in done.err
    assert before == sorted(os.listdir(bench.path("genes", "g")))


def test_warnings_are_shown(cli, bench):
    """A module with a warning is compiled; what keeps it from being run here is said."""
    bench.gene("g", BARE)
    bench.put("out.wasm", wasm(ECHO.replace("(module", '(module (import "rotifer.kv" "get" (func))').replace("1 16", "1")))  # fmt: skip

    done = cli("compile", "g", "--wasm", "out.wasm")
    assert "  Verifier      WARN: memory has no maximum\n" in done.out
    assert "it cannot be run here: gene 'g': its module imports rotifer.kv.get" in done.err
    assert "WARN" == document(bench, "g", ".compile-result.json")["verdict"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--wasm", "none.wasm"), "cannot read the module: No such file or directory"),
        (("--wasm", "genes"), "cannot read the module: Is a directory"),
        (("--lang", "wasm"), "error[E0051]: gene 'g' has no gene.wasm"),
        (("--wasm", "out.wasm", "--lang", "ts"), "do not go together"),
        (("--lang", "c"), "'c' is not one of 'ts', 'wasm'"),
        (("--wasm", "async.wasm"), "error[E0025]: gene 'g': its module holds 'express = async'"),
    ],
)
def test_refused(cli, bench, argv, words):
    """What cannot be compiled is refused with its reason."""
    bench.gene("g")
    bench.put("out.wasm", wasm(ECHO))
    bench.put("async.wasm", wasm(ECHO.replace("(func", '(data (i32.const 0) "express = async") (func')))  # fmt: skip
    done = cli("compile", "g", *argv)

    assert 0 != done.code
    assert words in done.err
    assert not os.path.exists(bench.path("genes", "g", "gene.ir.wasm"))


def test_hybrid_stays(cli, bench):
    """A Hybrid gene is not compiled, also not of a module."""
    bench.gene("g", fidelity="Hybrid")
    bench.put("out.wasm", wasm(ECHO))

    assert "Hybrid genes stay under Node" in cli("compile", "g", "--wasm", "out.wasm").err


@pytest.mark.parametrize("package", ["wasmtime", "msgpack"])
def test_without_the_extra(cli, bench, monkeypatch, package):
    """The missing package and how to get it are said."""
    bench.gene("g", BARE)
    bench.put("out.wasm", wasm(ECHO))
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "rotifer_bridge._wasm_api")
    monkeypatch.delattr("rotifer_bridge._wasm_api")

    done = cli("compile", "g", "--wasm", "out.wasm")
    assert f"needs {package}, which is not installed" in done.err
    assert "pip install 'rotifer-bridge[wasm]'" in done.err


def test_a_phenotype_that_cannot_be_packed(cli, bench):
    """E0021."""
    bench.gene("g", BARE, number=2**70)
    bench.put("out.wasm", wasm(ECHO))

    assert "error[E0021]: phenotype.json holds what MessagePack cannot" in cli("compile", "g", "--wasm", "out.wasm").err  # fmt: skip


# ---- TypeScript

COPY = "open(sys.argv[-1].split('=', 1)[1], 'w').write('bundled ' + open(sys.argv[1]).read())"


def javy(bench, verb="build"):
    """A stand-in that writes a module in WASI mode."""
    bench.put("one.wasm", wasm(WASI_ONE))
    return f"""
if sys.argv[1] != {verb!r}: sys.exit(2)
if sys.argv[2] == '--help': sys.exit(0)
assert open(sys.argv[2]).read().startswith('bundled')
open(sys.argv[4], 'wb').write(open({bench.path("one.wasm")!r}, 'rb').read())"""


@pytest.mark.parametrize("folder", ["bin", "node_modules/.bin"])
@pytest.mark.parametrize("verb", ["build", "compile"])
def test_typescript(cli, bench, tools, folder, verb):
    """Esbuild and javy, on PATH or in node_modules, whichever word this Javy knows."""
    bench.gene("g", outputSchema=True)
    tools(folder, esbuild=COPY, javy=javy(bench, verb))

    done = cli("compile", "g")
    assert (0, "") == (done.code, done.err)
    assert bench.project().gene("g").compiled
    bench.record(1, genome=["g"])
    assert 1 == bench.project().agent("keeper").run({}).output


def test_tools_that_are_scripts_for_node(cli, bench, tools):
    """What npm installs may need a Node: it finds ours where PATH has none."""
    bench.gene("g", outputSchema=True)
    tools(javy=javy(bench))
    bench.put("node_modules/.bin/esbuild", """#!/usr/bin/env node
const { readFileSync, writeFileSync } = require('fs');
writeFileSync(process.argv.at(-1).split('=')[1], 'bundled ' + readFileSync(process.argv[2]));
""", 0o755)  # fmt: skip

    done = cli("compile", "g")
    assert (0, "") == (done.code, done.err)
    assert bench.project().gene("g").compiled


@pytest.mark.parametrize(
    ("there", "missing"),
    [((), "esbuild and javy are"), (("esbuild",), "javy is"), (("javy",), "esbuild is")],
)
def test_a_tool_that_is_missing(cli, bench, tools, there, missing):
    """E0024 says which, where to get it, and that a gene which needs memory should stay."""
    bench.gene("g")
    tools(**{name: script for name, script in (("esbuild", COPY), ("javy", javy(bench))) if name in there})  # fmt: skip

    done = cli("compile", "g")
    assert f"error[E0024]: gene 'g' cannot be compiled: {missing} neither on PATH nor" in done.err
    assert "A gene that needs memory should stay under Node anyway" in done.err
    for name in {"esbuild", "javy"} - set(there):
        assert f"{name}: " in done.err


@pytest.mark.parametrize(
    ("scripts", "words"),
    [
        ({"esbuild": "print('no such import'); sys.exit(1)"}, "esbuild failed: no such import"),
        ({"esbuild": "sys.exit(7)"}, "esbuild failed: exit code 7"),
        ({"javy": "sys.exit(0)"}, "javy failed: it ended well and wrote no module"),
        ({"javy": "os.kill(os.getpid(), 9)"}, "javy failed: exit code -9"),
    ],
)
def test_a_tool_that_fails(cli, bench, tools, scripts, words):
    """E0024 with the tool's own words; nothing was written."""
    bench.gene("g")
    tools(**{"esbuild": COPY, "javy": javy(bench), **scripts})

    done = cli("compile", "g")
    assert f"error[E0024]: gene 'g' cannot be compiled: {words}" in done.err
    assert not os.path.exists(bench.path("genes", "g", "gene.ir.wasm"))


def test_a_tool_that_cannot_be_started(cli, bench, tools):
    """A file that is no program is told as one."""
    bench.gene("g")
    tools(esbuild=COPY, javy=javy(bench))
    bench.put("bin/esbuild", "#!/no/such/interpreter\n", 0o755)

    assert "esbuild failed: it cannot be started: No such file or directory" in cli("compile", "g").err  # fmt: skip


def test_async_typescript_is_not_tried(cli, bench, tools):
    """E0025 comes before any tool is looked for."""
    bench.gene("g", {"index.ts": "export async function express(x) { return x; }\n"})

    assert "error[E0025]" in cli("compile", "g").err
