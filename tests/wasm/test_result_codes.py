"""Every result of a memory call (wasm-genes §3), reached from a module of each kind."""

from __future__ import annotations

import gc
import os

import pytest
from tests.genes import building, modules

from rotifer_bridge import RotiferError, RunTimedOut
from rotifer_engine import ERROR_CODES

ROOM = 4_096
KEPT = {"key": "k", "value": "AQID", "category": "CONTEXT"}


@pytest.fixture(params=building.RELAYS)
def ask(bench, request):
    """Make calls from the relay of one kind: ``(op, request)`` or ``(op, request, room)``."""
    files = building.relay_files(request.param)
    for name, domain in (("insider", "code"), ("outsider", "other")):
        bench.gene(name, files, domain=domain, inputSchema=True, outputSchema=True)

    def call(*asked, gene="insider", **fields):
        settings = {name: fields.pop(name) for name in ("time_limit", "on_log") if name in fields}
        given = [part for op, what, *room in asked for part in (op, room[0] if room else ROOM, what)]  # fmt: skip
        bench.record(1, genome=[gene], **fields)
        with bench.project().agent("keeper") as agent:
            return agent.run(given, **settings).output

    call.bench = bench
    return call


def told(answer):
    """The code in an envelope."""
    [(name, error)] = answer.items()
    assert "__rotifer_error" == name
    assert {"code", "message"} == error.keys()
    return error["code"]


def test_an_answer(ask):
    """Zero or more is the length of the answer: an entry, a list, null."""
    results = ask(("write", KEPT), ("read", {"key": "k"}), ("read", {"key": "x"}), ("query", "null"), ("query", ""), ("delete", {"key": "k"}), ("query", {}))  # fmt: skip

    numbers, answers = zip(*results, strict=True)
    assert answers[0]["entryId"] == answers[1]["entryId"]
    assert [4, None] == results[2]
    assert [[answers[1]]] * 2 == [*answers[3:5]]
    assert [[4, None], [2, []]] == results[5:]
    assert all(number > 0 for number in numbers)


def test_no_room(ask):
    """-1: the answer does not fit; the envelope says so where it fits itself, and the answer is kept."""
    results = ask(
        ("write", KEPT, 10),  # done, though its answer does not fit
        ("write", KEPT, ROOM),  # the same bytes: the answer that was kept
        ("read", {"key": "k"}, 0),
        ("read", {"key": "k"}, 300),
        ("read", {"key": "k"}, ROOM),
        ("write", KEPT, 10),  # done
        ("read", {"key": "k"}, ROOM),  # another request: what was kept is dropped
        ("write", KEPT, ROOM),  # done once more
    )

    assert [-1, -1, -1, -1] == [results[i][0] for i in (0, 2, 3, 5)]
    assert [None, None] == [results[0][1], results[2][1]]
    assert "MEMORY_INVALID_INPUT" == told(results[3][1])
    assert "k" == results[1][1]["key"] == results[4][1]["key"] == results[7][1]["key"]
    actions = ask.bench.text(".rotifer/audit.jsonl").count('"memory.update"')
    assert 2 == actions
    assert 1 == ask.bench.text(".rotifer/audit.jsonl").count('"memory.create"')


def test_denied(ask):
    """-2: outside the entry's scope."""
    ask(("write", KEPT))

    results = ask(("read", {"key": "k"}), ("write", KEPT), ("delete", {"key": "k"}), gene="outsider")  # fmt: skip

    assert [-2] * 3 == [number for number, _ in results]
    assert {"MEMORY_ACCESS_DENIED"} == {told(answer) for _, answer in results}


def test_quota_exceeded(ask):
    """-8: no room in the memory, even after eviction."""
    [[number, answer]] = ask(("write", {**KEPT, "value": "A" * 2_000}), memoryQuotaBytes=1_024)

    assert (-8, "MEMORY_QUOTA_EXCEEDED") == (number, told(answer))


INVALID = {
    "an empty request": ("read", ""),
    "no JSON": ("read", "nonsense"),
    "no object": ("read", [1]),
    "null for a read": ("read", "null"),
    "an unknown field": ("read", {"key": "k", "x": 1}),
    "no key": ("delete", {}),
    "no value": ("write", {"key": "k", "category": "CACHE"}),
    "no category": ("write", {"key": "k", "value": ""}),
    "no base64": ("write", {**KEPT, "value": "AQI"}),
    "base64 that is not canonical": ("write", {**KEPT, "value": "AQJ="}),
    "base64 for URLs": ("write", {**KEPT, "value": "_-8="}),
    "a value that is null": ("write", {**KEPT, "value": None}),
    "a policy that is null": ("write", {**KEPT, "accessPolicy": None}),
    "a filter's unknown field": ("query", {"prefix": "a"}),
    "a limit of zero": ("query", {"limit": 0}),
    "a limit that is no integer": ("query", {"limit": 1.5}),
    "a query that is an array": ("query", []),
}


def test_invalid_input(ask):
    """-10: each wrong request, with the reason."""
    results = ask(*INVALID.values())

    wrong = {
        what: result
        for what, result in zip(INVALID, results, strict=True)
        if result[0] != -10 or told(result[1]) != "MEMORY_INVALID_INPUT"
    }
    assert {} == wrong


def test_not_found(ask):
    """-12: deleting what is not there."""
    [[number, answer]] = ask(("delete", {"key": "never"}))

    assert (-12, "MEMORY_NOT_FOUND") == (number, told(answer))


def test_storage_error(ask):
    """-13: the store cannot be used; the run goes on, and nothing else takes the store's place."""
    ask(("write", KEPT))
    gc.collect()  # the last user of a database writes its log back: not into what comes now
    folder = ask.bench.path(".rotifer")
    for name in os.listdir(folder):
        if name.startswith("playground.db-"):
            os.unlink(os.path.join(folder, name))
    ask.bench.put(".rotifer/playground.db", b"this is no database " * 100)

    results = ask(("read", {"key": "k"}), ("write", KEPT))

    assert [-13, -13] == [number for number, _ in results]
    assert {"MEMORY_STORAGE_ERROR"} == {told(answer) for _, answer in results}


def test_used_up(ask):
    """-4: the time is used up; there is no envelope, and nothing is done."""
    seen = []
    for _ in range(100):  # the clock may end the run before it comes to the call
        try:
            results = ask(("write", KEPT), time_limit=1e-6, on_log=lambda _, line: seen.append(line))  # fmt: skip
        except RunTimedOut:
            pass
        else:
            assert [[-4, None]] == results
        if seen:
            break

    assert ["-4"] == seen
    assert not os.path.exists(ask.bench.path(".rotifer", "audit.jsonl"))


def test_every_code_is_among_these():
    """The numbers of the errors are those of the engine's table."""
    assert {-2, -8, -10, -12, -13} == {code.wasm_number for code in ERROR_CODES.values()}


def test_an_envelope_may_be_the_answer(bench):
    """A gene that returns the pointer to it has refused its input, in the engine's words."""
    request = '{"key":"never"}'
    module = modules.gene(
        f"(drop (call $delete (i32.const 65536) (i32.const {len(request)})"
        " (i32.const 70000) (i32.const 4000))) (i32.const 70000)",
        modules.text(65536, request),
    )
    bench.gene("g", {"gene.ir.wasm": module})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(RotiferError) as caught:
        agent.run({})

    assert "gene 'g' refused: INVALID_INPUT: there is no entry with the key 'never'" == caught.value.message  # fmt: skip
