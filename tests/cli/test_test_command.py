"""``rotifer test``: the checks, the suite, the memory of the test."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.genes import modules

from rotifer_bridge._inmost import inmost

from .shapes import SHAPES, TEXT, make, suite

N = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
# Counts its runs in the memory.
COUNTER = """
export function express(input: any, ctx: any) {
  const seen = ctx.memory.readMemory("count");
  const count = seen === null ? 1 : seen.value[0] + 1;
  ctx.memory.writeMemory("count", new Uint8Array([count]), "PREFERENCE");
  return { count };
}
"""
COUNTS = suite(*({"input": {}, "expectedOutput": {"count": n}} for n in (1, 2, 3)))


def start(bench, *argv):
    """Start the command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rotifer_bridge", "test", *argv],
        cwd=bench.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(folder):
    """Every file below a folder, by path, but for the cache of transformed sources."""
    found = {}
    for top, folders, names in os.walk(folder):
        if "cache" in folders:
            folders.remove("cache")
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[os.path.join(top, name)] = hashlib.sha256(file.read()).hexdigest()
    return found


def one(done):
    """The document that was printed."""
    return json.loads(done.out)


def statuses(document):
    """The checks' statuses by number."""
    return {check["number"]: check["status"] for check in document["checks"]}


def test_ten_shapes_of_gene(cli, bench):
    """Each is found as it is, also by its suite; the thrower alone fails."""
    make(bench)
    done = cli("test", "--json", "--compliance")
    document = one(done)

    assert 1 == done.code
    assert {name: shape.passes for name, shape in SHAPES.items()} == {
        found["gene"]: found["passed"] for found in document["genes"]
    }, done.out
    assert all(found["suite"]["met"] is SHAPES[found["gene"]].passes for found in document["genes"])
    assert document["passed"] is False


def test_all_genes_end_with_a_table(cli, bench):
    """One line a gene, after what was found of each."""
    make(bench)
    done = cli("test")

    assert 1 == done.code
    assert "\nthrower         6/7" not in done.out
    rows = {
        line.split()[0]: line.split()[1:] for line in done.out.rpartition("\n\n")[2].splitlines()
    }
    assert ["Checks", "Cases", "Property", "Result"] == rows.pop("Gene")
    assert ["7/7", "2/2", "ok", "passed"] == rows["text-analysis"]
    assert ["5/6", "0/2", "FAIL", "FAILED"] == rows["thrower"]
    assert set(SHAPES) == set(rows)


def test_what_is_printed_for_people(cli, bench):
    """A line for each outcome, with place and remedy; the gene's own lines only with --verbose."""
    bench.gene("g", {"index.ts": "export function express(i: any) {\n  console.log('log');\n  if (i.n === 2) throw new Error('two');\n  return i;\n}", "testsuite.json": suite({"input": {"n": 2}})}, inputSchema=N)  # fmt: skip
    quiet, loud = cli("test", "g"), cli("test", "g", "--verbose")

    assert 1 == quiet.code
    assert "  ok    6 it runs with the generated input\n" in quiet.out
    assert (
        "  FAIL  case 1 (positive): gene 'g' threw Error: two\n         --> genes/g/index.ts:3:"
    ) in quiet.out
    assert "FAILED: 8 passed, 1 failed\n" in quiet.out
    assert "" == quiet.err
    assert "[g] log\n" in loud.err
    assert " ms)\n" in loud.out


def test_cases_share_an_empty_memory(cli, bench):
    """A later case finds what an earlier one wrote; a second test begins anew."""
    bench.gene("g", {"index.ts": COUNTER, "testsuite.json": COUNTS})
    for _ in range(2):
        done = cli("test", "g", "--json")
        assert 0 == done.code, done.out
        assert one(done)["memory"]["available"] is True


def test_a_gene_without_identity_has_no_memory(cli, bench):
    """As in an agent's run, and the output says why."""
    bench.gene("g", {"index.ts": COUNTER}, wrapped=False)
    done = cli("test", "g")

    assert 1 == done.code
    assert "threw MemoryError MEMORY_ACCESS_DENIED" in done.out
    assert "memory: gene 'g' was never wrapped" in done.out
    assert "rotifer wrap g" in done.out


