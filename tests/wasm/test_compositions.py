"""Compiled genes together, with each other and with TypeScript (projects §4)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from tests.genes import building, modules

from rotifer_bridge import CompositionFailed, GeneError, GeneFailed, RunError, RunTimedOut

OWN = '{"readScope":"CREATOR_GENE_ONLY","writeScope":"CREATOR_GENE_ONLY","sharePolicy":"PRIVATE"}'


@pytest.fixture
def play(bench):
    """Run an agent once: its genes by name (a module or a TypeScript source), its composition."""

    def call(genes, composition, given=None, **settings):
        for name, made in genes.items():
            files = {"gene.ir.wasm": made} if isinstance(made, bytes) else {"index.ts": made}
            bench.gene(name, files, inputSchema=True, outputSchema=True)
        bench.record(1, genome=settings.pop("genome", list(genes)), composition=composition)
        with bench.project().agent("keeper") as agent:
            result = agent.run(given, **settings)
            call.entries = {entry.key: entry for entry in agent.memory.list()}
        return result

    call.bench = bench
    return call


def audited(bench, field):
    """A field of each line of the audit log."""
    return [json.loads(line)[field] for line in bench.text(".rotifer/audit.jsonl").splitlines()]


# ---- Par


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        ("first", "one"),
        ("concat", {"branch_0": "one", "branch_1": {"a": 1}, "branch_2": ["in"]}),
        ("merge", {"branch_0": "one", "branch_1": {"a": 1}, "branch_2": ["in"]}),
        (None, "one"),
    ],
)
def test_the_merges_of_par(play, merge, expected):
    """First is the first branch's answer, and what there is by default; concat and merge have all."""
    genes = {"one": modules.answering('"one"'), "two": modules.answering('{"a":1}'), "echo": modules.echo()}  # fmt: skip
    kind = {"type": "Par", **({"merge": merge} if merge else {})}

    result = play(genes, kind, ["in"])

    assert expected == result.output
    assert [("one", "wasm", "ok"), ("two", "wasm", "ok"), ("echo", "wasm", "ok")] == [s[:3] for s in result.steps]  # fmt: skip


def test_a_step_says_why_it_failed(play):
    """Also where another gene answered in its place, and nobody is told of it otherwise."""
    genes = {"a": modules.failing(-7), "b": modules.answering('"b"')}

    for kind in ({"type": "Par", "merge": "first"}, {"type": "Try"}, {"type": "TryPool"}):
        failed, ok = play(genes, kind).steps

        assert ("failed", "ok", None) == (failed.status, ok.status, ok.error)
        assert failed.error.startswith("gene 'a' ")
        assert failed.error == failed.to_json()["error"]
        assert "error" not in ok.to_json()


def test_first_is_the_first_success_in_branch_order(play):
    """A branch that fails is passed over, whoever is faster."""
    genes = {"a": modules.failing(-7), "b": modules.meeting("b", "c"), "c": modules.meeting("c", "b")}  # fmt: skip

    result = play(genes, {"type": "Par", "merge": "first"}, time_limit=60)

    assert "b met c" == result.output
    assert ["failed", "ok", "ok"] == [step.status for step in result.steps]


def test_first_without_a_success_tells_every_failure(play):
    """E0053, with what each branch said."""
    genes = {"a": modules.failing(-7), "b": modules.answering('{"__rotifer_error":{"message":"no"}}')}  # fmt: skip

    with pytest.raises(CompositionFailed, match="no branch gave an answer") as caught:
        play(genes, {"type": "Par", "merge": "first"})

    assert "E0053" == caught.value.code
    assert "error code: -7" in caught.value.message
    assert "INVALID_INPUT: no" in caught.value.message
    assert ["a", "b"] == [step.gene for step in caught.value.steps]


@pytest.mark.parametrize("merge", ["concat", "merge"])
def test_the_first_error_in_branch_order_wins(play, merge):
    """The other branches run to their end all the same, and what they wrote stays."""
    genes = {"a": modules.writing("a", "1"), "b": modules.failing(-2), "c": modules.failing(-3), "d": modules.writing("d", "4")}  # fmt: skip

    with pytest.raises(GeneFailed, match=r"gene 'b' .*error code: -2") as caught:
        play(genes, {"type": "Par", "merge": merge})

    assert ["ok", "failed", "failed", "ok"] == [step.status for step in caught.value.steps]
    assert ["a", "d"] == sorted(audited(play.bench, "key"))


