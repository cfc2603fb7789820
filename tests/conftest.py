"""Projects made for one test."""

from __future__ import annotations

import json
import os
import signal

import pytest

from rotifer_bridge._node import find_node

OPEN = {"type": "object"}

# The strongest sandbox of the machine, as always; who names it is not told once where it is weaker.
os.environ.setdefault("ROTIFER_SANDBOX", "bubblewrap")

# A shell starts `make test &` with Ctrl-C ignored, and so is every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def node_path():
    """The Node that the product would use."""
    return find_node(None).path


def put(path, data, mode=None):
    """Write a file, its folders too; anything that is not text or bytes as JSON."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not isinstance(data, (str, bytes)):
        data = json.dumps(data)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    if mode is not None:
        os.chmod(path, mode)
    return path


def phenotype(**fields):
    """A phenotype with what every phenotype needs."""
    return {
        "domain": "code",
        "inputSchema": OPEN,
        "outputSchema": OPEN,
        "version": "0.1.0",
        **fields,
    }


class Bench:
    """A project folder, and quick ways to put genes and records into it."""

    def __init__(self, root):
        self.root = str(root)
        put(self.path("rotifer.json"), {"name": "bench", "genes_dir": "genes"})
        os.makedirs(self.path("genes"))

    def path(self, *parts):
        """A path inside the project."""
        return os.path.join(self.root, *parts)

    def text(self, relative):
        """What a file of the project holds."""
        with open(self.path(relative), encoding="utf-8", newline="") as file:
            return file.read()

    def put(self, relative, data, mode=None):
        """Write a file of the project."""
        return put(self.path(relative), data, mode)

    def gene(self, name, files=None, wrapped=True, **fields):
        """Make a gene: a phenotype, its files, and a manifest when it is wrapped."""
        self.put(f"genes/{name}/phenotype.json", phenotype(**fields))
        for path, data in (files or {"index.ts": "export const express = (x) => x;\n"}).items():
            self.put(f"genes/{name}/{path}", data)
        if wrapped:
            self.put(f"genes/{name}/.gene-manifest.json", {"name": name})
        return self.path("genes", name)

    def record(self, number, name="keeper", genome=("a",), **fields):
        """Write an agent's record by hand, as the reference leaves it."""
        agent_id = f"00000000-0000-4000-8000-{number:012d}"
        return self.put(
            f".rotifer/agents/{agent_id}.json",
            {
                "id": agent_id,
                "name": name,
                "state": "Active",
                "genome": list(genome) if isinstance(genome, tuple) else genome,
                "composition": {"type": "Seq"},
                "strategy": "manual",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "reputation": 0,
                **fields,
            },
        )

    def project(self):
        """The project as the product reads it."""
        from rotifer_bridge._project import Project

        return Project(self.root)


@pytest.fixture
def bench(tmp_path):
    """An empty project whose path holds what paths may hold."""
    root = tmp_path / "a b #%41? ü"
    root.mkdir()
    return Bench(root)
