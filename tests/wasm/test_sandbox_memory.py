"""The four memory calls as a module makes them: every result code, and the envelope beside it."""

from __future__ import annotations

import base64
import json

import pytest
from tests.wasm.conftest import PAGE, V2, Call, calling, wasm

from rotifer_bridge import _wasm_api as api
from rotifer_bridge import _wasm_run
from rotifer_bridge.errors import GeneFailed, RunTimedOut
from rotifer_engine import ABSENT, ERROR_CODES, Caller, StorageError

OTHER = "v2:" + "cd" * 32


def b64(data):
    """The value of a request."""
    return base64.b64encode(data).decode()


def write(key, value=b"v", category="CONTEXT", room=4_096, **fields):
    """A write that is as it should be."""
    return Call("write", {"key": key, "value": b64(value), "category": category, **fields}, room)


def envelope(text):
    """The code in an envelope, which ends with a NUL."""
    assert text.endswith("\0")
    return json.loads(text[:-1])["__rotifer_error"]["code"]


def test_what_the_calls_answer(call, sandbox):
    """Each call answers with the JSON of the memory page; the result is its length."""
    results = call(
        write("k", b"\x00\xff"),
        Call("read", {"key": "k"}),
        Call("read", {"key": "k", "category": "CACHE"}),
        Call("read", {"key": "none"}),
        Call("query", b""),
        Call("query", "null"),
        Call("query", {"keyPrefix": "x"}),
        Call("delete", {"key": "k"}),
    )

    assert all(result == len(text) for result, text in results)
    written, read, other, none, all_, null, empty, deleted = [
        json.loads(text) for _, text in results
    ]
    assert {
        "key": "k",
        "value": "AP8=",
        "category": "CONTEXT",
        "createdBy": V2,
    }.items() <= written.items()
    assert (written, None, None, [written], [written], [], None) == (
        read, other, none, all_, null, empty, deleted,
    )  # fmt: skip


def test_an_entry_is_rendered_as_everywhere(call, sandbox):
    """The entry that a module gets is the entry that every other door gives."""
    [(_, text)] = call(write("ключ\n", b"v" * 3, accessPolicy={"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"}))  # fmt: skip

    entry = sandbox.memory.read(Caller(V2, "code"), "ключ\n")
    assert json.dumps(entry.to_json(), separators=(",", ":")) == text


DENIED = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}  # fmt: skip
TABLE = {
    "MEMORY_ACCESS_DENIED": [
        Call("read", {"key": "theirs"}),
        write("theirs"),
        Call("delete", {"key": "theirs"}),
        write("new", accessPolicy={**DENIED, "readScope": "DEPLOYER_CONFIGURED"}),
        write("new", accessPolicy={**DENIED, "sharePolicy": "KNOWLEDGE_GENE"}),
    ],
    "MEMORY_QUOTA_EXCEEDED": [write("big", bytes(200))],
    "MEMORY_INVALID_INPUT": [
        Call("read", b""),
        Call("read", b"{"),
        Call("read", b"\xff\xfe"),
        Call("read", "null"),
        Call("read", "[]"),
        Call("read", {"key": ""}),
        Call("read", {"key": 1}),
        Call("read", {"key": "a", "other": 1}),
        Call("read", {"key": "a", "category": None}),
        Call("read", b'{"key":"\\ud800"}'),
        Call("read", {"key": "x" * 1_025}),
        Call("read", b"[" * 5_000),
        Call("write", {"key": "a", "category": "CACHE"}),
        Call("write", {"key": "a", "category": "CACHE", "value": None}),
        Call("write", {"key": "a", "category": "CACHE", "value": "aGk"}),
        Call("write", {"key": "a", "category": "CACHE", "value": "aGl="}),
        Call("write", {"key": "a", "category": "CACHE", "value": "aG\nk="}),
        Call("write", {"key": "a", "category": "cache", "value": "aGk="}),
        Call("write", {"value": "aGk="}),
        Call("write", {"key": "a", "category": "CACHE", "value": "", "retentionPolicy": {}}),
        Call("query", {"limit": 0}),
        Call("query", {"limit": 1_001}),
        Call("query", {"since": "yesterday"}),
        Call("query", {"mine": True}),
        Call("query", "1"),
        Call("delete", {}),
        Call("delete", {"key": "a", "category": "CACHE"}),
    ],
    "MEMORY_NOT_FOUND": [Call("delete", {"key": "none"})],
}


