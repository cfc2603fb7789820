"""Every row of memory §8, reached from TypeScript: code, name and class (memory §8)."""

from __future__ import annotations

import json
import os

import pytest

SOURCE = """
import { MemoryError } from '@rotifer/playground/memory';

const text = (s: string) => new TextEncoder().encode(s);

export function express({ call, args = [] }: any, { memory }: any) {
  const ready = args.map((a: any) => {
    if (a === null || typeof a !== 'object') return a;
    if ('bytes' in a) return new Uint8Array(a.bytes);
    if ('text' in a) return text(a.text);
    if ('js' in a) return (0, eval)(a.js);
    return a;
  });
  try {
    const result = memory[call](...ready);
    const sizes = [result].flat().map((entry: any) => entry?.value?.length ?? 0);
    if (sizes[0] > 1e5) return { ok: sizes };
    return { ok: result === undefined ? 'undefined' : result === null ? null : JSON.parse(JSON.stringify(result)) };
  } catch (e: any) {
    return { code: e.code, name: e.name, own: e instanceof MemoryError, error: e instanceof Error, message: e.message };
  }
}
"""


@pytest.fixture
def ask(bench):
    """Call the memory from a gene; by default as gene ``caller`` of domain ``code``."""
    genes = {
        "caller": {"domain": "code"},
        "sibling": {"domain": "code"},
        "stranger": {"domain": "other"},
        "nobody": {"domain": "code", "wrapped": False},
    }
    for name, fields in genes.items():
        bench.gene(name, {"index.ts": SOURCE + f"// {name}"}, **fields)
    agent_id = "00000000-0000-4000-8000-000000000001"
    agents = []

    def record(name, **fields):
        bench.record(1, name="keeper", genome=[name], **fields)

    def call(name, *args, gene="caller", **fields):
        record(gene, **fields)
        with bench.project().agent("keeper") as agent:
            agents.append(agent)
            return agent.run({"call": name, "args": list(args)}).output

    call.bench = bench
    call.agent_id = agent_id
    return call


def failure(code, answer):
    """The answer is a MemoryError with this code; gives its message."""
    assert {"code": code, "name": "MemoryError", "own": True, "error": True} == {
        k: v for k, v in answer.items() if k != "message"
    }
    return answer["message"]


POLICY = {"readScope": "CREATOR_GENE_ONLY", "writeScope": "CREATOR_GENE_ONLY", "sharePolicy": "PRIVATE"}  # fmt: skip
RETENTION = {"maxRetentionDays": 7, "autoDeleteOnTermination": False, "anonymizationSupported": False}  # fmt: skip


def test_not_found(ask):
    """Deleting a key never written is MEMORY_NOT_FOUND."""
    assert "never/written" in failure("MEMORY_NOT_FOUND", ask("deleteMemory", "never/written"))


def test_denied_by_scope(ask):
    """A gene outside the entry's scope may not read, write or delete it."""
    ask("writeMemory", "k", {"text": "v"}, "PATTERN", POLICY)

    for call, args in (
        ("readMemory", ["k"]),
        ("writeMemory", ["k", {"text": "w"}, "PATTERN"]),
        ("deleteMemory", ["k"]),
    ):
        failure("MEMORY_ACCESS_DENIED", ask(call, *args, gene="sibling"))


def test_denied_to_change_a_policy(ask):
    """A gene that did not create the entry may not change its policy."""
    ask("writeMemory", "k", {"text": "v"}, "PATTERN")

    failure(
        "MEMORY_ACCESS_DENIED",
        ask("writeMemory", "k", {"text": "w"}, "PATTERN", POLICY, gene="sibling"),
    )


