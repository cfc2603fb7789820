"""Genes that speak the wire in the shim's place: one clear error, in time, never a traceback."""

from __future__ import annotations

import time

import pytest

from rotifer_bridge import RotiferError

# Writes one request by itself, past the shim, and then does nothing more.
FORGE = """
import fs from 'node:fs';
function bytes(payload) {
  const body = Buffer.from(payload, 'latin1');
  const header = Buffer.alloc(12);
  header.writeBigUInt64BE(BigInt(4 + body.length));
  header.writeUInt32BE((0x80000000 | 77) >>> 0, 8);
  return Buffer.concat([header, body]);
}
function frame(...payloads) {
  const all = Buffer.concat(payloads.map(bytes));
  for (let at = 0; at < all.length; ) at += fs.writeSync(3, all, at);
}
export function express() { frame(PAYLOAD); for (;;); }
"""

STACK = "JSON.stringify({ op: 'failed', run: 1, kind: 'threw', error: { name: 'Error', message: 'x', stack: %s } }) + '\\n'"

FRAMES = {
    "a stack of 400,000 slashes": STACK % "'/'.repeat(4e5)",
    "a stack of many frames": STACK % "'at /a:1:1)\\n'.repeat(4e4)",
    "a stack that looks like frames": STACK % "'at /'.repeat(1e5)",
    "an output that is no JSON": r"""'{"op":"done","run":1}\n{not json'""",
    "an empty output": r"""'{"op":"done","run":1}\n'""",
    "an output that is no UTF-8": r"""'{"op":"done","run":1}\n"\xff"'""",
    "an output of NaN": r"""'{"op":"done","run":1}\n{"a":NaN}'""",
    "a size of 5,000 digits": r"""'{"op":"failed","run":1,"kind":"too-large","error":{"message":"' + '1'.repeat(5000) + '"}}\n'""",
    "an error that is no object": r"""'{"op":"failed","run":1,"kind":"threw","error":[1]}\n'""",
    "a kind that is an object": r"""'{"op":"failed","run":1,"kind":{},"error":null}\n'""",
    "an unknown op": r"""'{"op":"stop"}\n'""",
    "an op that is a list": r"""'{"op":[1]}\n'""",
    "no op": r"""'{}\n'""",
    "a list": r"""'[1]\n'""",
    "no JSON": r"""'hello\n'""",
    "nothing": "''",
    "JSON nested deep": r"""'['.repeat(1e5) + '\n'""",
    "two documents": r"""'{"op":"next"}{"op":"next"}\n'""",
}  # fmt: skip


@pytest.mark.parametrize("what", FRAMES)
def test_a_forged_frame_is_one_clear_error(bench, what):
    """Whatever stands on the wire, the run ends at once, or at its time limit, by an error."""
    bench.gene("forger", {"index.mjs": FORGE.replace("PAYLOAD", FRAMES[what])})
    bench.record(1, genome=["forger"])

    started = time.monotonic()
    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({}, time_limit=5)

    assert time.monotonic() - started < 6
    assert "forger" in caught.value.message
    assert "E0052" == caught.value.code
    assert len(caught.value.render()) < 10_000


def test_a_message_over_the_limit_is_hung_up_on(bench):
    """The supervisor takes in no more than the largest output has, whatever a frame announces."""
    bench.gene(
        "forger",
        {"index.mjs": FORGE.replace("PAYLOAD", "'{\"op\":\"done\",\"run\":1}\\n\"' + 'x'.repeat(80e6) + '\"'")},
    )  # fmt: skip
    bench.record(1, genome=["forger"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({}, time_limit=20)

    assert "E0052" == caught.value.code
    assert "67,174,400" in caught.value.message


def test_forged_places_forge_no_lines(bench):
    """A place or a remedy of several lines stays on its line, or is set off."""
    bench.gene(
        "forger",
        {"index.mjs": FORGE.replace("PAYLOAD", "JSON.stringify({ op: 'failed', run: 1, kind: 'load', error: { fault: { message: 'm\\nhelp: no', where: 'w\\nhelp: no', help: 'h\\nerror: no' } } }) + '\\n'")},
    )  # fmt: skip
    bench.record(1, genome=["forger"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({})

    starts = [line.partition(":")[0] for line in caught.value.render().split("\n")]
    assert ["error[E0052]", "    help", " --> w\\nhelp", "help", "    error"] == starts


@pytest.mark.parametrize("text", ["1".ljust(5000, "1"), "1e999"])
def test_numbers_beyond_json_readers(bench, text):
    """A number no reader can hold is refused, or read as JavaScript reads it; never a traceback."""
    bench.gene(
        "raw", {"index.mjs": f"export const express = () => ({{ n: JSON.rawJSON('{text}') }});"}
    )
    bench.record(1, genome=["raw"])

    with (
        bench.project().agent("keeper") as agent,
        pytest.raises(RotiferError, match="out of range"),
    ):
        agent.run({})


def test_a_request_between_two_runs_breaks_the_protocol(bench):
    """Whoever asks again before it was given its next run is stopped, and the next agent runs."""
    twice = FORGE.replace(
        "frame(PAYLOAD)", "frame(DONE, READ)"
    )  # at once, before it is given a run
    done, read = r"""'{"op":"done","run":1}\n1'""", r"""'{"op":"read","run":1,"key":"k"}\n'"""
    bench.gene("forger", {"index.mjs": twice.replace("DONE", done).replace("READ", read)})
    bench.record(1, genome=["forger"])
    with bench.project().agent("keeper") as agent:
        first = agent.run({}, time_limit=20)
        with pytest.raises(RotiferError) as caught:
            agent.run({}, time_limit=3)

    assert 1 == first.output
    # Seen before the next run was handed over, it breaks the protocol; after that it is a call with
    # the handle of the run before, which is denied, and the gene goes on doing nothing.
    assert caught.value.message in {
        "gene 'forger' broke the protocol: it asked for 'read'",
        "gene 'forger' did not answer within 3 s and was stopped",
    }
