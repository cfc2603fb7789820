"""Making and changing agents."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys

import pytest

from rotifer_bridge._create import change_agent, create_agent, pick_genes
from rotifer_bridge._record import record_paths
from rotifer_bridge.errors import AgentError, GeneError, RotiferError, UsageError

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
COUNT = {"type": "object", "properties": {"text": {"type": "integer"}}}


@pytest.fixture
def project(bench):
    """Three genes, one of them compiled."""
    bench.gene("a")
    bench.gene("b")
    bench.gene("native", {"gene.ir.wasm": b"\0asm"}, domain="fast")
    return bench.project()


def test_the_record(project):
    """Every field of the page, in a private file named by the id."""
    record = create_agent(project, "keeper", ["a", "b"], memory_quota="512KB").record
    with open(record.path) as file:
        document = json.load(file)

    assert 0o600 == stat.S_IMODE(os.stat(record.path).st_mode)
    assert f"{document['id']}.json" == os.path.basename(record.path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", document.pop("createdAt"))
    assert {
        "id": record.id,
        "name": "keeper",
        "state": "Active",
        "genome": ["a", "b"],
        "composition": {"type": "Seq"},
        "strategy": "manual",
        "reputation": 0,
        "memoryQuotaBytes": 512 * 1024,
        "dataPolicy": {
            "maxRetentionDays": None,
            "autoDeleteOnTermination": False,
            "anonymizationSupported": False,
        },
    } == document


@pytest.mark.parametrize(
    ("genes", "composition", "expected"),
    [
        (["a"], "Par", {"type": "Single"}),
        (["a", "b"], "Par", {"type": "Par", "branches": ["a", "b"], "merge": "concat"}),
        (
            ["a", "b"],
            "Cond",
            {
                "type": "Cond",
                "predicate": {"field": "type", "op": "Eq", "value": "primary"},
                "thenBranch": "a",
                "elseBranch": "b",
            },
        ),
        (["a", "b"], "Try", {"type": "Try", "primary": "a", "fallback": "b"}),
        (["a", "b"], "TryPool", {"type": "TryPool"}),
        (
            ["b", "a"],
            {"type": "Cond", "predicate": {"field": "n", "op": "Gt", "value": 3}},
            {
                "type": "Cond",
                "predicate": {"field": "n", "op": "Gt", "value": 3},
                "thenBranch": "b",
                "elseBranch": "a",
            },
        ),
    ],
)
def test_compositions(project, genes, composition, expected):
    """The object that the reference writes; genome order decides who is who."""
    made = create_agent(project, "keeper", genes, composition=composition, par_merge="concat")

    assert expected == made.record.composition


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"name": "../x"}, UsageError, "not an agent name"),
        ({"name": ""}, UsageError, "agent name is empty"),
        ({"genes": []}, UsageError, "at least one gene"),
        ({"genes": "a"}, UsageError, r"a list of names is needed: \['a'\]"),
        ({"genes": ["none"]}, GeneError, "'none' does not exist"),
        ({"genes": ["../genes/a"]}, GeneError, "not a gene name"),
        ({"composition": "Loop"}, UsageError, "'Loop' is not a composition"),
        ({"composition": {"type": "Loop"}}, UsageError, "'Loop' is not a composition"),
        ({"par_merge": "x"}, UsageError, "'x' is not a merge"),
        ({"memory_quota": "10"}, UsageError, "^memory quota '10' cannot be read"),
        ({"memory_quota": "0MB"}, UsageError, "^memory quota '0MB' is zero bytes"),
        ({"memory_quota": 0}, UsageError, "1 to 9,007,199,254,740,991"),
    ],
)
def test_refused(project, change, error, words):
    """Nothing is written when any part is refused."""
    arguments = {"name": "keeper", "genes": ["a", "b"], **change}
    name, genes = arguments.pop("name"), arguments.pop("genes")

    with pytest.raises(error, match=words) as caught:
        create_agent(project, name, genes, **arguments)
    assert "E0040" == caught.value.code or error is UsageError
    assert not os.path.exists(project.agents_dir) or [] == os.listdir(project.agents_dir)


def test_a_name_is_used_once(project):
    """A second agent of the name is refused, and the first one's record is named."""
    first = create_agent(project, "keeper", ["a"])

    with pytest.raises(AgentError, match="'keeper' exists already") as caught:
        create_agent(project, "keeper", ["b"])
    assert first.record.path == caught.value.where
    assert "rotifer agent set keeper" in caught.value.help
    assert "rotifer agent delete keeper" in caught.value.help


def test_the_name_of_a_faulty_record_is_taken(bench, project):
    """The record is mended, not doubled."""
    path = bench.record(1, "keeper", memoryQuotaBytes="1MB")

    with pytest.raises(AgentError, match="its record is faulty: memoryQuotaBytes") as caught:
        create_agent(project, "keeper", ["a"])
    assert path == caught.value.where
    assert "correct the record" in caught.value.help
    assert [path] == record_paths(project.agents_dir)


def test_records_that_cannot_be_read_may_have_the_name(bench, project):
    """The agent is made, and the person hears that it may be the second one."""
    bench.put(".rotifer/agents/damaged.json", "{")
    bench.put(".rotifer/agents/empty.json", "")
    made = create_agent(project, "keeper", ["a"])

    (warning,) = made.warnings
    assert warning.startswith("2 records could not be read, so an agent may have this name already")


