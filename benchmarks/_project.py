"""The project that the benchmarks run: one gene that measures, and some that do nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from rotifer_bridge import Project

__all__ = ["bench_project"]

MEASURE = """
export function express({ call, size = 0, count = 0, among = 1 }, { memory }) {
  const value = new Uint8Array(size).fill(97);
  const prefix = `bench/${size}/`;
  const digits = (n, width) => String(n).padStart(width, '0');
  const keyOf = (n) => `group${digits(Math.floor(n / 200), 4)}/${digits(n, 7)}`;
  const any = () => keyOf(Math.floor(Math.random() * among));
  const fresh = (i) => { value[i % size] = i; return value; };
  const calls = {
    fill: (i) => memory.writeMemory(`bench/fill/${i % 1000}`, value, 'CONTEXT'),
    read: () => memory.readMemory(`${prefix}0`),
    write: (i) => memory.writeMemory(`${prefix}${i % 10}`, fresh(i), 'CONTEXT'),
    query: () => memory.queryMemory({ keyPrefix: 'bench/fill/', limit: 1000 }),
    any: () => memory.readMemory(any()),
    model: () => memory.writeMemory('model', value, 'CACHE'),
  };
  if (call === 'read') calls.write(0);
  const times = [];
  const before = Math.ceil(count / 5);
  for (let i = 0; i < count + before; i += 1) {
    const start = process.hrtime.bigint();
    const got = calls[call](i);
    if (i >= before) times.push(Number(process.hrtime.bigint() - start) / 1000);
    if (got === null) throw new Error('nothing is there');
  }
  return times;
}
"""

IDLE = "export function express(input: unknown): unknown {\n  return input;\n}\n"

#: name of the agent -> its genes. Two memories of one kind, to be filled differently.
AGENTS = {
    "bench": ["measure"],
    "thousand": ["measure"],
    "million": ["measure"],
    "one": ["idle1"],
    "five": [f"idle{number}" for number in range(1, 6)],
}


def bench_project(folder: str) -> Project:
    """Make the project, with all its agents."""
    genes = {"measure": {"index.mjs": MEASURE}}
    genes |= {f"idle{number}": {"index.ts": IDLE} for number in range(1, 6)}
    put(os.path.join(folder, "rotifer.json"), '{"name": "bench"}')
    for name, files in genes.items():
        for path, text in files.items():
            put(os.path.join(folder, "genes", name, path), text)
        rotifer(folder, "wrap", name, "-d", "bench")
    for name, genome in AGENTS.items():
        chosen = [part for gene in genome for part in ("-g", gene)]
        rotifer(folder, "agent", "create", name, *chosen, "--memory-quota", "1GB")
    return Project.find(folder)


def put(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def rotifer(folder: str, *arguments: str) -> None:
    """Run a command in the project, which must succeed."""
    subprocess.run(
        [sys.executable, "-m", "rotifer_bridge", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