def test_denied_by_the_data_policy(ask):
    """Sharing needs a data policy that supports anonymization, retention one that allows it."""
    shared = {**POLICY, "sharePolicy": "KNOWLEDGE_GENE"}
    failure("MEMORY_ACCESS_DENIED", ask("writeMemory", "k", {"text": "v"}, "CACHE", shared))
    failure(
        "MEMORY_ACCESS_DENIED",
        ask("writeMemory", "k", {"text": "v"}, "CACHE", {"js": "undefined"}, RETENTION,
            dataPolicy={**RETENTION, "maxRetentionDays": 3}),
    )  # fmt: skip


def test_denied_without_an_identity(ask):
    """A gene that was never wrapped has no identity, so no memory."""
    for call, args in (
        ("readMemory", ["k"]),
        ("writeMemory", ["k", {"text": "v"}, "CACHE"]),
        ("queryMemory", []),
        ("deleteMemory", ["k"]),
    ):
        failure("MEMORY_ACCESS_DENIED", ask(call, *args, gene="nobody"))


def test_quota_exceeded(ask):
    """Without room even after eviction nothing is written, and the message has the figures."""
    message = failure(
        "MEMORY_QUOTA_EXCEEDED",
        ask("writeMemory", "k", {"text": "v" * 2000}, "CACHE", memoryQuotaBytes=1024),
    )

    assert "1,024" in message


INVALID = {
    "no arguments": ("readMemory", []),
    "an empty key": ("readMemory", [""]),
    "a key with NUL": ("readMemory", ["a\0b"]),
    "a long key": ("readMemory", ["k" * 1025]),
    "a very long key": ("readMemory", ["k" * 1_000_000]),
    "a key that is a number": ("readMemory", [5]),
    "a key that is null": ("readMemory", [None]),
    "a key that is an object": ("readMemory", [{"a": 1}]),
    "a key that is a symbol": ("readMemory", [{"js": "Symbol('x')"}]),
    "a key that is a BigInt": ("readMemory", [{"js": "5n"}]),
    "a key with a lone surrogate": ("readMemory", [{"js": "'a\\ud800b'"}]),
    "an unknown category": ("readMemory", ["k", "cache"]),
    "a category that is null": ("readMemory", ["k", None]),
    "a value that is text": ("writeMemory", ["k", "text", "CACHE"]),
    "a value that is null": ("writeMemory", ["k", None, "CACHE"]),
    "a value that is an array": ("writeMemory", ["k", [1, 2], "CACHE"]),
    "a value that is an ArrayBuffer": ("writeMemory", ["k", {"js": "new ArrayBuffer(2)"}, "CACHE"]),
    "a value that is a Uint16Array": ("writeMemory", ["k", {"js": "new Uint16Array(2)"}, "CACHE"]),
    "a value that was transferred": ("writeMemory", ["k", {"js": "(() => { const x = new Uint8Array(9); structuredClone(x, { transfer: [x.buffer] }); return x })()"}, "CACHE"]),
    "a value over 1 MiB": ("writeMemory", ["k", {"js": "new Uint8Array(1048577)"}, "CACHE"]),
    "no category": ("writeMemory", ["k", {"text": "v"}]),
    "a write of null for a category": ("writeMemory", ["k", {"text": "v"}, None]),
    "a null access policy": ("writeMemory", ["k", {"text": "v"}, "CACHE", None]),
    "a partial access policy": ("writeMemory", ["k", {"text": "v"}, "CACHE", {"readScope": "ALL_GENES"}]),
    "an unknown scope": ("writeMemory", ["k", {"text": "v"}, "CACHE", {**POLICY, "readScope": "EVERYONE"}]),
    "a policy with one field more": ("writeMemory", ["k", {"text": "v"}, "CACHE", {**POLICY, "x": 1}]),
    "a policy that is an array": ("writeMemory", ["k", {"text": "v"}, "CACHE", [1]]),
    "retention of 0 days": ("writeMemory", ["k", {"text": "v"}, "CACHE", POLICY, {**RETENTION, "maxRetentionDays": 0}]),
    "retention of 1.5 days": ("writeMemory", ["k", {"text": "v"}, "CACHE", POLICY, {**RETENTION, "maxRetentionDays": 1.5}]),
    "retention of NaN days": (
        "writeMemory",
        ["k", {"text": "v"}, "CACHE", POLICY,
         {"js": "({maxRetentionDays: NaN, autoDeleteOnTermination: false, anonymizationSupported: false})"}],
    ),
    "retention of two fields": ("writeMemory", ["k", {"text": "v"}, "CACHE", POLICY, {"maxRetentionDays": 1, "autoDeleteOnTermination": True}]),
    "a null filter": ("queryMemory", [None]),
    "a filter that is text": ("queryMemory", ["CACHE"]),
    "an unknown filter field": ("queryMemory", [{"prefix": "a"}]),
    "a filter field named like one of the bridge's": ("queryMemory", [{"op": "read", "run": 1}]),
    "a filter that is a Map": ("queryMemory", [{"js": "new Map([['limit', 1]])"}]),
    "a filter that is a Date": ("queryMemory", [{"js": "new Date()"}]),
    "a filter of a class": ("queryMemory", [{"js": "new (class A { limit = 1 })()"}]),
    "a filter with inherited fields": ("queryMemory", [{"js": "Object.create({ limit: 1 })"}]),
    "a filter with a symbol": ("queryMemory", [{"js": "({ [Symbol('limit')]: 1 })"}]),
    "a filter whose getter throws": ("queryMemory", [{"js": "({ get limit() { throw 1 } })"}]),
    "a filter that is a revoked Proxy": ("queryMemory", [{"js": "(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()"}]),
    "a value that is a revoked Proxy": ("writeMemory", ["k", {"js": "(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()"}, "CACHE"]),
    "a key that is a revoked Proxy": ("readMemory", [{"js": "(() => { const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy })()"}]),
    "a limit of 0": ("queryMemory", [{"limit": 0}]),
    "a limit of 1001": ("queryMemory", [{"limit": 1001}]),
    "a limit that is text": ("queryMemory", [{"limit": "5"}]),
    "a since that is no time": ("queryMemory", [{"since": "yesterday"}]),
    "a since that is null": ("queryMemory", [{"since": None}]),
    "a prefix with a lone surrogate": ("queryMemory", [{"js": "({keyPrefix: '\\udc00'})"}]),
    "a delete of nothing": ("deleteMemory", []),
}  # fmt: skip


