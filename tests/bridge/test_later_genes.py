"""The processes of later genes start while one works (design §5a)."""

from __future__ import annotations

import pytest

from rotifer_bridge import GeneError

WRITES = """
export function express(input, { memory }) {
  memory.writeMemory('NAME', new Uint8Array(1), 'CACHE');
  return input;
}"""


def test_a_fault_of_a_later_gene_is_said_in_its_time(bench):
    """What is wrong with a gene keeps the one before it from running, and no other."""
    for name in ("one", "two", "three"):
        bench.gene(name, {"index.mjs": WRITES.replace("NAME", name)})
    bench.gene("four", {"index.mjs": "export const = 1;"})
    bench.record(1, genome=["one", "two", "three", "four"])

    with bench.project().agent("keeper") as agent:
        with pytest.raises(GeneError, match="'four' could not be loaded"):
            agent.run({})
        written = {entry.key for entry in agent.memory.list()}

    assert {"one", "two"} == written
