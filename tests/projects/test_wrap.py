"""Wrapping: what makes a folder a gene."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_bridge._identity import content_id, v2_identity
from rotifer_bridge._wrap import wrap
from rotifer_bridge.errors import GeneError, UsageError


def read(path):
    """A JSON file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def test_a_new_gene(bench):
    """The phenotype of the page, the project's domain, and a manifest with both identities."""
    bench.put("rotifer.json", {"default_domain": "text.format", "author": "Ada"})
    bench.put("genes/a/index.ts", "export const express = (x) => x;\n")
    wrapped = wrap(bench.project(), "a")
    phenotype = read(bench.path("genes/a/phenotype.json"))
    manifest = read(bench.path("genes/a/.gene-manifest.json"))

    assert wrapped.created
    assert phenotype.pop("createdAt").endswith("Z")
    assert {
        "domain": "text.format",
        "inputSchema": {"type": "object", "properties": {}, "required": []},
        "outputSchema": {"type": "object"},
        "dependencies": [],
        "version": "0.1.0",
        "author": "Ada",
        "fidelity": "Wrapped",
        "transparency": "Open",
    } == phenotype
    assert (wrapped.gene_id, wrapped.v2_id) == (manifest["geneId"], manifest["geneIdV2"])
    assert content_id(read(bench.path("genes/a/phenotype.json"))) == wrapped.gene_id
    assert bench.project().gene("a").v2_id == wrapped.v2_id


def test_a_hybrid_gene(bench):
    """A new Hybrid says what it may ask of the network: nothing yet."""
    bench.put("genes/a/index.ts", "x")
    wrap(bench.project(), "a", fidelity="Hybrid", domain="net")

    assert {
        "allowedDomains": [],
        "maxTimeoutMs": 30000,
        "maxResponseBytes": 1048576,
        "maxRequestsPerMin": 10,
    } == read(bench.path("genes/a/phenotype.json"))["network"]


def test_a_phenotype_that_is_there_keeps_everything(bench):
    """Not a byte of it changes."""
    bench.gene("a", wrapped=False, extra=[1])
    path = bench.path("genes/a/phenotype.json")
    before = bench.text(path)
    wrapped = wrap(bench.project(), "a", fidelity="Hybrid")

    assert before == bench.text(path)
    assert not wrapped.created
    assert ["the phenotype was there already and keeps its fidelity"] == wrapped.notes


def test_but_the_domain_given(bench):
    """A domain on the command line is put in; the rest stays."""
    bench.gene("a", wrapped=False, extra=[1])
    before = read(bench.path("genes/a/phenotype.json"))
    wrap(bench.project(), "a", domain="other.one")

    assert {**before, "domain": "other.one"} == read(bench.path("genes/a/phenotype.json"))


def test_a_domain_given_mends_a_bad_one(bench):
    """A phenotype whose only fault is its domain is mended by giving one."""
    bench.gene("a", wrapped=False, domain="Not One")

    assert "code" == wrap(bench.project(), "a", domain="code").domain


def test_the_same_domain_given_changes_no_byte(bench):
    """Text and formatting stay the author's."""
    bench.gene("a", wrapped=False)
    before = bench.text("genes/a/phenotype.json")
    wrap(bench.project(), "a", domain="code")

    assert before == bench.text("genes/a/phenotype.json")


def test_wrapped_again_after_a_change(bench):
    """The new identity is the one that is kept; no note is left."""
    bench.gene("a", wrapped=False)
    first = wrap(bench.project(), "a")
    bench.put("genes/a/index.ts", "export const express = () => 2;\n")
    second = wrap(bench.project(), "a")
    gene = bench.project().gene("a")

    assert first.v2_id != second.v2_id
    assert (second.v2_id, []) == (gene.v2_id, gene.notes)
    assert v2_identity(gene.phenotype, gene.files) == second.v2_id


def test_a_folder_that_links_out_is_not_written_to(bench, tmp_path):
    """Wrapping writes inside the project only."""
    outside = tmp_path / "outside"
    outside.mkdir()
    os.symlink(outside, bench.path("genes/a"))

    with pytest.raises(GeneError, match="link out of the project"):
        wrap(bench.project(), "a")
    assert [] == os.listdir(outside)


def test_no_source_yet(bench):
    """A folder without code can be wrapped, and one line says what is missing."""
    os.makedirs(bench.path("genes/a"))

    assert "no source yet" in wrap(bench.project(), "a").notes[0]


@pytest.mark.parametrize("path", ["genes/prefs", "./genes/prefs/", "/somewhere/prefs"])
def test_a_path_is_no_name(bench, path):
    """The name in it is enough, and that is said."""
    with pytest.raises(GeneError, match="is a path, not a gene name") as caught:
        wrap(bench.project(), path)
    assert "E0004" == caught.value.code
    assert "the gene's name is enough: rotifer wrap prefs" == caught.value.help