def test_the_project_stays_as_it_was(cli, bench):
    """Database, audit log, telemetry and agents are byte for byte what they were."""
    denied = COUNTER.replace(
        "const seen", "try { ctx.memory.deleteMemory('x') } catch {}\n  const seen"
    )
    bench.gene("g", {"index.ts": denied, "testsuite.json": COUNTS})
    bench.record(1, genome=("g",))
    assert 0 == cli("agent", "run", "keeper").code
    before = contents(bench.path(".rotifer"))

    assert 0 == cli("test", "g").code
    assert before == contents(bench.path(".rotifer"))
    assert any(path.endswith("playground.db") for path in before)


def test_a_killed_test_leaves_nothing(bench, tmp_path):
    """Killed in the middle of a case, its memory is on no disk, and no process is left."""
    hang = COUNTER.replace("return {", "console.log('written'); for (;;) {}\n  return {")
    bench.gene("g", {"index.ts": hang})
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-m", "rotifer_bridge", "test", "g", "--verbose"],
        cwd=bench.root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "written" in process.stderr.readline()
        worker = worker_of(process)
        open_files = [
            os.readlink(f"/proc/{process.pid}/fd/{fd}")
            for fd in os.listdir(f"/proc/{process.pid}/fd")
        ]
        process.kill()
        process.wait(timeout=10)
        assert ends(worker)

    assert [] == os.listdir(temporary)
    assert {"cache"} == set(os.listdir(bench.path(".rotifer")))
    assert not [path for path in open_files if path.startswith("/") and "/dev/" not in path and "(deleted)" in path]  # fmt: skip


def worker_of(process):
    """The Node that a running command has started."""
    node = inmost(process.pid)

    assert node != process.pid
    return node