def test_a_name_is_used_once_by_processes_at_once(project):
    """Eight processes create the same agent; exactly one succeeds."""
    code = (
        "import sys; from rotifer_bridge._project import Project\n"
        "from rotifer_bridge._create import create_agent\n"
        "from rotifer_bridge.errors import AgentError\n"
        "sys.stdin.read()\n"
        "try: create_agent(Project(sys.argv[1]), 'keeper', ['a'])\n"
        "except AgentError: sys.exit(7)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, project.root], stdin=subprocess.PIPE)
        for _ in range(8)
    ]
    for process in started:
        process.stdin.close()

    assert [0, *[7] * 7] == sorted(process.wait() for process in started)
    assert 1 == len(os.listdir(project.agents_dir))


@pytest.mark.parametrize("composition", ["Seq", "Par"])
def test_neighbors_that_cannot_fit_are_warned_of(bench, composition):
    """What the next gene requires and the one before does not give."""
    bench.gene("one", outputSchema=COUNT)
    bench.gene("two", inputSchema=TEXT)
    made = create_agent(bench.project(), "keeper", ["one", "two"], composition=composition)

    assert "one -> two: 'text' is integer, wanted string" in made.warnings


def test_pools_are_not_neighbors(bench):
    """In a TryPool every gene gets the same input."""
    bench.gene("one", outputSchema=COUNT)
    bench.gene("two", inputSchema=TEXT)

    assert [] == create_agent(bench.project(), "k", ["one", "two"], composition="TryPool").warnings


def test_genes_that_no_run_can_use_are_warned_of(bench, project, monkeypatch):
    """A gene without source, and a compiled one without the extra, each with its remedy."""
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    bench.gene("empty", {"notes.md": "nothing yet"})
    made = create_agent(project, "keeper", ["empty", "native"])

    no_source, compiled = made.warnings
    assert no_source.startswith("gene 'empty' has no source; write index.ts ")
    assert "compiled to WASM, and wasmtime is not installed" in compiled
    assert "pip install 'rotifer-bridge[wasm]'" in compiled


def test_a_gene_without_identity_is_warned_of(bench):
    """It would find every memory call denied, so the person hears of it now."""
    bench.gene("bare", wrapped=False)
    made = create_agent(bench.project(), "keeper", ["bare", "bare"])

    assert [
        "gene 'bare' was never wrapped: it has no identity, so no memory; run 'rotifer wrap bare'"
    ] == made.warnings


def test_genes_are_picked(project, bench):
    """Compiled ones first, then by name; of one domain when one is given; bad ones are said."""
    bench.put("genes/aaa/phenotype.json", "{")

    picked = pick_genes(project)
    assert (["native", "a"], 3) == (picked.genes, picked.of)
    assert 1 == len(picked.unreadable)
    assert "'aaa' is left out" in picked.unreadable[0]
    assert ["a", "b"] == pick_genes(project, "code", 5).genes


@pytest.mark.parametrize(("domain", "top"), [("none", 2), (None, 0), ("A", 1)])
def test_no_gene_to_pick(project, domain, top):
    """No such domain, none wanted, no domain at all: refused."""
    with pytest.raises(RotiferError):
        pick_genes(project, domain, top)


def test_changed_genes_keep_the_agent(project):
    """Id, name and quota stay; the composition follows the genes."""
    before = create_agent(project, "keeper", ["a"], memory_quota="1MB").record
    after = change_agent(project, "keeper", genes=["b", "a"]).record

    assert (before.id, before.memory_quota_bytes) == (after.id, after.memory_quota_bytes)
    assert ("b", "a") == after.genome
    assert {"type": "Seq"} == after.composition


def test_changed_composition_keeps_what_is_not_named(project):
    """A Par of other genes merges as before; a Cond keeps its question."""
    create_agent(project, "keeper", ["a", "b"], composition="Par", par_merge="concat")
    after = change_agent(project, "keeper", genes=["b", "a"]).record
    assert {"type": "Par", "branches": ["b", "a"], "merge": "concat"} == after.composition

    asked = {"field": "n", "op": "Lt", "value": 1}
    change_agent(project, "keeper", composition={"type": "Cond", "predicate": asked})
    after = change_agent(project, "keeper", genes=["a", "b"]).record
    assert asked == after.composition["predicate"]
    assert "a" == after.composition["thenBranch"]


def test_changed_quota(project):
    """The quota alone, and nothing else."""
    before = create_agent(project, "keeper", ["a", "b"]).record
    after = change_agent(project, "keeper", memory_quota="1KB").record

    assert 1024 == after.memory_quota_bytes
    assert before.document == {**after.document, "memoryQuotaBytes": before.memory_quota_bytes}


@pytest.mark.parametrize(
    "change", [{}, {"genes": ["none"]}, {"genes": "a"}, {"genes": []}, {"memory_quota": "x"}]
)
def test_a_refused_change_changes_nothing(bench, project, change):
    """The record stays byte for byte."""
    path = create_agent(project, "keeper", ["a"]).record.path
    before = bench.text(path)

    with pytest.raises(RotiferError):
        change_agent(project, "keeper", **change)
    assert before == bench.text(path)