def test_branches_truly_run_at_the_same_time(play):
    """Each waits for what the other writes: one after the other, neither would ever end."""
    genes = {name: modules.meeting(name, other) for name, other in ("ab", "bc", "ca")}

    result = play(genes, {"type": "Par", "merge": "concat"}, time_limit=60)

    assert {"branch_0": "a met b", "branch_1": "b met c", "branch_2": "c met a"} == result.output


def test_every_branch_acts_under_its_own_identity(play):
    """Entries of the branches have different creators, and a closed one is closed to the others."""
    genes = {"a": modules.writing("a", "1", policy=OWN), "b": modules.writing("b", "2", policy=OWN)}
    play(genes, {"type": "Par"})

    assert {"a", "b"} == play.entries.keys()
    assert play.entries["a"].created_by != play.entries["b"].created_by
    lines = audited(play.bench, "gene_id")
    assert {entry.created_by for entry in play.entries.values()} == set(lines)


def test_the_same_gene_twice_is_two_branches(play):
    """A gene that stands in the genome twice answers twice, each run with a state of its own."""
    result = play({"g": modules.counting()}, {"type": "Par", "merge": "concat"}, genome=["g"] * 3)

    assert {"branch_0": 1, "branch_1": 1, "branch_2": 1} == result.output


def test_the_same_gene_twice_truly_runs_at_the_same_time(play):
    """Each of the two runs waits for what the other one writes."""
    result = play({"g": modules.crowding()}, {"type": "Par", "merge": "concat"}, genome=["g"] * 2, time_limit=60)  # fmt: skip

    assert {"branch_0": "there are two", "branch_1": "there are two"} == result.output
    assert 2 == len(play.entries)


def test_a_par_calls_back_in_the_thread_that_runs_it(play):
    """Log lines and steps of all branches come to the caller's own thread."""
    seen = []
    genes = {name: modules.printing(f"from {name}", "1") for name in ("a", "b")}

    play(
        genes,
        {"type": "Par"},
        on_log=lambda *line: seen.append((*line, threading.get_ident())),
        on_step=lambda name: seen.append((name, "step", threading.get_ident())),
    )

    here = threading.get_ident()
    assert {("a", "from a", here), ("b", "from b", here), ("a", "step", here), ("b", "step", here)} == set(seen)  # fmt: skip


def test_a_fault_of_ours_in_a_branch_is_noted_in_the_thread_that_runs_it(play, monkeypatch):
    """The gene is told -13 and goes on; the person is told what it was."""
    notes = []
    request = '{"key":"k"}'
    asking = modules.gene(
        f"(call $read (i32.const 65536) (i32.const {len(request)}) (i32.const 70000) (i32.const 4000))",
        modules.text(65536, request),
    )

    def broken(*_):
        raise ZeroDivisionError("as if")

    monkeypatch.setattr("rotifer_bridge._door.perform", broken)
    with pytest.raises(GeneFailed, match="error code: -13"):
        play({"a": asking, "b": asking}, {"type": "Par", "merge": "merge"}, on_note=lambda line: notes.append((line, threading.get_ident())))  # fmt: skip

    assert [("memory read failed inside: ZeroDivisionError: as if", threading.get_ident())] * 2 == notes  # fmt: skip


def test_twenty_branches_on_one_memory(play):
    """More branches than threads, writing the same keys: every call is answered, nothing is lost."""
    files = building.relay_files("wat")
    play.bench.gene("r", files, inputSchema=True, outputSchema=True)
    play.bench.record(1, genome=["r"] * 20, composition={"type": "Par", "merge": "concat"})
    entry = {"value": "AQID", "category": "CACHE"}
    calls = [part for number in range(5) for part in ("write", 999, {"key": f"k{number}", **entry})]

    with play.bench.project().agent("keeper") as agent:
        output = agent.run(calls).output
        usage = agent.memory.usage()

    assert [f"branch_{number}" for number in range(20)] == [*output]
    assert all(result > 0 for results in output.values() for result, _ in results)
    assert 5 * (2 + 3) == usage
    actions = audited(play.bench, "action")
    assert (5, 95) == (actions.count("memory.create"), actions.count("memory.update"))
    assert 100 == len({*audited(play.bench, "change_id")})