def ends(pid):
    """Whether a process that was killed is gone soon; the kernel may take its time."""
    deadline = time.monotonic() + 5
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _lives(pid)


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_two_tests_at_once(bench):
    """Tests of one gene at the same time do not see each other's entries."""
    bench.gene("g", {"index.ts": COUNTER, "testsuite.json": COUNTS})
    running = [start(bench, "g", "--json") for _ in range(3)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert 0 == process.returncode, (out, err)


def test_positive_cases(cli, bench):
    """Held to expectedOutput, else to expectedSchema, else to the outputSchema."""
    cases = [
        {"input": {"n": 1}, "expectedOutput": {"n": 1.0}},
        {"input": {"n": 1}, "expectedOutput": {"n": True}},
        {"input": {"n": 1}, "expectedOutput": {"n": 1, "m": None}},
        {"input": {"n": 1}, "expectedSchema": {"required": ["n"]}},
        {"input": {"n": 1}, "expectedSchema": {"required": ["m"]}},
        {"input": {"n": 1}},
        {"input": {"n": 500}},
    ]
    output = {"properties": {"n": {"maximum": 100}}}
    bench.gene("g", {"index.ts": "export const express = (x) => x;", "testsuite.json": suite(*cases)}, inputSchema=N, outputSchema=output)  # fmt: skip
    found = one(cli("test", "g", "--json"))["suite"]["cases"]

    assert ["passed", "failed", "failed", "passed", "failed", "passed", "failed"] == [case["status"] for case in found]  # fmt: skip
    assert "not the expectedOutput: $.n: is 1; expected true" == found[1]["message"]
    assert "not the expectedOutput: $.m: is missing; expected null" == found[2]["message"]
    assert "does not fit the expectedSchema" in found[4]["message"]
    assert "does not fit the outputSchema" in found[6]["message"]


def test_negative_cases(cli, bench):
    """A refusal passes, a crash fails, an answer is held to what the case declares, if it does."""
    source = """
export function express({ n }: any) {
  if (n === "refuse") return { __rotifer_error: { message: "no" } };
  if (n === "throw") throw new Error("crash");
  if (n === "exit") process.exit(0);
  return { n };
}
"""
    cases = [
        {"input": {"n": "refuse"}},
        {"input": {"n": "throw"}},
        {"input": {"n": "exit"}},
        {"input": {"n": "answer"}},
        {"input": {"n": "answer"}, "expectedOutput": {"n": "answer"}},
        {"input": {"n": "answer"}, "expectedOutput": None},
        {"input": {"n": 1}},
    ]
    bench.gene("g", {"index.ts": source, "testsuite.json": suite(*cases)}, inputSchema=N, outputSchema=N)  # fmt: skip
    found = one(cli("test", "g", "--json"))["suite"]["cases"]

    assert ["passed", "failed", "failed", "passed", "passed", "failed", "passed"] == [case["status"] for case in found]  # fmt: skip
    assert ["negative"] * 6 + ["positive"] == [case["kind"] for case in found]
    assert "called process.exit(0)" in found[2]["message"]


def test_a_refusal_of_what_fits_is_a_failure(cli, bench):
    """In the check that it runs, in a positive case and in the property alike."""
    source = "export const express = () => ({ __rotifer_error: { message: 'not today' } });"
    bench.gene("g", {"index.ts": source, "testsuite.json": suite({"input": {"n": 1}})}, inputSchema=N)  # fmt: skip
    document = one(cli("test", "g", "--json"))
    [case] = document["suite"]["cases"]
    found = (document["checks"][5], case, document["suite"]["property"])

    assert ["failed"] * 3 == [outcome["status"] for outcome in found]
    assert all("INVALID_INPUT: not today" in outcome["message"] for outcome in found)


def test_a_case_has_its_own_time_limit(cli, bench):
    """One that is too slow is stopped; the next one runs, and finds the memory as it was."""
    source = COUNTER.replace("const seen", "if (input.hang) for (;;) {}\n  const seen")
    cases = [{"input": {}}, {"input": {"hang": True}, "timeout": 300}, {"input": {}, "expectedOutput": {"count": 2}}]  # fmt: skip
    bench.gene("g", {"index.ts": source, "testsuite.json": suite(*cases)})
    found = one(cli("test", "g", "--json"))["suite"]["cases"]

    assert ["passed", "failed", "passed"] == [case["status"] for case in found]
    assert "did not answer within 0.3 s" in found[1]["message"]


def test_the_property_is_repeatable(cli, bench):
    """The same seed finds the same input, and the message has it."""
    source = (
        "export const express = ({ n }) => { if (n > 100) throw new Error('big'); return { n }; };"
    )
    bench.gene("g", {"index.ts": source, "testsuite.json": suite({"input": {"n": 1}}, fuzzIterations=50, seed=7)}, inputSchema=N)  # fmt: skip
    first, second = (one(cli("test", "g", "--json"))["suite"]["property"] for _ in range(2))

    assert "failed" == first["status"]
    assert first["message"] == second["message"]
    assert "of seed 7: {" in first["message"]


def test_a_schema_that_the_generator_cannot_meet(cli, bench):
    """Skipped, and said; the check on a generated input fails with what is wrong."""
    schema = {"type": "object", "properties": {"n": {"type": "string", "pattern": "^x{3}y{4}$"}}, "required": ["n"]}  # fmt: skip
    bench.gene("g", {"index.ts": "export const express = (x) => x;", "testsuite.json": suite({"input": {"n": "xxxyyyy"}})}, inputSchema=schema)  # fmt: skip
    document = one(cli("test", "g", "--json"))

    assert "skipped" == document["suite"]["property"]["status"]
    assert "failed" == statuses(document)[4]
    assert "passed" == document["suite"]["cases"][0]["status"]


def test_compliance(cli, bench):
    """Asks for a positive case, a negative case and the property; says what is missing."""
    bench.gene("g", {"index.ts": "export const express = (x) => x;", "testsuite.json": suite({"input": {"n": 1}})}, inputSchema=N)  # fmt: skip
    loose, strict = cli("test", "g"), cli("test", "g", "--compliance")

    assert (0, 1) == (loose.code, strict.code)
    assert "compliance: not met: no negative case passed" in strict.out
    assert "  passed: 9 passed" == loose.out.splitlines()[-1]
    assert "  FAILED: 9 passed" == strict.out.splitlines()[-1]
    assert "FAILED" == cli("test", "--compliance").out.split()[-1]
    for words, passed in (["g"], True), (["g", "--compliance"], False):
        assert passed is one(cli("test", "--json", *words))["passed"]


def test_scaffold(cli, bench):
    """A first suite is written where there is none, and is one that runs."""
    bench.gene("g", inputSchema=N)
    first = cli("test", "g", "--scaffold")
    written = bench.text("genes/g/testsuite.json")
    second = cli("test", "g", "--scaffold")

    assert (0, 0) == (first.code, second.code)
    assert {"n": 1} == json.loads(written)["testCases"][0]["input"]
    assert "wrote genes/g/testsuite.json" in first.err
    assert "was left as it is" in second.err
    assert written == bench.text("genes/g/testsuite.json")


def test_an_installed_gene(cli, bench):
    """Not run, and no pass either, until somebody trusts it."""
    bench.gene("g")
    bench.put("genes/g/.cloud-manifest.json", {"installed_at": "2026-01-01"})

    refused = cli("test", "g")
    assert 1 == refused.code
    assert "--trust-unsigned" in refused.out
    assert 0 == cli("test", "g", "--trust-unsigned").code


def test_a_compiled_gene(cli, bench):
    """It is its WASM that is tested, also where it has a source."""
    source = "export const express = () => { throw new Error('not this') };"
    bench.gene("g", {"index.ts": source, "gene.ir.wasm": modules.echo()})
    bench.gene("w", {"gene.ir.wasm": modules.echo()})
    bench.gene("b", {"gene.ir.wasm": b"\0asm"})

    assert dict.fromkeys(range(1, 8), "passed").items() <= statuses(one(cli("test", "g", "--json"))).items()  # fmt: skip
    document = one(cli("test", "w", "--json"))
    assert ["skipped", "passed", "passed"] == [statuses(document)[number] for number in (5, 6, 7)]
    assert document["checks"][5]["fuel"] > 0
    document = one(cli("test", "b", "--json"))
    assert "no WASM module" in document["checks"][5]["message"]


def test_a_project_without_genes(cli):
    """Nothing to test is no failure."""
    assert 0 == cli("test").code


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ({"testCases": [], "tests": 1}, ["$: has an unknown field 'tests'", "$.testCases: has no cases"]),
        ([], ["$: is an array, not an object"]),
        ({}, ["$.testCases: is missing"]),
        ({"testCases": {"input": 1}}, ["$.testCases: is an object"]),
        (
            {"testCases": [5, {"imput": 1}, {"input": 1, "timeout": 0}, {"input": 1, "timeout": "5"}]},
            ["$.testCases[0]: is a number", "$.testCases[1]: has an unknown field 'imput'", "$.testCases[1].input: is missing", "$.testCases[2].timeout: is 0", "$.testCases[3].timeout: is a string"],
        ),
        (
            {"testCases": [{"input": 1, "expectedSchema": {"type": "strnig"}}], "config": {"seed": 1.5, "fuzzIterations": True, "x": 1}},
            ["$.testCases[0].expectedSchema: not a JSON Schema", "$.config.seed: is 1.5", "$.config.fuzzIterations: is a boolean", "$.config: has an unknown field 'x'"],
        ),
        (
            {"testCases": [{"input": 1, "expectedSchema": {"$ref": "http://example.com/s.json"}}]},
            ["$.testCases[0].expectedSchema: the schema refers to 'http://example.com/s.json', outside itself"],
        ),
        (b"{nope", ["testsuite.json is not JSON: line 1, column 2"]),
    ],
)  # fmt: skip
def test_a_bad_suite(cli, bench, text, faults):
    """Every fault with its path, at once; exit code 1."""
    bench.gene("g", {"index.js": "exports.express = (x) => x;", "testsuite.json": text})
    done = cli("test", "g", "--json")
    messages = [fault["message"] for fault in one(done)["suite"]["faults"]]

    assert 1 == done.code
    assert len(faults) == len(messages)
    for fault in faults:
        assert any(message.startswith(fault) for message in messages), messages