def test_invalid_input(ask):
    """Wrong arguments of every kind are MEMORY_INVALID_INPUT, never a TypeError."""
    ask.bench.record(1, genome=["caller"])
    with ask.bench.project().agent("keeper") as agent:
        answers = {
            what: agent.run({"call": call, "args": args}).output
            for what, (call, args) in INVALID.items()
        }

    wrong = {k: v for k, v in answers.items() if v.get("code") != "MEMORY_INVALID_INPUT" or not v["own"]}  # fmt: skip
    assert {} == wrong


def test_too_much_at_once(ask):
    """A query whose answer is over 4 MiB fails and says what to do; never a part of it."""
    ask.bench.record(1, genome=["caller"], memoryQuotaBytes=10 * 1024 * 1024)
    with ask.bench.project().agent("keeper") as agent:
        for i in range(5):
            agent.run(
                {"call": "writeMemory", "args": [f"k{i}", {"js": "new Uint8Array(1e6)"}, "CACHE"]}
            )
        answer = agent.run({"call": "queryMemory", "args": [{}]}).output
        four = agent.run({"call": "queryMemory", "args": [{"limit": 4}]}).output

    message = failure("MEMORY_INVALID_INPUT", answer)
    assert "4,194,304" in message
    assert "limit" in message
    assert [1_000_000] * 4 == four["ok"]


