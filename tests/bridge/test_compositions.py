"""Several genes of one agent: hand-over, scopes, schemas, order (projects §4, memory §4)."""

from __future__ import annotations

import pytest

from rotifer_bridge import AgentError, GeneError, RotiferError, UsageError

WRITER = """
const policy = (scope: string) => ({ readScope: scope, writeScope: scope, sharePolicy: 'PRIVATE' });
export function express(input: object, { memory }: any) {
  const value = new TextEncoder().encode('from the first');
  for (const scope of ['CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES']) {
    memory.writeMemory(scope, value, 'CONTEXT', policy(scope));
  }
  return { seen: [] };
}"""

READER = """
export function express({ seen }: { seen: string[] }, { memory }: any) {
  for (const scope of ['CREATOR_GENE_ONLY', 'SAME_DOMAIN', 'ALL_GENES']) {
    try {
      seen.push(`NAME ${new TextDecoder().decode(memory.readMemory(scope).value)}`);
    } catch (error: any) {
      seen.push(`NAME ${error.code}`);
    }
  }
  seen.push(`NAME finds ${memory.queryMemory().map((e: any) => e.key).sort()}`);
  return { seen };
}"""


def test_each_gene_sees_what_an_earlier_one_wrote(bench):
    """Seq of three: the same domain reads SAME_DOMAIN, another domain only ALL_GENES."""
    bench.gene("first", {"index.ts": WRITER}, domain="text.format")
    bench.gene("sibling", {"index.ts": READER.replace("NAME", "sibling")}, domain="text.format")
    bench.gene("stranger", {"index.ts": READER.replace("NAME", "stranger")}, domain="text.parse")
    bench.record(1, genome=["first", "sibling", "stranger"])

    with bench.project().agent("keeper") as agent:
        result = agent.run({})

    assert [
        "sibling MEMORY_ACCESS_DENIED",
        "sibling from the first",
        "sibling from the first",
        "sibling finds ALL_GENES,SAME_DOMAIN",
        "stranger MEMORY_ACCESS_DENIED",
        "stranger MEMORY_ACCESS_DENIED",
        "stranger from the first",
        "stranger finds ALL_GENES",
    ] == result.output["seen"]
    assert ["first", "sibling", "stranger"] == [step.gene for step in result.steps]
    assert {"ok"} == {step.status for step in result.steps}


def test_a_gene_may_stand_in_a_genome_twice(bench):
    """The same gene twice is one worker that runs twice."""
    bench.gene("g", {"index.ts": "let n = 0; export const express = ({ at }) => ({ at: [...at, ++n] });"})  # fmt: skip
    bench.record(1, genome=["g", "g", "g"])

    with bench.project().agent("keeper") as agent:
        assert {"at": [1, 2, 3]} == agent.run({"at": []}).output


@pytest.mark.parametrize("kind", ["Par", "Cond", "Try"])
def test_uncompiled_genes_run_in_order_with_a_warning(bench, kind):
    """Par, Cond and Try with a gene that is not compiled: every gene, in order, and it is said."""
    for name in "ab":
        bench.gene(name, {"index.ts": f"export const express = ({{ at }}) => ({{ at: at + '{name}' }});"})  # fmt: skip
    bench.record(1, genome=["a", "b"], composition={"type": kind})
    notes = []

    with bench.project().agent("keeper") as agent:
        result = agent.run({"at": "-"}, on_note=notes.append)

    assert {"at": "-ab"} == result.output
    assert kind == result.composition
    assert [note for note in notes if "run in order" in note]


STRICT_IN = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_inputs_and_hand_overs_are_checked(bench):
    """A misfit is a warning with its path, at the input and between genes; the run goes on."""
    bench.gene("a", {"index.ts": "export const express = () => ({ n: 'three' });"}, inputSchema=STRICT_IN)  # fmt: skip
    bench.gene("b", {"index.ts": "export const express = (x) => x;"}, inputSchema=STRICT_IN)
    bench.record(1, genome=["a", "b"])
    notes = []

    with bench.project().agent("keeper") as agent:
        result = agent.run({"n": "one"}, on_note=notes.append)

    assert {"n": "three"} == result.output
    assert 2 == len(notes)
    assert "gene 'a'" in notes[0]
    assert "gene 'b'" in notes[1]
    assert all("$.n" in note for note in notes)


def test_strict_makes_a_misfit_an_error(bench):
    """With strict, a gene whose input does not fit is not run."""
    bench.gene("a", {"index.ts": "export const express = () => { throw new Error('ran') };"}, inputSchema=STRICT_IN)  # fmt: skip
    bench.record(1, genome=["a"])

    with bench.project().agent("keeper") as agent, pytest.raises(UsageError, match=r"\$\.n"):
        agent.run({"n": 1.5}, strict=True)


def test_an_empty_genome_is_an_error(bench):
    """An agent without genes cannot run, and is told how to get some."""
    bench.record(1, genome=[])

    with (
        bench.project().agent("keeper") as agent,
        pytest.raises(AgentError, match="empty genome") as caught,
    ):
        agent.run({})
    assert "give it genes: rotifer agent set keeper -g GENE" == caught.value.help


def test_a_gene_without_source_is_an_error(bench):
    """E0051, with the folder and what to write."""
    bench.gene("a", {"notes.json": "{}"})
    bench.record(1, genome=["a"])

    with bench.project().agent("keeper") as agent, pytest.raises(GeneError) as caught:
        agent.run({})

    assert "E0051" == caught.value.code
    assert "index.ts" in caught.value.help


def test_a_failed_run_tells_its_steps(bench):
    """The error of a run carries the steps up to the one that failed."""
    bench.gene("a", {"index.ts": "export const express = (x) => x;"})
    bench.gene("b", {"index.ts": "export const express = () => { throw new Error('no') };"})
    bench.record(1, genome=["a", "b"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({})

    assert [("a", "ok"), ("b", "failed")] == [(s.gene, s.status) for s in caught.value.steps]


def test_the_source_of_a_compiled_gene_runs_without_sandbox(bench):
    """A gene with a gene.ir.wasm that cannot be used is refused, unless its source is asked for."""
    bench.gene(
        "a", {"index.ts": "export const express = () => 'source';", "gene.ir.wasm": b"\0asm"}
    )
    bench.record(1, genome=["a"])

    with bench.project().agent("keeper") as agent:
        with pytest.raises(GeneError, match="no WASM module") as caught:
            agent.run({})
        assert "source" == agent.run({}, sandbox=False).output

    assert "E0051" == caught.value.code


def test_null_is_an_input_like_any_other(bench):
    """None is JSON null; only a left-out input is an empty object."""
    bench.gene("a", {"index.ts": "export const express = (x) => ({ got: x });"}, inputSchema={})
    bench.record(1, genome=["a"])

    with bench.project().agent("keeper") as agent:
        assert [{"got": None}, {"got": {}}] == [agent.run(None).output, agent.run().output]