@pytest.mark.parametrize(("code", "calls"), TABLE.items(), ids=list(TABLE))
def test_the_codes_of_refusals(call, sandbox, code, calls):
    """Each refusal has its number, and its code and message in the envelope in out."""
    sandbox.memory.write(Caller(OTHER, "other"), "theirs", b"", "PREFERENCE", DENIED)
    sandbox.memory.quota_bytes = 100

    for result, text in call(*calls):
        assert (ERROR_CODES[code].wasm_number, code) == (result, envelope(text))


class Broken:
    """A door behind which everything fails."""

    closed = False

    def __init__(self, error):
        self.error = error

    def perform(self, op, request, value=ABSENT):
        """Fail."""
        raise self.error


@pytest.mark.parametrize("error", [StorageError("the disk is gone"), ZeroDivisionError(), MemoryError(), RecursionError()])  # fmt: skip
@pytest.mark.parametrize("op", ["read", "write", "query", "delete"])
def test_a_store_that_fails(call, error, op):
    """A store that fails, and any exception of ours, are -13: none comes out of the module."""
    [(result, text)] = call(Call(op, "{}"), door=Broken(error))

    assert (-13, "MEMORY_STORAGE_ERROR") == (result, envelope(text))


def test_a_fault_of_ours_is_told(call, sandbox, monkeypatch):
    """What fails inside the engine is told to whoever runs the gene."""
    monkeypatch.setattr(sandbox.memory, "query", lambda *_: 1 / 0)

    [(result, _)] = call(Call("query"))
    assert -13 == result
    assert ["memory query failed inside: ZeroDivisionError: division by zero"] == sandbox.faults


@pytest.mark.parametrize("op", ["read", "write", "query", "delete"])
def test_outside_an_agent(call, closed_door, op):
    """Every call of a gene that no agent runs is denied, whatever it asks."""
    for request in ('{"key":"k"}', "{}", ""):
        [(result, text)] = call(Call(op, request), door=closed_door)
        assert (-2, "MEMORY_ACCESS_DENIED") == (result, envelope(text))


@pytest.mark.parametrize(
    "made",
    [Call("read", {"key": "k"}), write("k"), Call("query"), Call("delete", {"key": "k"})],
    ids=["read", "write", "query", "delete"],
)
def test_without_an_identity(call, sandbox, made):
    """Every call of a gene without a v2 identity is denied."""
    [(result, text)] = call(made, door=sandbox.door(v2_id=None))

    assert (-2, "MEMORY_ACCESS_DENIED") == (result, envelope(text))


# ---- -1, and the answer that is kept


def test_an_answer_that_does_not_fit(call, sandbox):
    """-1 says how much room it takes; the same call with more room gets it."""
    stored, small, again, other = call(
        write("k", bytes(200)),
        Call("read", {"key": "k"}, 200),
        Call("read", {"key": "k"}, 2_000),
        Call("read", {"key": "k"}, 2_000),
    )

    assert (-1, "MEMORY_INVALID_INPUT") == (small[0], envelope(small[1]))
    assert f"the answer is {stored[0]:,} bytes; outCap is 200" in small[1]
    assert stored == again == other


def test_a_write_that_does_not_fit_has_happened(call, sandbox):
    """The write is done once: the answer is kept for the same request, byte for byte."""
    small, again, new = call(write("k", room=0), write("k"), write("k"))

    assert -1 == small[0]
    first, second = (json.loads(text) for _, text in (again, new))
    assert first["createdAt"] == first["updatedAt"] == second["createdAt"]
    order = sandbox.memory.read(Caller(V2, "code"), "k").order
    assert 2 == order  # one update for two calls, and one for the third


@pytest.mark.parametrize("room", [0, 1, 100])
def test_kept_until_it_fits(call, sandbox, room):
    """A second call with too little room leaves the answer where it is."""
    results = call(write("k", room=0), write("k", room=room), write("k"))

    assert [-1, -1, True] == [results[0][0], results[1][0], results[2][0] > 0]
    assert 1 == sandbox.memory.read(Caller(V2, "code"), "k").order


@pytest.mark.parametrize(
    "between",
    [
        Call("read", {"key": "other"}),
        Call("read", '{"key":"k" }'),
        Call("query", '{"key":"k","value":"dg==","category":"CONTEXT"}'),
        Call("read", at=2**31, size=1),
        Call("read", b"{"),
        write("k", b"w"),
    ],
)
def test_any_other_request_drops_it(call, sandbox, between):
    """After any other request, good or bad, the call is a new one."""
    call(write("k", room=0), between, write("k"))

    assert sandbox.memory.read(Caller(V2, "code"), "k").order >= 2


