"""A gene as it lies in its folder."""

from __future__ import annotations

import os

import pytest

from rotifer_bridge import _gene
from rotifer_bridge._identity import v2_identity
from rotifer_bridge.errors import GeneError


def test_every_loadable_file_is_read(bench):
    """All that Node can load is there, by its path; what is no part of the gene is not."""
    bench.gene(
        "a",
        {
            "index.ts": "1",
            "lib/deep/x.mjs": "2",
            "data.json": "3",
            "lib/phenotype.json": "4",
            "gene.wasm": b"\0asm",
            "notes.md": "no",
            ".hidden.ts": "no",
            ".git/x.ts": "no",
            "node_modules/m/index.js": "no",
            "lib/node_modules/m/index.js": "no",
            "testsuite.json": "no",
        },
    )

    assert {
        "index.ts": b"1",
        "lib/deep/x.mjs": b"2",
        "data.json": b"3",
        "lib/phenotype.json": b"4",
        "gene.wasm": b"\0asm",
    } == bench.project().gene("a").files


@pytest.mark.parametrize(
    ("files", "entry"),
    [
        (["index.ts", "index.js", "index.mjs"], "index.ts"),
        (["index.mjs", "index.js"], "index.js"),
        (["index.mjs"], "index.mjs"),
        (["main.ts", "index.mts", "lib/index.ts"], None),
    ],
)
def test_entry(bench, files, entry):
    """One order decides which file is the gene."""
    bench.gene("a", dict.fromkeys(files, "x"))

    assert entry == bench.project().gene("a").entry


def test_a_gene_never_wrapped_or_compiled_has_no_identity(bench):
    """Without an identity it has no memory."""
    bench.gene("a", wrapped=False)

    assert bench.project().gene("a").v2_id is None


@pytest.mark.parametrize("file", [".gene-manifest.json", ".compile-result.json", "gene.ir.wasm"])
def test_a_wrapped_or_compiled_gene_has_the_identity_of_its_files(bench, file):
    """What `wrap` or `compile` leaves gives the gene the identity of what runs."""
    bench.gene("a", {"index.ts": "x", file: "{}"}, wrapped=False)
    gene = bench.project().gene("a")

    assert v2_identity(gene.phenotype, gene.files) == gene.v2_id
    assert [] == gene.notes
    assert (file == "gene.ir.wasm") is gene.compiled


def test_a_gene_that_changed_since_wrap_says_so(bench):
    """The identity is that of the files that run, and one line tells the person."""
    kept = "v2:" + "0" * 64
    bench.gene("a", {"index.ts": "x", ".gene-manifest.json": {"geneIdV2": kept}}, wrapped=False)
    gene = bench.project().gene("a")

    assert kept != gene.v2_id
    assert [f"gene 'a' changed since it was wrapped; it now acts as {gene.v2_id}"] == gene.notes


@pytest.mark.parametrize("manifest", ["", "[]", "null", '{"geneIdV2": 3}', "{"])
def test_a_damaged_manifest_is_a_manifest(bench, manifest):
    """The manifest says that the gene was wrapped; the identity is computed anyway."""
    bench.gene("a", {"index.ts": "x", ".gene-manifest.json": manifest}, wrapped=False)

    assert bench.project().gene("a").v2_id is not None


def test_no_such_gene(bench):
    """A gene that is not there, and one without a phenotype, are told apart."""
    os.makedirs(bench.path("genes", "bare"))
    project = bench.project()

    with pytest.raises(GeneError, match="'none' does not exist") as missing:
        project.gene("none")
    with pytest.raises(GeneError, match=r"no phenotype\.json") as bare:
        project.gene("bare", code="E0010")
    assert "E0040" == missing.value.code
    assert "E0010" == bare.value.code
    assert "rotifer wrap bare" in bare.value.help


@pytest.mark.parametrize("name", ["../genes/a", "..", "a/../a", "/etc"])
def test_a_name_cannot_leave_the_folder(bench, name):
    """A genome edited by hand runs nothing outside."""
    bench.gene("a")

    with pytest.raises(GeneError, match="is not a gene name"):
        bench.project().gene(name)


