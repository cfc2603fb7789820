"""The vectors shared with the engine (tests/vectors), asked by a gene through the whole bridge."""

from __future__ import annotations

import json
import os
import time

import pytest

from rotifer_engine import AgentMemory, AuditLog, Caller, SqliteStore, Telemetry

FOLDER = os.path.join(os.path.dirname(__file__), "..", "vectors")
AGENT = "00000000-0000-4000-8000-000000000001"
NAMES = ("keys", "prefixes", "values", "limits", "times")

SOURCE = """
import keys from './keys.json' with { type: 'json' };
import prefixes from './prefixes.json' with { type: 'json' };
import values from './values.json' with { type: 'json' };
import limits from './limits.json' with { type: 'json' };
import times from './times.json' with { type: 'json' };

type Answer = { why: string; code?: string; message?: string; result?: unknown };

const text = (t: any) =>
  Array.isArray(t) ? t.map(([part, times]) => part.repeat(times)).join('') : t;
const number = (n: any) => (n?.number === undefined ? n : Number(n.number));
const blob = (parts: [string, number][]) =>
  new Uint8Array(Buffer.concat(parts.map(([hex, n]) => Buffer.alloc(hex.length / 2 * n, hex, 'hex'))));
const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
const bytes = (s: string) => Buffer.byteLength(s, 'utf8');
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export function express({ file }: { file: string }, { memory }: any) {
  const ask = (vector: any, call: () => unknown): Answer => {
    try {
      return { why: vector.why, result: call() };
    } catch (error: any) {
      return { why: vector.why, code: error.code, message: error.message };
    }
  };
  const all = (file: any, call: (vector: any) => unknown) => ({
    accept: file.accept.map((vector: any) => ask(vector, () => call(vector))),
    refuse: file.refuse.map((vector: any) => ask(vector, () => call(vector))),
  });
  const none = new Uint8Array(0);
  const runs: Record<string, () => unknown> = {
    keys: () => {
      const answers = [
        all(keys, ({ text: t }) => memory.writeMemory(text(t), none, 'PREFERENCE').key === text(t)),
        all(keys, ({ text: t }) => {
          const key = memory.readMemory(text(t))?.key;
          return key === text(t) && bytes(key);
        }),
        all(keys, ({ text: t }) => {
          const key = text(t);
          return memory.queryMemory({ keyPrefix: key }).some((entry: any) => entry.key === key);
        }),
        all(keys, ({ text: t }) => (memory.deleteMemory(text(t)), memory.readMemory(text(t)))),
      ];
      return answers;
    },
    prefixes: () => {
      for (const key of prefixes.keys) memory.writeMemory(key, none, 'CACHE');
      return all(prefixes, ({ prefix }) =>
        memory.queryMemory({ keyPrefix: text(prefix) }).map((e: any) => e.key).sort(byBytes));
    },
    values: () =>
      all(values, ({ hex }) => {
        const value = blob(hex);
        return [
          memory.writeMemory('k', value, 'CACHE').value,
          memory.readMemory('k').value,
          memory.queryMemory({ keyPrefix: 'k' })[0].value,
        ].every((back) => back.constructor === Uint8Array && same(back, value)) && value.length;
      }),
    limits: () =>
      all(limits, (vector) =>
        memory.queryMemory('limit' in vector ? { limit: number(vector.limit) } : undefined).length),
    times: () => {
      memory.writeMemory('k', none, 'CACHE');
      return [
        all(times, ({ text: since }) => memory.queryMemory({ since }).length),
        all(times, ({ text: until }) => memory.queryMemory({ until }).length),
      ];
    },
  };
  return runs[file]();
}
"""


def fill(bench):
    """More entries than any limit, written by somebody who does not wait for the disk."""
    audit = AuditLog(bench.path(".rotifer/audit.jsonl"))
    telemetry = Telemetry(bench.path(".rotifer/telemetry.jsonl"))
    everyone = {"readScope": "ALL_GENES", "writeScope": "ALL_GENES", "sharePolicy": "PRIVATE"}
    with SqliteStore(bench.path(".rotifer/playground.db"), durable=False) as store:
        memory = AgentMemory(store, AGENT, audit=audit, telemetry=telemetry)
        for number in range(1_001):
            memory.write(Caller("v2:" + "0" * 64, None), f"{number}", b"", "CACHE", everyone)
    audit.close()


@pytest.fixture
def run(bench):
    """Run a file's vectors in a gene: the file, and the gene's answers."""
    files = {"index.ts": SOURCE}
    for name in NAMES:
        with open(os.path.join(FOLDER, f"{name}.json"), encoding="ascii") as file:
            files[f"{name}.json"] = file.read()
    bench.gene("asker", files)
    bench.record(1, genome=["asker"])

    def run(name):
        if name == "limits":
            fill(bench)
        with bench.project().agent("keeper") as agent:
            return json.loads(files[f"{name}.json"]), agent.run({"file": name}).output

    return run


def refused(vectors, answers, *, says=True):
    """Every one of the vectors was answered with the code and the words for it."""
    assert len(vectors["refuse"]) == len(answers["refuse"])
    for vector, answer in zip(vectors["refuse"], answers["refuse"], strict=True):
        assert answer.get("code") == "MEMORY_INVALID_INPUT", (vector["why"], answer)
        assert not says or vector.get("says", "") in answer["message"], vector["why"]


def accepted(answers):
    """The results of the accepted vectors; none was refused."""
    assert [] == [answer for answer in answers["accept"] if "code" in answer]
    return [answer["result"] for answer in answers["accept"]]


def test_keys(run):
    """Kept as given by each of the four calls, or refused by each."""
    vectors, (written, read, queried, deleted) = run("keys")

    assert {True} == set(accepted(written))
    assert [vector["bytes"] for vector in vectors["accept"]] == accepted(read)
    assert {True} == set(accepted(queried))
    assert {None} == set(accepted(deleted))
    for answers in (written, read, deleted):
        refused(vectors, answers)


def test_prefixes(run):
    """The range of bytes, whatever the prefix."""
    vectors, answers = run("prefixes")

    assert [vector["matches"] for vector in vectors["accept"]] == accepted(answers)
    refused(vectors, answers)


def test_values(run):
    """Every byte comes back from each call, in a plain array."""
    vectors, answers = run("values")

    assert [vector["bytes"] for vector in vectors["accept"]] == accepted(answers)
    refused(vectors, answers)


def test_limits(run):
    """So many entries, or a refusal; numbers that JSON cannot write included."""
    vectors, answers = run("limits")

    assert [vector["is"] for vector in vectors["accept"]] == accepted(answers)
    refused(vectors, answers)


def test_times(run):
    """An entry of now is since every time of the past and until every one of the future."""
    vectors, (since, until) = run("times")
    past = [int(vector["ms"] < time.time() * 1_000) for vector in vectors["accept"]]

    assert past == accepted(since)
    assert [1 - there for there in past] == accepted(until)
    refused(vectors, since)
    refused(vectors, until)
