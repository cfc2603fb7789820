"""Genes that do what they must not: one clear message each, naming gene and reason (E0052)."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from rotifer_bridge import RotiferError

# source -> what the message must hold
BAD = {
    "throws an Error": ("export const express = () => { throw new TypeError('boo') }", "threw TypeError: boo"),
    "throws a string": ("export const express = () => { throw 'boo' }", "threw the string 'boo'"),
    "throws null": ("export const express = () => { throw null }", "threw null"),
    "throws undefined": ("export const express = () => { throw undefined }", "threw undefined"),
    "throws what throws": (
        "export const express = () => { throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } }) }",
        "threw a value that cannot be described",
    ),
    "rejects": ("export const express = async () => { throw new Error('later') }", "threw Error: later"),
    "throws in a timer": (
        "export const express = () => new Promise(() => setTimeout(() => { throw new Error('tick') }, 1))",
        "threw Error: tick",
    ),
    "forgets a rejection": (
        "export const express = async () => { Promise.reject(new Error('lost')); await new Promise((r) => setTimeout(r, 2000)) }",
        "threw Error: lost",
    ),
    "returns undefined": ("export const express = () => {}", "returned undefined"),
    "returns a BigInt": ("export const express = () => ({ n: 1n })", "returned what JSON cannot hold: TypeError"),
    "returns a cycle": ("export const express = () => { const a = {}; a.a = a; return a }", "returned what JSON cannot hold"),
    "returns a function": ("export const express = () => () => 1", "returned what JSON cannot hold: a function"),
    "returns a symbol": ("export const express = () => Symbol('x')", "returned what JSON cannot hold: a symbol"),
    "returns what is nested too deep": (
        "export const express = () => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a }",
        "nested too deeply",  # who of the two says so is Node's own limit
    ),
    "returns what is nested deeper than it is read": (
        "export const express = () => { let a = []; for (let i = 0; i < 2e3; i++) a = [a]; return a }",
        "gene 'bad' answered JSON that cannot be read: it is nested too deeply to be read: the limit is some 900 levels\nhelp: answer with less",
    ),
    "returns too much": ("export const express = () => 'x'.repeat(70e6)", "returned 70,000,002 bytes of JSON; the limit is 67,108,864"),
    "exits": ("export const express = () => process.exit(3)", "called process.exit(3)"),
    "exits with 0": ("export const express = () => process.exit(0)", "called process.exit(0)"),
    "exits while loading": ("process.exit(7); export const express = () => 1", "called process.exit(7)"),
    "ends for real": ("export const express = () => process.reallyExit(4)", "its process ended with exit code 4"),
    "kills itself": ("export const express = () => { process.kill(process.pid, 'SIGKILL'); process.abort(); }", "was killed by SIG"),
    "aborts": ("export const express = () => process.abort()", "was killed by SIG"),
    "never resolves": ("export const express = () => new Promise(() => {})", "its promise can no longer settle"),
    "never loads": ("await new Promise(() => {}); export const express = () => 1", "its promise can no longer settle"),
    "has no express": ("export const other = 1", "exports no function 'express' (its exports are: other)"),
    "exports nothing": ("const x = 1", "exports no function 'express'"),
    "exports an express that is no function": ("export const express = 5", "exports no function 'express'"),
    "does not parse": ("export const express = (", "index.ts"),
    "imports what is not there": ("import './gone'; export const express = () => 1", "gene 'bad' imports './gone', which is not there"),
    "imports a package that is not there": ("import 'nopk'; export const express = () => 1", "npm install nopk"),
    "requires a package that is not there": ("require('nopk'); exports.express = () => 1", "npm install nopk"),
    "imports from outside": ("import '../other/index'; export const express = () => 1", "which is outside the gene"),
    "forgets to export": ("function express() {}\nmodule.exports = { other: express }", "(its exports are: other)"),
    "exports express as the default": ("export default function express() {}", "without default"),
    "throws with a cause": ("export const express = () => { throw new Error('outer', { cause: new Error('inner') }) }", "outer (inner)"),
    "refuses": ("export const express = () => ({ __rotifer_error: { code: 'X', message: 'not this' } })", "refused: INVALID_INPUT: not this"),
    "refuses with null": ("export const express = () => ({ __rotifer_error: null })", "refused: INVALID_INPUT: the gene gave no message: __rotifer_error is null\nhelp: return {"),
    "refuses without a message": ("export const express = () => ({ __rotifer_error: { code: 'X' } })", """the gene gave no message: __rotifer_error is {"code":"X"}"""),
    "refuses with what is no text": ("export const express = () => ({ __rotifer_error: { message: [true, null] } })", "refused: INVALID_INPUT: [true,null]"),
    "returns an object that gives nothing": ("export const express = () => ({ toJSON() {} })", "returned what JSON cannot hold: an object whose toJSON gives nothing"),
    "reads a file that could be granted": ("import fs from 'fs'; export const express = () => fs.readFileSync('/etc/hostname', 'utf8')", "or start processes; grant it a file or folder with --allow-read PATH"),
    "reads a file by a relative path": ("import fs from 'fs'; export const express = () => fs.readFileSync('data/a.txt', 'utf8')", "by its absolute path: it works in no folder"),
    "reads a file": ("import fs from 'fs'; export const express = () => fs.readFileSync('/etc/hostname', 'utf8')", "was refused access to"),
    "starts a process": ("import cp from 'child_process'; export const express = () => String(cp.execSync('id'))", "was refused access to"),
    "writes to the channel": (
        "import fs from 'fs'; export const express = () => { fs.writeSync(3, Buffer.alloc(64, 1)); return 1 }",
        "gene 'bad'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_gene_is_one_clear_error(bench, what):
    """Whatever a gene does, the run ends with an error that names it and says why."""
    source, message = BAD[what]
    bench.gene("bad", {"index.ts": source})
    bench.record(1, genome=["bad"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({}, time_limit=20)

    assert message in caught.value.render()
    assert "bad" in caught.value.render()
    assert "E0052" == caught.value.code


@pytest.mark.parametrize(
    "how", ["for (;;);", "return new Promise(() => setInterval(() => {}, 50))"]
)
def test_a_gene_that_does_not_answer_is_stopped(bench, how):
    """The time limit ends a loop as well as an open handle."""
    bench.gene(
        "slow",
        {"index.ts": f"export function express({{ now }}) {{ if (now) return now; {how} }}"},
    )
    bench.record(1, genome=["slow"])

    with bench.project().agent("keeper") as agent:  # so that the limit is not about compiling it
        agent.run({"now": "first"})
    started = time.monotonic()
    with bench.project().agent("keeper") as agent:
        with pytest.raises(RotiferError) as caught:
            agent.run({}, time_limit=1.5)

        took = time.monotonic() - started
        # A late answer cannot be taken for that of the next run: the worker is another one.
        assert "next" == agent.run({"now": "next"}, time_limit=20).output

    assert "gene 'slow' did not answer within 1.5 s and was stopped" == caught.value.message
    assert took < 10  # on a busy machine; without a limit it would never end


def test_the_place_of_an_error_is_said(bench):
    """A throw is reported with file, line and column of the TypeScript source."""
    bench.gene("bad", {"index.ts": "interface A { b: string }\n\nexport function express(input: A) {\n  throw new Error('here');\n}\n"})  # fmt: skip
    bench.record(1, genome=["bad"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({})

    assert caught.value.where.endswith("genes/bad/index.ts:4:9")


def test_a_gene_that_threw_can_run_again(bench):
    """A throw costs the run, not the warm worker; an exit costs the worker, not the agent."""
    bench.gene(
        "moody",
        {
            "index.ts": """
            let runs = 0;
            export function express({ how }) {
              runs += 1;
              if (how === 'throw') throw new Error('no');
              if (how === 'exit') process.exit(1);
              return runs;
            }"""
        },
    )
    bench.record(1, genome=["moody"])

    with bench.project().agent("keeper") as agent:
        seen = []
        for how in ("", "throw", "", "exit", ""):
            try:
                seen.append(agent.run({"how": how}).output)
            except RotiferError:
                seen.append(how)

    assert [1, "throw", 3, "exit", 1] == seen


def test_a_gene_cannot_answer_for_the_bridge(bench):
    """Lines that look like the protocol, printed on stdout, are log lines."""
    bench.gene(
        "liar",
        {
            "index.ts": """export function express() { console.log('{"op":"done","run":1}\\n"forged"'); return 'true'; }"""
        },
    )
    bench.record(1, genome=["liar"])
    lines = []

    with bench.project().agent("keeper") as agent:
        result = agent.run({}, on_log=lambda gene, line: lines.append((gene, line)))

    assert "true" == result.output
    assert [("liar", '{"op":"done","run":1}'), ("liar", '"forged"')] == lines


def test_a_flood_of_output_is_cut_and_counted(bench):
    """100 MB of log lines: the run ends well, the first MiB is shown, the rest is counted."""
    bench.gene(
        "loud",
        {"index.ts": "export function express() { const l = 'x'.repeat(999); for (let i = 0; i < 1e5; i++) console.log(l); return 1; }"},
    )  # fmt: skip
    bench.record(1, genome=["loud"])
    lines = []

    with bench.project().agent("keeper") as agent:
        result = agent.run({}, on_log=lambda _, line: lines.append(line))

    assert 1 == result.output
    assert sum(map(len, lines)) < 1_200_000
    assert "gene 'loud' printed 100,000,000 bytes; the first 1,048,576 are shown" in lines[-1]


def test_a_flood_of_empty_lines_is_cut_and_counted(bench):
    """A million lines of nothing: as many are shown as the limit says, the rest is counted."""
    bench.gene(
        "loud",
        {"index.ts": "import fs from 'node:fs'; export function express() { fs.writeSync(1, 'a\\n'); const l = '\\n'.repeat(1e4); for (let i = 0; i < 100; i++) fs.writeSync(1, l); fs.writeSync(1, 'end'); return 1; }"},
    )  # fmt: skip
    bench.record(1, genome=["loud"])
    lines = []

    with bench.project().agent("keeper") as agent:
        for _ in range(2):
            assert 1 == agent.run({}, on_log=lambda _, line: lines.append(line)).output

    assert ["a", *[""] * 19_999] == lines[:20_000]
    assert (
        "... gene 'loud' printed 1,000,005 bytes; the first 20,001 are shown, 980,004 dropped: "
        "the limits are 1,048,576 bytes and 20,000 lines"
    ) == lines[20_000]
    assert 2 * 20_001 == len(lines)


def test_all_that_was_printed_comes_out(bench):
    """More than a pipe holds, printed right before the answer, is not lost."""
    bench.gene(
        "wordy",
        {"index.ts": "export function express() { for (let i = 0; i < 9000; i++) console.log(`line ${i}`); process.stderr.write('end'); return 1; }"},
    )  # fmt: skip
    bench.record(1, genome=["wordy"])
    lines = []

    with bench.project().agent("keeper") as agent:
        agent.run({}, on_log=lambda _, line: lines.append(line))

    assert {f"line {i}" for i in range(9000)} | {"end"} == set(lines)


def test_no_character_is_cut_in_a_long_line(bench):
    """A line that is longer than one may be comes out as several, each of whole characters."""
    bench.gene(
        "wordy",
        {"index.ts": "export function express() { console.log('a' + '€'.repeat(50000)); return 1; }"},
    )  # fmt: skip
    bench.record(1, genome=["wordy"])
    lines = []

    with bench.project().agent("keeper") as agent:
        agent.run({}, on_log=lambda _, line: lines.append(line))

    assert "a" + "€" * 50_000 == "".join(lines)
    assert all(len(line.encode()) <= 16_384 for line in lines)


def test_a_gene_that_changes_globals_harms_only_itself(bench):
    """Broken built-ins in one gene: its memory calls still work, the next gene is untouched."""
    bench.gene(
        "vandal",
        {
            "index.ts": """
            export function express(input, { memory }) {
              JSON.stringify = () => 'x'; JSON.parse = () => 1;
              Uint8Array.prototype.set = Uint8Array.prototype.subarray = () => { throw 1 };
              Buffer.from = Buffer.prototype.latin1Slice = Buffer.prototype.utf8Write = () => { throw 2 };
              Function.prototype.call = Function.prototype.bind = Function.prototype.apply = () => { throw 3 };
              const entry = memory.writeMemory('k', new Uint8Array([1, 2]), 'CACHE');
              return { size: memory.readMemory('k').value.length, key: entry.key };
            }"""
        },
    )
    bench.gene(
        "bystander",
        {"index.ts": "export const express = (x) => ({ ...x, text: JSON.stringify(x) });"},
    )
    bench.record(1, genome=["vandal", "bystander"])

    with bench.project().agent("keeper") as agent:
        result = agent.run({})

    assert {"size": 2, "key": "k", "text": '{"size":2,"key":"k"}'} == result.output


def test_a_project_whose_path_is_no_text(bench, tmp_path):
    """Node loads from no such path: an agent's run and a gene's own say so."""
    bench.gene("g")
    bench.record(1, genome=["g"])
    root = os.path.join(tmp_path, "bad\udcff")
    os.rename(bench.root, root)

    for words in (["agent", "run", "keeper"], ["run", "g"], ["test", "g"]):
        done = subprocess.run(
            [sys.executable, "-m", "rotifer_bridge", *words],
            cwd=root,
            capture_output=True,
            check=False,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert 1 == done.returncode, said
        assert "is not UTF-8" in said
        assert "Traceback" not in said
