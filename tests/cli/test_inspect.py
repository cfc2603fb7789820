"""``--inspect-brk``: Node's debugger on one gene (docs/genes.md, "Debugging")."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys

import pytest

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]

GENE = """enum Kind { Greeting }

interface Input { name: string }

export function express(input: Input): { text: string } {
  const kind: Kind = Kind.Greeting;
  return { text: `${Kind[kind]}: ${input.name}` };
}
"""

# A debugger: it tells each place where the gene stops, has one more stop set by the file's own
# name and line, and lets the gene go on each time.
DEBUGGER = """
const [, , url, line] = process.argv;
const socket = new WebSocket(url);
let id = 0;
const waiting = new Map();
const send = (method, params = {}) => new Promise((resolve) => {
  waiting.set(++id, resolve);
  socket.send(JSON.stringify({ id, method, params }));
});
const stops = [];
const sources = new Map();
socket.onmessage = async ({ data }) => {
  const message = JSON.parse(data);
  if (message.id) return waiting.get(message.id)(message.result);
  if (message.method === 'Debugger.scriptParsed') sources.set(message.params.scriptId, message.params);
  if (message.method !== 'Debugger.paused') return;
  const [frame] = message.params.callFrames;
  const { url, sourceMapURL } = sources.get(frame.location.scriptId);
  const { result } = await send('Debugger.evaluateOnCallFrame', {
    callFrameId: frame.callFrameId, expression: 'typeof input === "undefined" ? null : input.name',
  });
  stops.push({ url, line: frame.location.lineNumber + 1, name: result.value });
  if (stops.length === 1) {
    await send('Debugger.setBreakpointByUrl', { url, lineNumber: Number(line) - 1 });
  }
  await send('Debugger.resume');
};
socket.onopen = async () => {
  await send('Runtime.enable');
  await send('Debugger.enable');
  await send('Runtime.runIfWaitingForDebugger');
};
socket.onclose = () => console.log(JSON.stringify(stops));
"""


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def debugged(bench, node_path, command, line):
    """Run a command under the debugger: its result, and where the gene stopped."""
    process = subprocess.Popen(
        [*ROTIFER, *command],
        cwd=bench.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told = ""
    while (found := re.search(r"ws://\S+", told)) is None:
        told += process.stderr.readline() or pytest.fail(told)
    debugger = subprocess.run(
        [node_path, "-e", DEBUGGER, "debugger", found[0], str(line)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    out, err = process.communicate(timeout=60)
    return process.returncode, out, told + err, json.loads(debugger.stdout)


@pytest.mark.parametrize("how", ["run", "agent run"])
def test_the_debugger_stops_in_the_source(bench, node_path, how):
    """It stops at the gene's first line, then at a line of the .ts that was asked for, and sees the input."""
    bench.gene("other", {"index.ts": "export const express = (x: unknown) => x;"})
    bench.gene("greet", {"index.ts": GENE})
    bench.record(1, genome=["other", "greet"])
    port = free_port()
    command = (
        ["run", "greet", "--inspect-brk"]
        if how == "run"
        else ["agent", "run", "keeper", "--inspect-brk", "greet"]
    )

    code, out, err, stops = debugged(
        bench,
        node_path,
        [*command, "--inspect-port", str(port), "--json", "--time-limit", "0.5"],
        7,
    )

    assert 0 == code, err
    assert {"text": "Greeting: world"} == json.loads(out)["output"]
    assert f"127.0.0.1:{port}" in err
    assert [(1, None), (7, "world")] == [(stop["line"], stop["name"]) for stop in stops]
    assert all(stop["url"].endswith("/genes/greet/index.ts") for stop in stops)


def test_a_port_that_is_taken(bench, capsys):
    """Node would go on without a debugger; here it is an error that names the port and the way out."""
    bench.gene("greet", {"index.ts": GENE})
    bench.record(1, genome=["greet"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for command in (["run", "greet", "--inspect-brk"], ["agent", "run", "keeper", "--inspect-brk", "greet"]):  # fmt: skip
            done = subprocess.run(
                [*ROTIFER, *command, "--inspect-port", str(port)],
                cwd=bench.root,
                capture_output=True,
                text=True,
                check=False,
            )

            assert (1, "") == (done.returncode, done.stdout)
            assert f"no debugger can come to port {port}" in done.stderr
            assert "--inspect-port" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--inspect-brk", "other"], "there is no gene 'other' in agent 'keeper' to debug"),
        (["--inspect-brk", "greet", "--inspect-port", "80"], "a port from 1024 to 65535"),
        (["--inspect-brk", "greet", "--inspect-port", "x"], "a port from 1024 to 65535"),
        (["--inspect-port", "9229"], "--inspect-brk"),
    ],
)
def test_what_cannot_be_debugged(bench, arguments, said):
    """A gene that is not in the genome, a port that is none: exit 1 and why."""
    bench.gene("greet", {"index.ts": GENE})
    bench.record(1, genome=["greet"])

    done = subprocess.run(
        [*ROTIFER, "agent", "run", "keeper", *arguments],
        cwd=bench.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("more", "help_"),
    [
        ({}, "it is WASM alone: what it logs is shown, and 'rotifer test --verbose' helps"),
        ({"index.ts": GENE}, "add --no-sandbox to run the source under Node"),
    ],
)
def test_a_compiled_gene(bench, more, help_):
    """Refused before any gene runs, and nothing is said to wait; told what helps instead."""
    bench.gene("first", {"index.ts": "export const express = () => { throw new Error('ran'); };"})
    bench.gene("shut", {"gene.ir.wasm": "", **more})
    bench.record(1, genome=["first", "shut"])
    for command in (["run", "shut", "--inspect-brk"], ["agent", "run", "keeper", "--inspect-brk", "shut"]):  # fmt: skip
        done = subprocess.run(
            [*ROTIFER, *command], cwd=bench.root, capture_output=True, text=True, check=False
        )

        assert (1, "") == (done.returncode, done.stdout)
        assert [
            "error: gene 'shut' is compiled; Node's debugger needs its source",
            f"help: {help_}",
        ] == done.stderr.splitlines()


def test_nothing_waits_before_its_turn(bench):
    """A gene before the one to be debugged fails: its error alone is told."""
    bench.gene("first", {"index.ts": "export const express = () => { throw new Error('ran'); };"})
    bench.gene("greet", {"index.ts": GENE})
    bench.record(1, genome=["first", "greet"])
    done = subprocess.run(
        [*ROTIFER, "agent", "run", "keeper", "--inspect-brk", "greet", "--inspect-port", str(free_port())],
        cwd=bench.root,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert 1 == done.returncode
    assert "threw Error: ran" in done.stderr
    assert "waits for a debugger" not in done.stderr