def test_a_byte_order_mark(cli, bench):
    """Accepted, in the suite and in the phenotype."""
    text = b"\xef\xbb\xbf" + json.dumps(suite({"input": {}})).encode()
    bench.gene("g", {"index.js": "exports.express = (x) => x;", "testsuite.json": text})
    phenotype = bench.text("genes/g/phenotype.json")
    bench.put("genes/g/phenotype.json", "\ufeff" + phenotype)

    assert 0 == cli("test", "g").code


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        (b"{nope", 1, "phenotype.json is not JSON"),
        ({"domain": "code"}, 1, "phenotype.json lacks inputSchema, outputSchema, version"),
        ({"domain": "code", "inputSchema": {"type": "objekt"}, "outputSchema": {}, "version": "0.1.0"}, 2, "not a JSON Schema: at $.type"),
        ({"domain": "code", "inputSchema": {}, "outputSchema": {"$ref": "https://example.com/x"}, "version": "0.1.0"}, 3, "refers to 'https://example.com/x', outside itself; nothing is ever fetched"),
        ({"domain": "code", "inputSchema": {"$ref": "#/definitions/none"}, "outputSchema": {}, "version": "0.1.0"}, 2, "the schema"),
    ],
)  # fmt: skip
def test_a_bad_phenotype(cli, bench, text, number, words):
    """A failed check with a message; the other genes are tested all the same."""
    bench.gene("good")
    bench.gene("g")
    bench.put("genes/g/phenotype.json", text)
    done = cli("test", "--json")
    bad, good = one(done)["genes"]
    [failed] = [check for check in bad["checks"] if check["status"] == "failed"]

    assert 1 == done.code
    assert (number, True) == (failed["number"], good["passed"])
    assert words in failed["message"]
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["nobody", "bare", "../x"])
def test_no_phenotype(cli, bench, name):
    """E0010, on stderr, with nothing on stdout that could be taken for a document."""
    os.makedirs(bench.path("genes", "bare"))
    done = cli("test", name, "--json")

    assert (1, "") == (done.code, done.out)
    assert "error[E0010]: " in done.err