INTERRUPTED = """
import sys, threading
from rotifer_bridge import Project
begun = []
def on_step(name):
    begun.append(name)
    if len(begun) == 2:
        print("begun", flush=True)
with Project.find().agent("keeper") as agent:
    try:
        agent.run({}, on_step=on_step, time_limit=100)
    except KeyboardInterrupt:
        print("interrupted", [t.name for t in threading.enumerate() if "branch" in t.name])
"""


def test_ctrl_c_ends_all_branches(play):
    """KeyboardInterrupt comes out of ``run``, and no branch goes on behind its back."""
    bench = play.bench
    for name in "ab":
        bench.gene(name, {"gene.ir.wasm": modules.waiting(name)})
    bench.record(1, genome=["a", "b"], composition={"type": "Par"})
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], cwd=bench.root, stdout=subprocess.PIPE, text=True
    ) as process:
        assert "begun\n" == process.stdout.readline()
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)

    assert (0, "interrupted []\n") == (process.returncode, printed)


def test_a_callback_that_raises_ends_all_branches(play):
    """The exception comes out, and no branch is left running, not even one without end."""
    before = threading.active_count()

    def on_log(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        play({"a": modules.printing("x", "1"), "b": modules.endless()}, {"type": "Par"}, on_log=on_log)  # fmt: skip

    assert [] == [t.name for t in threading.enumerate() if "branch" in t.name]
    assert threading.active_count() <= before + 1  # the clock of the sandbox may linger


# ---- a module that cannot be used


@pytest.fixture
def unusable():
    """A module that imports what is not there: it passes the checks of its folder, and never runs."""
    return building.wat('(module (import "env" "abort" (func)) (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) (i32.const 0)))')  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ({"type": "Par", "merge": "first"}, {"n": 1}),
        ({"type": "TryPool"}, {"code": {"n": 1}}),
        ({"type": "Try"}, None),
    ],
)
def test_one_that_cannot_be_used_is_passed_over(play, unusable, kind, output):
    """Where another may answer it does, and why the first one did not is said."""
    notes = []

    result = play({"a": unusable, "b": modules.echo()}, kind, {"n": 1}, on_note=notes.append)

    assert ["gene 'a': its module imports env.abort, which is not there"] == notes
    if output is None:
        assert {"n": 1} == result.output["original_input"]
        assert ("E0051", *notes) == (result.output["error"]["code"], result.output["error"]["message"])  # fmt: skip
    else:
        assert output == result.output


@pytest.mark.parametrize("merge", ["concat", "merge"])
def test_one_that_cannot_be_used_is_an_error_of_its_branch(play, unusable, merge):
    """The first error in the order of the branches wins; the others run to their end."""
    genes = {"a": modules.writing("a", "1"), "b": unusable, "c": modules.failing(-3)}

    with pytest.raises(GeneError, match=r"imports env\.abort") as caught:
        play(genes, {"type": "Par", "merge": merge})

    assert "E0051" == caught.value.code
    assert ["a"] == audited(play.bench, "key")


def test_a_par_of_genes_that_cannot_be_used(play, unusable):
    """E0053 says of each why."""
    with pytest.raises(CompositionFailed, match=r"no branch gave an answer: .*abort.*; .*abort"):
        play({"a": unusable, "b": unusable}, {"type": "Par"})


# ---- Cond


@pytest.mark.parametrize(
    ("predicate", "given", "expected"),
    [
        (None, {"type": "primary"}, "then"),
        (None, {"type": "secondary"}, "else"),
        (None, {}, "else"),
        ({"field": "n", "op": "Eq", "value": 1}, {"n": 1}, "then"),
        ({"field": "n", "op": "Eq", "value": 1}, {"n": 1.0}, "else"),
        ({"field": "n", "op": "Eq", "value": 1}, {"n": True}, "else"),
        ({"field": "n", "op": "Neq", "value": 1}, {}, "else"),
        ({"field": "n", "op": "Neq", "equals": 1}, {"n": None}, "then"),
        ({"field": "n", "op": "Gt", "value": 1}, {"n": 1.5}, "then"),
        ({"field": "s", "op": "Contains", "value": "ü"}, {"s": "für"}, "then"),
    ],
)
def test_cond_takes_one_of_two(play, predicate, given, expected):
    """The predicate decides; the other gene does not run."""
    genes = {"then": modules.answering('"then"'), "else": modules.answering('"else"')}
    kind = {"type": "Cond", **({"predicate": predicate} if predicate else {})}

    result = play(genes, kind, given)

    assert expected == result.output
    assert [expected] == [step.gene for step in result.steps]


