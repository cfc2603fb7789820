"""``rotifer list``, ``info`` and ``compile``: what is known of genes."""

from __future__ import annotations

import json
import os
import sys

import pytest
from tests.genes import modules
from tests.genes.building import wat

ASYNC = "export async function express(x) {\n  return x;\n}\n"


@pytest.fixture
def genes(bench):
    """One of each kind."""
    bench.gene("plain")
    bench.gene("bare", {"README.md": "x"})
    bench.gene("loose", wrapped=False)
    bench.gene("native", {"gene.ir.wasm": modules.echo()}, fidelity="Native")
    bench.gene("mute", {"gene.ir.wasm": wat('(module (memory (export "memory") 1))')})
    bench.gene("broken", {"gene.ir.wasm": b"\0asm"})
    bench.gene("mixed", {"index.ts": ASYNC}, fidelity="Hybrid", domain="net.get")
    bench.put("genes/plain/.cloud-manifest.json", {"installed_at": "2026-01-01"})
    return bench


def test_list(cli, genes):
    """A line for each gene, in the order of their names."""
    done = cli("list")
    rows = [line.split() for line in done.out.splitlines()]

    assert (0, "") == (done.code, done.err)
    assert ["Name", "Version", "Domain", "Fidelity", "Compiled", "Memory"] == rows[0]
    assert ["bare", "broken", "loose", "mixed", "mute", "native", "plain"] == [row[0] for row in rows[1:]]  # fmt: skip
    assert ["mixed", "0.1.0", "net.get", "Hybrid", "no", "yes"] == rows[4]
    assert [["yes", "no"], ["yes", "yes"]] == [row[-2:] for row in rows[5:7]]


def test_list_reports_what_it_cannot_read(cli, genes):
    """The others are listed all the same; the exit code is 1."""
    genes.put("genes/plain/phenotype.json", b"{")
    done = cli("list", "--json")

    assert 1 == done.code
    assert ["bare", "broken", "loose", "mixed", "mute", "native"] == [
        g["name"] for g in json.loads(done.out)["genes"]
    ]
    assert "error[E0020]" in done.err


def test_an_empty_project(cli):
    """No genes are no failure."""
    done = cli("list")

    assert (0, "") == (done.code, done.out)
    assert "no genes yet" in done.err


@pytest.mark.parametrize(
    ("name", "memory", "words"),
    [
        ("plain", True, "its source runs under Node"),
        ("bare", False, "has no source"),
        ("loose", False, "was never wrapped"),
        ("native", True, "it runs as WASM"),
        ("mute", False, "imports no memory call"),
        ("broken", False, "is no WASM module"),
        ("mixed", True, "its source runs under Node"),
    ],
)
def test_info(cli, genes, name, memory, words):
    """Whether the gene has memory, and why; both identities."""
    document = json.loads(cli("info", name, "--json").out)
    text = cli("info", name).out

    assert memory is document["memory"]["available"]
    assert words in document["memory"]["reason"]
    assert f"Gene ID       {document['geneId']}\n" in text
    assert (document["geneIdV2"] or "none: it was never wrapped") in text
    assert (name == "plain") is document["installed"]
    assert (name in {"native", "mute", "broken"}) is document["compiled"]


def test_info_without_wasmtime(cli, genes, monkeypatch):
    """A compiled gene is not run where the extra is missing, and how to get it is said."""
    monkeypatch.setitem(sys.modules, "wasmtime", None)

    reason = json.loads(cli("info", "native", "--json").out)["memory"]["reason"]

    assert "wasmtime is not installed" in reason
    assert "pip install 'rotifer-bridge[wasm]'" in reason


def test_info_of_nobody(cli):
    """E0040, as `agent create` has it."""
    assert "error[E0040]: gene 'nobody' does not exist" in cli("info", "nobody").err


def test_compile_of_a_hybrid_gene(cli, genes):
    """It stays under Node, async as it is; both identities are printed and kept, the rest stays."""
    genes.put("genes/mixed/.gene-manifest.json", {"name": "mixed", "wrappedAt": "then"})
    done = cli("compile", "mixed")
    kept = json.loads(genes.text("genes/mixed/.gene-manifest.json"))

    assert 0 == done.code, done.err
    assert "stays under Node" in done.out
    assert f"Gene ID (v2)  {kept['geneIdV2']}\n" in done.out
    assert f"Gene ID       {kept['geneId']}\n" in done.out
    assert "then" == kept["wrappedAt"]


def test_compile_gives_a_gene_its_identity(cli, genes):
    """As wrapping does: it has memory from then on."""
    genes.gene("fresh", fidelity="Hybrid", wrapped=False)
    assert 0 == cli("compile", "fresh").code
    assert json.loads(cli("info", "fresh", "--json").out)["memory"]["available"] is True


def test_check_writes_nothing(cli, genes):
    """The identities are printed, the folder is as it was."""
    done = cli("compile", "loose", "--check")

    assert 0 == done.code
    assert "Gene ID (v2)  v2:" in done.out
    assert [".gene-manifest.json"] != os.listdir(genes.path("genes", "loose"))
    assert not os.path.exists(genes.path("genes", "loose", ".gene-manifest.json"))


@pytest.mark.parametrize(
    ("name", "argv", "words"),
    [
        ("plain", (), "error[E0024]: gene 'plain' cannot be compiled"),
        ("bare", (), "error[E0051]: gene 'bare' has no source"),
        ("late", (), "error[E0025]: gene 'late': express is async"),
        ("late", ("--check",), "genes/late/index.ts:1"),
        ("nobody", (), "error[E0020]: gene 'nobody' does not exist"),
        ("empty", ("--check",), "error[E0020]: gene 'empty' has no phenotype.json"),
    ],
)
def test_compile_refused(cli, genes, name, argv, words):
    """Each with its code, place and remedy; nothing on stdout."""
    genes.gene("late", {"index.ts": ASYNC})
    os.makedirs(genes.path("genes", "empty"))
    done = cli("compile", name, *argv)

    assert (1, "") == (done.code, done.out)
    assert words in done.err
    assert "help: " in done.err


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"domain": "Not A Domain"}, "E0022"),
        ({"version": "1"}, "E0023"),
        ({"inputSchema": 5}, "E0021"),
        ({"outputSchema": {"type": "objekt"}}, "E0021"),
        ({"inputSchema": {"$ref": "http://example.com/x"}}, "E0021"),
    ],
)
def test_compile_checks_the_phenotype(cli, bench, fields, code):
    """Keys, schemas, domain, version: each has its code."""
    bench.gene("g", **fields)

    assert f"error[{code}]" in cli("compile", "g", "--check").err