def test_a_slip_in_the_name(bench):
    """The folder that was probably meant is told."""
    bench.put("genes/prefs/index.ts", "x")

    with pytest.raises(GeneError, match="'pref' does not exist") as caught:
        wrap(bench.project(), "pref")
    assert "did you mean 'prefs'? If not, make the folder" in caught.value.help


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("none", {}, "E0001"),
        ("a", {"from_skill": "nowhere"}, "E0002"),
        ("a", {"from_skill": "bare"}, "E0003"),
        ("A", {}, "E0004"),
        ("../a", {}, "E0004"),
        ("a", {"domain": "Bad Domain"}, "E0004"),
    ],
)
def test_refused(bench, monkeypatch, name, options, code):
    """Each refusal has its code, says what to do, and writes nothing."""
    bench.put("genes/a/index.ts", "x")
    bench.put("bare/SKILL.md", "# no front matter\n")
    monkeypatch.chdir(bench.root)

    with pytest.raises(GeneError) as caught:
        wrap(bench.project(), name, **options)
    assert code == caught.value.code
    assert caught.value.help
    assert ["index.ts"] == os.listdir(bench.path("genes/a"))
    assert ["a"] == os.listdir(bench.path("genes"))


def test_an_unknown_fidelity(bench):
    """The four words are named."""
    bench.put("genes/a/index.ts", "x")

    with pytest.raises(UsageError) as caught:
        wrap(bench.project(), "a", fidelity="fast")
    assert "Wrapped, Hybrid, Native, Unknown" in caught.value.help


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("where", ["skills/x", "skills/x/SKILL.md"])
def test_from_a_skill(bench, monkeypatch, where, end):
    """The skill's file comes along, its description becomes the gene's."""
    monkeypatch.chdir(bench.root)
    text = end.join(
        ["---", "name: poet", 'description: "Writes verse: short"', "---", "# Poet", ""]
    )
    bench.put("skills/x/SKILL.md", text)
    wrapped = wrap(bench.project(), "poet", from_skill=where)
    phenotype = read(bench.path("genes/poet/phenotype.json"))

    assert "Writes verse: short" == phenotype["description"]
    assert "skill" == phenotype["source"]
    assert {"prompt": {"type": "string"}} == phenotype["inputSchema"]["properties"]
    assert text.encode() == bench.text("genes/poet/SKILL.md").encode()
    assert "skills/x/SKILL.md" == read(bench.path("genes/poet/.gene-manifest.json"))["fromSkill"]
    assert ["the gene has no source yet: write index.ts, then wrap it again"] == wrapped.notes


def test_a_module_is_to_be_compiled(bench):
    """A gene that brings its module is not told to write a source."""
    bench.put("genes/mine/gene.wasm", "")
    wrapped = wrap(bench.project(), "mine")

    assert ["the gene is not compiled yet: run 'rotifer compile mine'"] == wrapped.notes


def test_a_skill_for_a_gene_that_is_there(bench):
    """Its phenotype stays, and that is said."""
    bench.gene("poet", description="mine")
    bench.put("skills/x/SKILL.md", "---\nname: poet\ndescription: theirs\n---\n")
    wrapped = wrap(bench.project(), "poet", from_skill=bench.path("skills/x"))

    assert ["the phenotype was there already and is kept; only SKILL.md was taken"] == wrapped.notes
    assert "mine" == read(bench.path("genes/poet/phenotype.json"))["description"]


def test_a_skill_that_lies_in_the_gene_already(bench, monkeypatch):
    """It is not copied onto itself."""
    monkeypatch.chdir(bench.root)
    bench.put("genes/poet/SKILL.md", "---\nname: poet\n---\n")
    wrap(bench.project(), "poet", from_skill="genes/poet")

    assert (
        "poet skill wrapped as gene" == read(bench.path("genes/poet/phenotype.json"))["description"]
    )


@pytest.mark.parametrize(
    "data", [b"", b"---\nname:\n---\n", b"---\ntitle: x\n---\n", b"---\nname: x\n", b"\xff"]
)
def test_front_matter_that_is_none(bench, data):
    """No name between two lines of dashes: E0003."""
    bench.put("s/SKILL.md", data)

    with pytest.raises(GeneError) as caught:
        wrap(bench.project(), "a", from_skill=bench.path("s"))
    assert "E0003" == caught.value.code
    assert not os.path.exists(bench.path("genes/a"))


def test_a_default_domain_that_is_none(bench):
    """A bad default in rotifer.json is refused like a bad argument."""
    bench.put("rotifer.json", {"default_domain": "No Domain"})
    bench.put("genes/a/index.ts", "x")

    with pytest.raises(GeneError) as caught:
        wrap(bench.project(), "a")
    assert "E0004" == caught.value.code