@pytest.mark.parametrize("kind", ["Cond", "Try"])
def test_a_third_gene_is_said_to_be_of_no_use(play, kind):
    """Cond and Try have two branches; genes beyond are named in a warning."""
    notes = []
    genes = {name: modules.answering(f'"{name}"') for name in "abc"}

    result = play(genes, {"type": kind}, {"type": "primary"}, on_note=notes.append)

    assert "a" == result.output
    assert [f"{kind} has two branches: of 3 genes only the first two are used"] == notes


# ---- Try


def test_try_needs_no_fallback_for_an_answer(play):
    """The fallback does not run where the first gene answers."""
    result = play({"a": modules.answering('"a"'), "b": modules.failing(-1)}, {"type": "Try"})

    assert ("a", ["a"]) == (result.output, [step.gene for step in result.steps])


FAILURES = {
    "an error code": (lambda: modules.failing(-9), "E0052", "error code: -9", False),
    "a refusal": (
        lambda: modules.answering('{"__rotifer_error":{"message":"too long"}}'),
        "INVALID_INPUT",
        "too long",
        False,
    ),
    "no JSON": (lambda: modules.answering("nonsense"), "E0052", "not JSON", False),
    "a trap": (lambda: modules.gene("(unreachable)"), "E0052", "unreachable", False),
    "no end": (modules.endless, "E0052", None, None),
}


@pytest.mark.parametrize("what", FAILURES)
def test_try_tells_the_fallback_what_failed(play, what):
    """Its input is the error and what the first gene was given."""
    make, code, words, retryable = FAILURES[what]

    result = play({"a": make(), "b": modules.echo()}, {"type": "Try"}, {"n": 1.0}, time_limit=20)

    error = result.output["error"]
    assert {"error", "original_input"} == result.output.keys()
    assert {"code", "message", "retryable", "details"} == error.keys()
    assert '{"n": 1.0}' == json.dumps(result.output["original_input"])
    assert (code, {"gene": "a"}) == (error["code"], error["details"])
    assert words is None or words in error["message"]
    assert retryable is None or retryable is error["retryable"]
    assert ["failed", "ok"] == [step.status for step in result.steps]


def test_a_time_out_is_worth_another_try(play):
    """``retryable`` is true for a gene that took too long, here by the clock."""
    genes = {"a": modules.waiting("a"), "b": modules.echo()}

    result = play(genes, {"type": "Try"}, time_limit=0.3)

    assert True is result.output["error"]["retryable"]
    assert "timed out after 300 ms" in result.output["error"]["message"]
    assert {"a"} == play.entries.keys()  # what it wrote before stays


def test_a_fallback_that_fails_fails_the_run(play):
    """The error is the fallback's; both steps are told."""
    with pytest.raises(GeneFailed, match=r"gene 'b' .*error code: -6") as caught:
        play({"a": modules.failing(-5), "b": modules.failing(-6)}, {"type": "Try"})

    assert ["a", "b"] == [step.gene for step in caught.value.steps]


# ---- Seq, TryPool, and one that is not compiled

READER = """
export function express(input: any, { memory }: any) {
  memory.writeMemory('ts', new Uint8Array(1), 'CONTEXT');
  return { given: input, keys: memory.queryMemory().map((e: any) => e.key).sort() };
}"""


def test_typescript_and_wasm_hand_over_to_each_other(play):
    """Seq of both kinds: each one's output is the next one's input, on one memory."""
    genes = {"w": modules.writing("w", '{"from":"w"}'), "t": READER, "e": modules.echo()}

    result = play(genes, {"type": "Seq"})

    assert {"given": {"from": "w"}, "keys": ["ts", "w"]} == result.output
    assert ["wasm", "node", "wasm"] == [step.engine for step in result.steps]
    assert [False, True, False] == [step.fuel is None for step in result.steps]
    assert play.entries["w"].created_by != play.entries["ts"].created_by


@pytest.mark.parametrize("kind", ["Par", "Cond", "Try"])
def test_one_uncompiled_gene_makes_all_run_in_order(play, kind):
    """Par, Cond and Try with a TypeScript gene among compiled ones: in order, and it is said."""
    notes = []
    genes = {"w": modules.writing("w", '{"from":"w"}'), "t": READER, "e": modules.echo()}

    result = play(genes, {"type": kind}, on_note=notes.append)

    assert {"given": {"from": "w"}, "keys": ["ts", "w"]} == result.output
    assert ["w", "t", "e"] == [step.gene for step in result.steps]
    assert [f"{kind}: not every gene is compiled, so all 3 genes run in order, each one's output the next one's input"] == notes  # fmt: skip