def test_storage_error(ask):
    """A store that cannot be used is MEMORY_STORAGE_ERROR; there is no other store."""
    ask("writeMemory", "k", {"text": "v"}, "CACHE")
    database = ask.bench.path(".rotifer", "playground.db")
    for name in os.listdir(ask.bench.path(".rotifer")):
        if name.startswith("playground.db-"):
            os.unlink(ask.bench.path(".rotifer", name))
    with open(database, "wb") as file:
        file.write(b"this is no database " * 100)

    failure("MEMORY_STORAGE_ERROR", ask("readMemory", "k"))

    with open(database, "rb") as file:
        assert file.read() == b"this is no database " * 100


def test_an_audit_log_that_cannot_be_written_stops_the_write(ask):
    """No line, no change: the write is a storage error and the key is not there."""
    ask("writeMemory", "k", {"text": "v"}, "CACHE")
    audit = ask.bench.path(".rotifer", "audit.jsonl")
    os.rename(audit, audit + ".away")
    os.mkdir(audit)

    failure("MEMORY_STORAGE_ERROR", ask("writeMemory", "k2", {"text": "v"}, "CACHE"))

    os.rmdir(audit)
    os.rename(audit + ".away", audit)
    assert {"ok": None} == ask("readMemory", "k2")


def test_a_handle_of_an_earlier_run_is_denied(bench):
    """ctx.memory ends with its run, also for a gene that keeps it; the denial is on record."""
    bench.gene(
        "keeper",
        {
            "index.ts": """
            let kept;
            export function express(input, { memory }) {
              const first = kept; kept ??= memory;
              try { return (first ?? memory).writeMemory('k', new Uint8Array(1), 'CACHE').key } catch (e) { return e.code }
            }"""
        },
    )
    bench.record(1, genome=["keeper"])

    with bench.project().agent("keeper") as agent:
        outputs = [agent.run({}).output, agent.run({}).output]

    assert ["k", "MEMORY_ACCESS_DENIED"] == outputs
    with open(bench.path(".rotifer", "audit.jsonl")) as log:
        assert "MEMORY_ACCESS_DENIED" == json.loads(log.readlines()[-1])["code"]


def test_a_value_is_a_plain_array_of_its_own(bench):
    """Values come back as Uint8Array over a buffer of their own: nothing else can be seen in it."""
    bench.gene(
        "looker",
        {
            "index.ts": """
            export function express(input, { memory }) {
              const given = Buffer.from('0123456789').subarray(2, 5);
              const written = memory.writeMemory('k', given, 'CACHE');
              const read = memory.readMemory('k');
              const [found] = memory.queryMemory({ keyPrefix: 'k' });
              given[0] = 0;
              read.value[0] = 255;
              return [written, read, found, memory.readMemory('k')].map(({ value }) => [
                Object.getPrototypeOf(value) === Uint8Array.prototype, value.byteOffset, value.buffer.byteLength, ...value,
              ]);
            }"""
        },
    )
    bench.record(1, genome=["looker"])

    with bench.project().agent("keeper") as agent:
        output = agent.run({}).output

    intact = [True, 0, 3, 50, 51, 52]
    assert [intact, [True, 0, 3, 255, 51, 52], intact, intact] == output


def test_absent_and_null_stay_different(bench):
    """An absent retention policy keeps what is stored, null sets it back to the agent's."""
    bench.gene(
        "setter",
        {
            "index.ts": """
            export function express(input, { memory }) {
              const v = new Uint8Array(1);
              const days = { maxRetentionDays: 5, autoDeleteOnTermination: false, anonymizationSupported: false };
              return [
                memory.writeMemory('k', v, 'CACHE', undefined, days),
                memory.writeMemory('k', v, 'CACHE'),
                memory.writeMemory('k', v, 'CACHE', undefined, null),
              ].map((e) => e.retentionPolicy && e.retentionPolicy.maxRetentionDays);
            }"""
        },
    )
    bench.record(1, genome=["setter"])

    with bench.project().agent("keeper") as agent:
        output = agent.run({}).output

    assert [5, 5, None] == output