def test_links_that_leave_the_gene_are_refused(bench, tmp_path):
    """A link must not bring in bytes that are not the gene's."""
    (tmp_path / "secret.json").write_text("{}")
    folder = bench.gene("a")
    os.symlink(tmp_path / "secret.json", os.path.join(folder, "data.json"))

    with pytest.raises(GeneError, match="leaves the gene's folder") as caught:
        bench.project().gene("a")
    assert caught.value.where.endswith("data.json")


def test_a_phenotype_that_is_a_link_out_is_refused(bench, tmp_path):
    """The phenotype is part of the gene like any file."""
    folder = bench.gene("a")
    path = os.path.join(folder, "phenotype.json")
    os.rename(path, tmp_path / "p.json")
    os.symlink(tmp_path / "p.json", path)

    with pytest.raises(GeneError, match="leaves the gene's folder"):
        bench.project().gene("a")


def test_a_link_inside_the_gene_is_read(bench):
    """A link to another file of the gene is that file under a second name."""
    folder = bench.gene("a", {"index.ts": "x", "lib/real.ts": "y"})
    os.symlink("lib/real.ts", os.path.join(folder, "alias.ts"))

    assert b"y" == bench.project().gene("a").files["alias.ts"]


@pytest.mark.parametrize("kind", ["folder", "loop", "broken", "fifo"])
def test_odd_things_in_the_folder(bench, kind):
    """What cannot be read as a file of the gene is an error that names it, never a hang."""
    folder = bench.gene("a", {"index.ts": "x", "lib/y.ts": "y"})
    odd = os.path.join(folder, "odd.ts")
    if kind == "fifo":
        os.mkfifo(odd)
    else:
        os.symlink({"folder": "lib", "loop": "odd.ts", "broken": "nothing.ts"}[kind], odd)

    with pytest.raises(GeneError) as caught:
        bench.project().gene("a")
    assert caught.value.where.endswith("odd.ts")


def test_a_gene_folder_that_links_out_of_the_project_is_refused(bench, tmp_path):
    """Code outside the project is not the project's gene."""
    outside = tmp_path / "outside"
    os.rename(bench.gene("a"), outside)
    os.symlink(outside, bench.path("genes", "a"))

    with pytest.raises(GeneError, match="link out of the project"):
        bench.project().gene("a")


def test_size_limits(bench, monkeypatch):
    """Too many bytes and too many files are refused with the figures."""
    bench.gene("a", {"index.ts": "x" * 60, "b.ts": "y" * 60})
    project = bench.project()
    monkeypatch.setattr(_gene, "BYTES_LIMIT", 2_000_000)
    monkeypatch.setattr(_gene, "FILES_LIMIT", 1)

    with pytest.raises(GeneError, match="more than 1 loadable files"):
        project.gene("a")
    monkeypatch.setattr(_gene, "FILES_LIMIT", 2)
    bench.put("genes/a/c.json", b"z" * 2_000_001)
    with pytest.raises(GeneError, match=r"over 1 MiB; this one is 2,000,001 bytes"):
        project.gene("a")


def test_file_names_are_utf_8(bench):
    """A name that is not text could not be in an identity."""
    folder = bench.gene("a")
    with open(os.path.join(os.fsencode(folder), b"\xff.ts"), "wb"):
        pass

    with pytest.raises(GeneError, match="is not UTF-8"):
        bench.project().gene("a")


def test_gene_names(bench):
    """A folder with a phenotype is a gene; files and other folders are not."""
    bench.gene("b")
    bench.gene("a")
    bench.put("genes/readme.md", "x")
    os.makedirs(bench.path("genes", "empty"))

    assert ["a", "b"] == bench.project().gene_names()


def test_a_slip_in_the_name(bench):
    """The gene that was probably meant is told, and which there are; not more than ten."""
    bench.gene("greeter")
    with pytest.raises(GeneError, match="'greter' does not exist") as caught:
        bench.project().gene("greter")
    assert "did you mean 'greeter'? the project's genes: greeter" == caught.value.help

    for number in range(12):
        bench.gene(f"a{number:02}")
    with pytest.raises(GeneError) as caught:
        bench.project().gene("something-else")
    assert caught.value.help.startswith("the project's genes: a00, a01, ")
    assert caught.value.help.endswith("a09 and 3 more")


def test_no_genes_to_name(bench):
    """A project without genes hears how to make one."""
    with pytest.raises(GeneError) as caught:
        bench.project().gene("any")
    assert "rotifer wrap" in caught.value.help