def test_without_the_sandbox_the_sources_run_in_order(play):
    """Compiled genes that have sources: with ``sandbox=False`` these run, and none is compiled."""
    for name in "ab":
        play.bench.gene(name, {"index.ts": f"export const express = ({{ at }}) => ({{ at: at + '{name}' }});", "gene.ir.wasm": modules.answering('"wasm"')})  # fmt: skip
    play.bench.record(1, genome=["a", "b"], composition={"type": "Par"})
    notes = []

    with play.bench.project().agent("keeper") as agent:
        outputs = [
            agent.run({"at": "-"}, sandbox=sandbox, on_note=notes.append).output
            for sandbox in (True, False, True)
        ]

    assert ["wasm", {"at": "-ab"}, "wasm"] == outputs
    assert 1 == len([note for note in notes if "run in order" in note])


def test_a_pool_tries_compiled_genes_too(play):
    """TryPool goes from one that fails to one that answers, whatever runs them."""
    genes = {"a": modules.failing(-1), "b": modules.answering('"b"')}

    assert {"code": "b"} == play(genes, {"type": "TryPool"}).output


# ---- warm, limits, the end


def test_a_warm_gene_keeps_nothing_between_runs(play):
    """Each run starts from the module's initial state, and uses the same fuel."""
    bench = play.bench
    bench.gene("g", {"gene.ir.wasm": modules.counting()}, outputSchema=True)
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        results = [agent.run({}) for _ in range(3)]

    assert [1, 1, 1] == [result.output for result in results]
    assert 1 == len({result.steps[0].fuel for result in results})


def test_a_module_is_made_ready_once(play, monkeypatch):
    """Runs of one agent share what was compiled; also a run that failed does not undo it."""
    from rotifer_bridge import _sandboxed

    made = []

    class Counted(_sandboxed.WasmGene):
        def __init__(self, *arguments, **settings):
            made.append(arguments[0].name)
            super().__init__(*arguments, **settings)

    monkeypatch.setattr(_sandboxed, "WasmGene", Counted)
    bench = play.bench
    bench.gene("g", {"gene.ir.wasm": modules.judging("1", "(unreachable)")}, inputSchema=True, outputSchema=True)  # fmt: skip
    bench.record(1, genome=["g", "g"])

    with bench.project().agent("keeper") as agent:
        for given in (2, 1, 3):
            with suppress(GeneFailed):
                agent.run(given)
        assert 4 == agent.run(4).output

    assert ["g"] == made


def test_a_run_goes_on_after_one_that_failed(play):
    """A failure of any kind leaves the gene fit for the next run."""
    bench = play.bench
    bench.gene("g", {"gene.ir.wasm": modules.gene("(if (i32.eq (i32.load8_u (i32.const 0)) (i32.const 49)) (then (unreachable))) (local.get $ptr)")}, inputSchema=True, outputSchema=True)  # fmt: skip
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        with pytest.raises(GeneFailed):
            agent.run(1)
        assert 2 == agent.run(2).output


def test_an_endless_gene_is_ended_by_its_limits(play):
    """Without a call in its loop the fuel ends it; with one, the time may."""
    with pytest.raises(GeneFailed, match="fuel exhausted"):
        play({"a": modules.endless()}, {"type": "Single"}, time_limit=60)
    with pytest.raises(RunTimedOut, match="timed out after 300 ms"):
        play({"a": modules.waiting("a")}, {"type": "Single"}, time_limit=0.3)


def test_close_from_another_thread_ends_a_run(play):
    """A module that runs holds nobody up: whoever closes the agent gets through, and ends it."""
    bench = play.bench
    bench.gene("g", {"gene.ir.wasm": modules.waiting("here")})
    bench.record(1, genome=["g"])
    agent = bench.project().agent("keeper")
    begun, caught = threading.Event(), []

    def run():
        try:
            agent.run({}, on_step=lambda _: begun.set(), time_limit=100)
        except RunError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    agent.close()
    thread.join(60)

    assert not thread.is_alive()
    assert ["E0052"] == [error.code for error in caught]
