"""``rotifer run``: one gene, without an agent."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

ECHO = "export const express = (input) => ({ got: input });\n"
MEMORY = """
import { MemoryError } from "@rotifer/playground/memory";
export function express(_: unknown, ctx: any) {
  const calls = [
    () => ctx.memory.readMemory("k"),
    () => ctx.memory.writeMemory("k", new Uint8Array(1), "CACHE"),
    () => ctx.memory.queryMemory({}),
    () => ctx.memory.deleteMemory("k"),
  ];
  return calls.map((call) => { try { call(); return "ok"; } catch (e) { return e instanceof MemoryError && e.code; } });
}
"""


def on_a_terminal(bench, *argv):
    """Run a command whose stdout is a terminal; its exit code, what the terminal got, stderr."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "rotifer_bridge", *argv],
        cwd=bench.root,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    printed = os.read(ours, 65536).decode()
    os.close(ours)
    return done.returncode, printed.replace("\r\n", "\n"), done.stderr.decode()


def test_output_for_people(cli, bench):
    """The output as JSON on stdout, and nothing else anywhere."""
    bench.gene("echo", {"index.ts": ECHO})
    done = cli("run", "echo", "--input", '{"a": 1}')

    assert (0, "") == (done.code, done.err)
    assert {"got": {"a": 1}} == json.loads(done.out)


def test_one_json_document(cli, bench):
    """Gene, engine, output, duration: exactly these; what it prints and the rest is on stderr."""
    bench.gene("echo", {"index.ts": "console.log('hi');\n" + ECHO})
    done = cli("run", "echo", "--json", "--verbose", "--input", "[]")
    document = json.loads(done.out)

    assert document.pop("durationMs") > 0
    assert {"gene": "echo", "engine": "node", "output": {"got": []}} == document
    assert "[echo] hi\n" in done.err
    assert "gene echo: ok (node, " in done.err


@pytest.mark.parametrize(
    ("source", "by"),
    [
        ("export const express = () => 'e'; export default () => 'd'; export const main = () => 'm';", "e"),
        ("export const main = () => 'm'; export default () => 'd';", "d"),
        ("export const main = () => 'm';", "m"),
        ("export default { express: () => 'e' }; export const main = () => 'm';", "e"),
        ("module.exports = () => 'c';", "c"),
        ("module.exports = { main: () => 'm' };", "m"),
    ],
)  # fmt: skip
def test_which_function_is_called(cli, bench, source, by):
    """`express`, else the default export, else `main`."""
    bench.gene("g", {"index.js": source})

    assert by == json.loads(cli("run", "g").out)


def test_an_agent_runs_express_alone(cli, bench):
    """The other names are for `run` and `test`."""
    bench.gene("g", {"index.js": "export default () => 1;"})
    bench.record(1, genome=("g",))

    assert "exports no function 'express'" in cli("agent", "run", "keeper").err


def test_no_memory_and_no_trace(cli, bench):
    """Each of the four calls is denied, and nothing of it is written anywhere."""
    bench.gene("g", {"index.ts": MEMORY})
    done = cli("run", "g")

    assert ["MEMORY_ACCESS_DENIED"] * 4 == json.loads(done.out)
    assert not {"playground.db", "audit.jsonl", "telemetry.jsonl", "agents"} & set(
        os.listdir(bench.path(".rotifer"))
    )


def test_an_installed_gene_needs_trust(cli, bench):
    """Through `run` and `agent run`; one that was published from here is our own."""
    bench.gene("g")
    bench.record(1, genome=("g",))
    bench.put("genes/g/.cloud-manifest.json", {"installed_at": "2026-01-01", "published_at": "x"})
    for argv in (["run", "g"], ["agent", "run", "keeper"]):
        refused = cli(*argv)
        assert (1, "") == (refused.code, refused.out)
        assert "error[E0051]: gene 'g' was installed from outside" in refused.err
        assert "--trust-unsigned" in refused.err
        assert 0 == cli(*argv, "--trust-unsigned").code
    bench.put("genes/g/.cloud-manifest.json", b"not JSON")
    assert 1 == cli("run", "g").code
    bench.put("genes/g/.cloud-manifest.json", {"published_at": "2026-01-01"})
    assert 0 == cli("run", "g").code


def test_a_warm_agent_asks_again(bench):
    """A worker that runs is no reason to trust the gene in the next run."""
    from rotifer_bridge import GeneError

    bench.gene("g")
    bench.put("genes/g/.cloud-manifest.json", {})
    bench.record(1, genome=("g",))
    with bench.project().agent("keeper") as agent:
        assert {} == agent.run(trust_unsigned=True).output
        with pytest.raises(GeneError, match="installed from outside"):
            agent.run()