def test_kept_is_of_its_call(call, sandbox):
    """The same bytes to another of the four calls are another request."""
    sandbox.memory.write(Caller(V2, "code"), "k", b"v", "CACHE")

    small, deleted, gone = call(Call("read", {"key": "k"}, 0), Call("delete", {"key": "k"}), Call("read", {"key": "k"}))  # fmt: skip
    assert (-1, "null", "null") == (small[0], deleted[1], gone[1])


def test_kept_is_of_its_run(sandbox):
    """What did not fit in one run is not there in the next one."""
    gene = sandbox.load(calling([write("k", room=0)]))
    for _ in range(3):
        gene.run(b"{}", time_limit=5)

    assert 3 == sandbox.memory.read(Caller(V2, "code"), "k").order


# ---- the envelope


def room_for(call_, made, room):
    """What is in out when an error has so much room; the byte behind it belongs to the module."""
    [(result, text)] = call_(Call(made.op, made.request, room))
    return result, text


def test_the_envelope_with_and_without_room(call, sandbox):
    """Room for the envelope alone: no NUL; less: nothing is written; more: a NUL that none counts."""
    made = Call("delete", {"key": "none"})
    size = len(room_for(call, made, 4_096)[1]) - 1

    for room, expected in ((size - 1, ""), (size, "}"), (size + 1, "\0"), (0, "")):
        result, text = room_for(call, made, room)
        assert (-12, expected) == (result, text[-1:])
        assert len(text) in {0, size, size + 1}


def test_the_envelope_as_the_answer(sandbox):
    """A gene may give the pointer to the envelope as its own output."""
    wat = calling([Call("delete", {"key": "none"})]).replace(
        "(i32.const 100)) )", f"(i32.const {2 * PAGE})) )"
    )

    output = sandbox.run(wat)
    assert "MEMORY_NOT_FOUND" == output["__rotifer_error"]["code"]


# ---- -4


def test_after_the_deadline(sandbox, monkeypatch):
    """Once the run's time is used up a call answers -4, does nothing, and writes nothing."""
    times = [0.0]
    monkeypatch.setattr(_wasm_run, "monotonic", lambda: times[0])
    monkeypatch.setattr(api, "increment_epoch", lambda: None)  # or it might be ended before

    class Slow:
        asked, closed = 0, False

        def perform(self, op, request, value=ABSENT):
            self.asked += 1
            times[0] = 100.0

    door = Slow()
    with pytest.raises(RunTimedOut, match="timed out after 50000 ms"):
        sandbox.run(calling([Call("query"), Call("query", room=9)]), door=door, time_limit=50)
    assert 1 == door.asked
    assert ["4", "-4", "#" * 10] == [sandbox.logged[i][1] for i in (0, 2, 3)]


LATE = f"""
(module (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (import "env" "log" (func $log (param i32 i32)))
  (memory (export "memory") 1) (data (i32.const 100) "-4")
  (func (export "express") (param i32 i32) (result i32)
    {"(drop (i32.const 1))" * 500}
    (if (i32.eq (i32.const -4) (call $query (i32.const 0) (i32.const 0) (i32.const 8) (i32.const 64)))
      (then (call $log (i32.const 100) (i32.const 2))))
    (loop (br_if 0 (i32.const 1)))
    (i32.const 0)))
"""


def test_without_fuel(sandbox):
    """A call that is made when the fuel is at its end answers -4."""
    with pytest.raises(GeneFailed, match="fuel exhausted"):
        sandbox.run(LATE, fuel=100)
    assert [("g", "-4")] == sandbox.logged


# ---- what is recorded


def test_a_kept_answer_is_recorded_once(bench):
    """On an agent's own memory: one line for a write whose answer had to be asked for again."""
    wat = calling([write("k", room=0), write("k"), write("k"), Call("delete", {"key": "none"})])
    bench.gene("g", {"gene.ir.wasm": wasm(wat)}, inputSchema=True, outputSchema=True)
    bench.record(1, genome=["g"])
    with bench.project().agent("keeper") as agent:
        agent.run({})

    lines = [json.loads(line) for line in bench.text(".rotifer/audit.jsonl").splitlines()]
    assert ["memory.create", "memory.update"] == [line["action"] for line in lines]