def test_folders_with_odd_names(cli, bench):
    """A folder that cannot be a gene is a failure of its own, not the end."""
    bench.gene("good")
    bench.put("genes/Bad Name/phenotype.json", {})
    done = cli("test", "--json")

    assert {"Bad Name": False, "good": True} == {found["gene"]: found["passed"] for found in one(done)["genes"]}  # fmt: skip


def test_ctrl_c(bench):
    """Exit code 130 within a second, no stack, nothing left running."""
    bench.gene(
        "g", {"index.ts": "export const express = () => { console.log('up'); for (;;) {} };"}
    )
    with start(bench, "g", "--verbose") as process:
        assert "up" in process.stderr.readline()
        worker = worker_of(process)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(timeout=10)
        assert time.monotonic() - sent < 1.5
        assert "Traceback" not in process.stderr.read()
        assert ends(worker)


def test_watch(bench):
    """Tests again when a file changes, goes on after a failure, and ends with Ctrl-C: 130."""
    bench.gene("g")
    with start(bench, "g", "--watch") as process:
        assert "waiting for a change" in process.stderr.readline()
        bench.put(
            "genes/g/index.ts", "export const express = () => { throw new Error('changed'); };"
        )
        assert any("threw Error" in line for line in iter(process.stdout.readline, ""))
        assert "waiting for a change" in process.stderr.readline()
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert 130 == process.wait(timeout=10)
        assert time.monotonic() - sent < 1.5


def test_watch_gives_no_document(cli, bench):
    """It never ends, so --json is refused."""
    bench.gene("g")

    assert 1 == cli("test", "g", "--watch", "--json").code


@pytest.mark.parametrize("name", ["..", "/", "../x"])
def test_watch_looks_at_genes_only(cli, name):
    """What is no gene's name is refused before any folder is looked through."""
    done = cli("test", name, "--watch")

    assert (1, "") == (done.code, done.out)
    assert "error[E0010]: " in done.err


LINES = "".join(f"  sum += text.length % {n} === 0 ? {n} : 1;\n" for n in range(2, 97))
LONG_GENE = f"""
let runs = 0;
export function express({{ text }}: {{ text: string }}): object {{
  runs += 1;
  let sum = 0;
{LINES}
  return {{ runs, sum }};
}}
"""
# The check that it runs comes first.
FIFTY = suite(*({"input": {"text": "x" * n}, "expectedSchema": {"properties": {"runs": {"const": n + 2}}}} for n in range(50)))  # fmt: skip


def test_fifty_cases_have_one_process(cli, bench):
    """All runs of a test are made by one Node, so a case costs a run and no start."""
    bench.gene("g", {"index.ts": LONG_GENE, "testsuite.json": FIFTY}, inputSchema=TEXT)
    document = one(cli("test", "g", "--json"))

    assert 50 == len(document["suite"]["cases"])
    assert document["passed"], document


@pytest.mark.long
def test_fifty_cases_take_two_runs_at_most(rotifer, bench):
    """A suite of 50 cases of a gene of 100 lines takes at most twice the time of one run of it."""
    bench.gene("g", {"index.ts": LONG_GENE, "testsuite.json": FIFTY}, inputSchema=TEXT)
    bench.record(1, genome=("g",))
    taken = {"agent": [], "test": []}
    for _ in range(15):  # in turn, so that what else the machine does slows both
        for argv in (("agent", "run", "keeper", "--input", '{"text":"x"}'), ("test", "g")):
            started = time.perf_counter()
            assert 0 == rotifer(*argv).code
            taken[argv[0]].append(time.perf_counter() - started)

    assert min(taken["test"]) <= 2 * min(taken["agent"]), taken
