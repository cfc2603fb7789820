"""What a query gives a gene: whole entries, each its own, whatever stands once on the wire."""

from __future__ import annotations

import json

GENE = """
const bytes = (text) => new TextEncoder().encode(text);
const texts = (entries) => entries.map((entry) => ({ ...entry, value: new TextDecoder().decode(entry.value) }));
export function express({ write, spoil }, { memory }) {
  const open = { readScope: 'ALL_GENES', writeScope: 'SAME_DOMAIN', sharePolicy: 'PRIVATE' };
  const days = { maxRetentionDays: 7, autoDeleteOnTermination: true, anonymizationSupported: false };
  if (write) {
    memory.writeMemory('plain', bytes('1'), 'PREFERENCE');
    memory.writeMemory('ключ "\\\\', bytes(''), 'CACHE', open);
    memory.writeMemory('kept', bytes('x'.repeat(70_000)), 'PATTERN', open, days);
    memory.writeMemory('kept too', bytes('4'), 'PATTERN', open, days);
  }
  const entries = memory.queryMemory();
  if (spoil) {
    entries[0].accessPolicy.readScope = 'NOBODY';
    entries[0].retentionPolicy.maxRetentionDays = 0;
    entries[0].value.fill(0);
  }
  return texts(entries);
}
"""


def test_entries_of_a_query_are_whole_and_apart(bench):
    """Every field as the memory has it; a gene that changes one entry changes no other."""
    for name in ("one", "two"):
        bench.gene(name, {"index.mjs": GENE})
    bench.record(1, "first", genome=["one"])
    bench.record(2, "second", genome=["two"])
    project = bench.project()

    with project.agent("first") as agent:
        made = agent.run({"write": True}).output
        spoiled = agent.run({"spoil": True}).output
        stored = list(agent.memory.list())

    assert ["kept too", "kept", 'ключ "\\', "plain"] == [entry["key"] for entry in made]
    assert ["4", "x" * 70_000, "", "1"] == [entry["value"] for entry in made]
    assert {entry.key: entry.entry_id for entry in stored} == {e["key"]: e["entryId"] for e in made}
    for entry in stored:
        [given] = [one for one in made if one["key"] == entry.key]
        retention = entry.retention_policy
        assert entry.category == given["category"]
        assert (entry.created_by, entry.last_accessed_by) == (given["createdBy"], given["lastAccessedBy"])  # fmt: skip
        assert entry.access_policy.to_json() == given["accessPolicy"]
        assert (retention and retention.to_json()) == given["retentionPolicy"]
    assert "NOBODY" == spoiled[0]["accessPolicy"]["readScope"]
    assert json.dumps(made[1:]) == json.dumps(spoiled[1:])