def test_a_compiled_gene(cli, bench):
    """A module that is none is an error; its source runs with --no-sandbox."""
    bench.gene("g", {"index.ts": ECHO, "gene.ir.wasm": b"\0asm"})

    assert "error[E0051]" in cli("run", "g").err
    assert 0 == cli("run", "g", "--no-sandbox").code


def test_display_on_a_terminal(bench):
    """What it prints and gives back is shown, escaped; the JSON is not."""
    source = ECHO + "export const display = (o, { columns }) => { console.log('A\\x1b[1m'); console.error('E'); return `B ${o.got.n} ${columns > 0}`; };\n"  # fmt: skip
    bench.gene("g", {"index.ts": source})
    code, out, err = on_a_terminal(bench, "run", "g", "--input", '{"n": 7}')

    assert (0, "A\\x1b[1m\nB 7 true\n") == (code, out)
    assert "[g] E\n" == err
    assert '"output"' in on_a_terminal(bench, "run", "g", "--json")[1]


def test_display_is_for_terminals(cli, bench):
    """A pipe gets the JSON."""
    bench.gene("g", {"index.ts": ECHO + "export const display = () => 'shown';\n"})

    assert {"got": {"name": "world"}} == json.loads(cli("run", "g").out)


@pytest.mark.parametrize("fault", ["throw new Error('no')", "process.exit(0)", "for (;;) {}"])
def test_a_display_that_fails_is_a_warning(bench, fault):
    """The output is printed all the same, and the exit code is that of the run."""
    bench.gene("g", {"index.ts": ECHO + f"export function display() {{ {fault} }}\n"})
    code, out, err = on_a_terminal(bench, "run", "g", "--time-limit", "2")

    assert 0 == code
    assert {"got": {"name": "world"}} == json.loads(out)
    assert "display failed, here is the output itself" in err


def test_schemas_are_warned_of(cli, bench):
    """What goes in and what comes out."""
    schema = {"type": "object", "required": ["n"]}
    bench.gene("g", {"index.ts": ECHO}, inputSchema=schema, outputSchema=schema)
    done = cli("run", "g")

    assert 0 == done.code
    assert "the input does not fit its inputSchema" in done.err
    assert "the output does not fit its outputSchema" in done.err


def test_a_refusal_has_one_key(cli, bench):
    """With another key beside it, `__rotifer_error` is an answer: to run, agent run and test."""
    source = "export const express = () => ({ __rotifer_error: { message: 'no' }, more: 1 });"
    bench.gene("g", {"index.ts": source})
    bench.record(1, genome=("g",))
    done = (cli("run", "g"), cli("agent", "run", "keeper"), cli("test", "g"))

    assert [0, 0, 0] == [each.code for each in done]
    assert all('"more": 1' in each.out for each in done[:2])


@pytest.mark.parametrize("key", ["inputSchema", "outputSchema"])
def test_a_schema_that_cannot_be_used(cli, bench, key):
    """Said as `agent run` says it: which gene, which schema, where, and what to do."""
    bench.gene("g", {"index.ts": ECHO}, **{key: {"type": "objekt"}})
    bench.record(1, genome=("g",))
    done, run = cli("run", "g"), cli("agent", "run", "keeper")

    assert (1, "") == (done.code, done.out)
    assert done.err.startswith(
        f"error[E0052]: gene 'g': its {key} cannot be used: not a JSON Schema: at $.type"
    )
    assert f"\n --> genes/g/phenotype.json\nhelp: correct the {key}\n" in done.err
    assert done.err == run.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nobody"], "error[E0051]: gene 'nobody' does not exist"),
        (["../x"], "error[E0051]: '../x' is not a gene name"),
        (["bare"], "error[E0051]: gene 'bare' has no source"),
        (["throws"], "error[E0052]: gene 'throws' threw Error: no\n --> genes/throws/index.ts:2:9"),
        (["refuses"], "error[E0052]: gene 'refuses' refused: INVALID_INPUT: no text"),
        (["slow", "--time-limit", "0.5"], "did not answer within 0.5 s"),
        (["slow", "--time-limit", "x"], "--time-limit is 'x'"),
        (["throws", "--input", "{"], "--input is not JSON"),
        ([], "missing argument 'GENE'"),
    ],
)
def test_refused(cli, bench, argv, words):
    """One message, exit code 1, nothing on stdout."""
    bench.gene("bare", {"README.md": "x"})
    bench.gene(
        "throws", {"index.ts": "export const express = () => {\n  throw new Error('no');\n};"}
    )
    bench.gene("refuses", {"index.ts": "export const express = () => ({ __rotifer_error: { message: 'no text' } });"})  # fmt: skip
    bench.gene("slow", {"index.ts": "export const express = () => { for (;;) {} };"})
    done = cli("run", *argv)

    assert (1, "") == (done.code, done.out)
    assert words in done.err
