"""Commands and services, each test's own or each module's."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest
from tests.conftest import Bench
from tests.service.running import Running

from rotifer_bridge._cli import run
from rotifer_bridge._tokens import TokenFile
from rotifer_engine import SystemClock

NOTES = """
let runs = 0;
export function express(input, { memory }) {
  if (input?.sleep) { memory.writeMemory('begun', new Uint8Array(1), 'CACHE'); const end = Date.now() + input.sleep; while (Date.now() < end); }
  if (input?.fail) throw new Error('as it was told');
  console.log('ran with', JSON.stringify(input));
  memory.writeMemory('last', new TextEncoder().encode(JSON.stringify(input)), 'CONTEXT');
  return { runs: ++runs, input };
}
"""


@pytest.fixture
def cli(bench, capsys, monkeypatch):
    """Run a command in the bench's folder, in this process: its exit code, stdout and stderr."""
    monkeypatch.chdir(bench.root)

    def call(*argv):
        capsys.readouterr()
        code = run(list(argv))
        return (code, *capsys.readouterr())

    return call


class Cell:
    """A project with two agents and tokens of every kind, and the services that serve it."""

    def __init__(self, root):
        self.bench = Bench(root)
        self.bench.gene("notes", {"index.js": NOTES}, domain="code.notes")
        self.bench.record(1, "keeper", ("notes",))
        self.bench.record(2, "other", ("notes",))
        os.makedirs(self.bench.path(".rotifer"), 0o700, exist_ok=True)
        self.tokens = TokenFile(self.bench.path(".rotifer", "tokens.json"))
        self.gene = self.bench.project().gene("notes").v2_id
        self.alice = self.token("actor", actor="alice", inside="agent-legal")
        self.bob = self.token("actor", actor="bob")
        self.admin = self.token("admin")
        self.deployer = self.token("deployer")
        self.notes = self.gene_token(self.gene)
        self._services = []

    def token(self, kind, lifetime_ms=None, **bound):
        """A new token."""
        return self.tokens.create(
            kind, bound, now_ms=SystemClock().now_ms(), lifetime_ms=lifetime_ms
        )[1]

    def gene_token(self, gene, domain="code.notes", number=1, agent="keeper"):
        """A new token of a gene."""
        agent_id = f"00000000-0000-4000-8000-{number:012d}"
        return self.token("gene", gene=gene, agentId=agent_id, agent=agent, domain=domain)

    def serve(self, *words, **settings):
        """Start a service."""
        service = Running(self.bench.root, *words, **settings)
        self._services.append(service)
        return service

    def serve_with(self, *, head=10.0, take=60.0, body=30.0, connections=16_384, **settings):
        """Start a service with other limits."""
        script = (
            "import sys; from tests.service.limited import main; "
            f"main({head}, {take}, {body}, {connections})"
        )
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join([top, os.environ.get("PYTHONPATH", "")])
        return self.serve(
            command=[sys.executable, "-c", script], env={"PYTHONPATH": path}, **settings
        )

    def close(self):
        """End them all."""
        for service in self._services:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                service.close()


@pytest.fixture
def cell(tmp_path):
    """A project of this test's own."""
    root = tmp_path / "a b #%41? ü"
    root.mkdir()
    found = Cell(root)
    yield found
    found.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A project that a module's tests share, and a service of it."""
    found = Cell(tmp_path_factory.mktemp("shared"))
    found.service = found.serve()
    yield found
    found.close()
