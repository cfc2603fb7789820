"""Genes that try to get out: held, with bubblewrap, with unshare only, and with neither.

The machine's own walls are all tried where they are there; docs/security.md is held to the table.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import chain

import pytest
from tests.conftest import Bench
from tests.hostile.cases import ATTEMPTS, ENDS, alone, attempts_source, ends_source

from rotifer_bridge import RotiferError
from rotifer_bridge._sandbox import DATA_BYTES, OPEN_FILES, WALLS
from rotifer_bridge._sandbox_here import tried
from rotifer_engine import Caller
from rotifer_shim import SHIM_DIR

SECURITY = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "docs", "security.md")
KEEPER = """
export const express = (_, { memory }) =>
  memory.writeMemory('private', new Uint8Array(1), 'CACHE',
    { readScope: 'CREATOR_GENE_ONLY', writeScope: 'CREATOR_GENE_ONLY', sharePolicy: 'PRIVATE' }) && 1;
"""


def slug(name):
    """A gene's name for a case."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Stage:
    """A project with every gene, a neighbor that runs, and somebody who listens."""

    def __init__(self, root):
        self.bench = Bench(root)
        os.environ["ROTIFER_HOSTILE"] = "hostile-secret"
        together = [(name, case.body) for name, case in ATTEMPTS.items() if not alone(name)]
        self.genes = {"together": attempts_source(together)}
        for name, case in ATTEMPTS.items():
            if alone(name):
                self.genes[slug(name)] = attempts_source([(name, case.body)])
        for number, (name, source) in enumerate(self.genes.items(), 10):
            folder = self.bench.gene(name, {"index.mjs": source, "data.txt": "own"})
            os.symlink("/etc/passwd", os.path.join(folder, "link"))
            deep = os.path.join(folder, "node_modules", *["a"] * 30)
            os.makedirs(deep)
            os.symlink("/etc", os.path.join(folder, "node_modules", "out"))
            os.symlink(folder, os.path.join(deep, "up"))
            self.bench.record(number, name=name, genome=[name])
        self.bench.gene("ends", {"index.mjs": ends_source()})
        for number, name in enumerate(ENDS, 100):
            self.bench.record(number, name=slug(name), genome=["ends"])
        self.bench.gene("keeper", {"index.ts": KEEPER}, domain="other")
        self.listening = [socket.create_server(("127.0.0.1", 0)), unix(self.bench.path("unix"))]
        self.abstract = f"hostile-{os.getpid()}"
        self.listening.append(unix("\0" + self.abstract))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        threading.Thread(target=echo, args=(self.udp,), daemon=True).start()
        for each in self.listening:
            threading.Thread(target=serve, args=(each,), daemon=True).start()

    def given(self, name, worker):
        """What an attacker would have to guess."""
        path = self.bench.path
        return {
            "own": path("genes", name),
            "other": path("genes", "keeper"),
            "database": path(".rotifer", "playground.db"),
            "agents": path(".rotifer", "agents"),
            "audit": path(".rotifer", "audit.jsonl"),
            "cache": path(".rotifer", "cache"),
            "shim": SHIM_DIR,
            "addon": next(addons()),
            "supervisor": os.getpid(),
            "worker": worker,
            "uid": os.getuid(),
            "port": self.listening[0].getsockname()[1],
            "unix": path("unix"),
            "abstract": self.abstract,
            "udp": self.udp.getsockname()[1],
        }


def unix(path):
    """A Unix socket that listens."""
    found = socket.socket(socket.AF_UNIX)
    if path.startswith("\0"):
        found.bind(path)
    else:
        here = os.getcwd()
        os.chdir(os.path.dirname(path))  # such an address has 108 bytes
        try:
            found.bind(os.path.basename(path))
        finally:
            os.chdir(here)
    found.listen()
    return found


def serve(listening):
    """Answer whoever comes."""
    while True:
        try:
            there, _ = listening.accept()
        except OSError:
            return
        there.settimeout(1)
        try:
            there.recv(100)
            there.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        except OSError:
            pass
        there.close()


def echo(there):
    """Answer datagrams; questions to a name server with: there is no such name."""
    while True:
        try:
            data, who = there.recvfrom(1000)
            there.sendto(data if data == b"hostile" else data[:2] + b"\x81\x83" + data[4:], who)
        except OSError:
            return


def addons():
    """Shared libraries of this machine."""
    for folder in ("/usr/lib", "/lib"):
        for where, _, names in os.walk(folder):
            yield from (os.path.join(where, name) for name in names if ".so" in name)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """The project, made once."""
    root = tmp_path_factory.mktemp("h") / "p"
    root.mkdir()
    # What a gene without walls sends; its default would end the tests.
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    found = Stage(root)
    yield found
    for each in (*found.listening, found.udp):
        each.close()
    signal.signal(signal.SIGUSR1, before)
    del os.environ["ROTIFER_HOSTILE"]


@pytest.fixture(scope="module", params=WALLS)
def wall(request, node_path):
    """Each wall in turn; one that this machine does not build is not tried."""
    wall = request.param
    if wall != "none" and tried(None, node_path, wall) != "works":
        pytest.skip(f"{wall}: {tried(None, node_path, wall)}")
    before = os.environ.get("ROTIFER_SANDBOX")
    os.environ["ROTIFER_SANDBOX"] = wall
    yield wall
    if before is None:
        del os.environ["ROTIFER_SANDBOX"]
    else:
        os.environ["ROTIFER_SANDBOX"] = before


@pytest.fixture(scope="module")
def neighbor(stage, wall):
    """Another gene's worker, warm."""
    stage.bench.record(1, name="neighbor", genome=["keeper"])
    with stage.bench.project().agent("neighbor") as agent:
        agent.run({})
        [worker] = agent._warm._runners.values()
        assert wall == worker.wall
        yield worker.pid


def test_at_least_forty():
    """Enough genes, each of another kind."""
    assert len(ATTEMPTS) + len(ENDS) >= 40


@pytest.fixture(scope="module")
def attempted(stage, wall, neighbor):
    """What came of every attempt, by name."""
    found = {}
    for name in stage.genes:
        with closing(stage.bench.project()) as project, project.agent(name) as agent:
            private(agent)
            found |= agent.run(stage.given(name, neighbor), time_limit=50).output
    return found


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempts(stage, wall, attempted, name):
    """A gene gets hold of nothing where its wall stands, and of something where it does not."""
    holds = WALLS.index(wall) <= WALLS.index(ATTEMPTS[name].wall)

    assert holds == (not attempted[name]["got"]), attempted[name]


def test_nothing_was_changed(stage, wall, attempted):
    """What was there is there as it was, and nothing else is."""
    for name in stage.genes:
        folder = stage.bench.path("genes", name)
        names = {
            "index.mjs",
            "data.txt",
            "link",
            "node_modules",
            "phenotype.json",
            ".gene-manifest.json",
        }
        assert names == set(os.listdir(folder))
        assert stage.genes[name] == stage.bench.text(f"genes/{name}/index.mjs")

    assert not [name for name in os.listdir("/tmp") if name.startswith("hostile-")]


def private(agent):
    """An entry of another gene, for itself only."""
    own = {
        "readScope": "CREATOR_GENE_ONLY",
        "writeScope": "CREATOR_GENE_ONLY",
        "sharePolicy": "PRIVATE",
    }
    agent.memory.write(Caller("v2:" + "1" * 64, "other"), "private", b"1", "CACHE", own)


@pytest.fixture(scope="module")
def ended(stage, wall):
    """The error that each run ended by, by name; many at a time, but few that fill memories."""

    def run(name):
        with closing(stage.bench.project()) as project, project.agent(slug(name)) as agent:
            try:
                return agent.run({"name": name}, time_limit=ENDS[name].time_limit).output
            except RotiferError as error:
                return error

    # Made ready here, so that no short limit is about that.
    with closing(stage.bench.project()) as project, project.agent(slug("loops")) as agent:
        assert "none" == agent.run({"name": ""}).output
    waits = [name for name, end in ENDS.items() if end.waits]
    fills = [name for name, end in ENDS.items() if not end.waits]
    with ThreadPoolExecutor(8) as many, ThreadPoolExecutor(2) as few:
        both = many.map(run, waits), few.map(run, fills)
        return dict(zip([*waits, *fills], chain(*both), strict=True))


@pytest.mark.parametrize("name", ENDS)
def test_ends(ended, name):
    """A gene that takes all it can is ended by one clear error, in time."""
    error = ended[name]

    assert isinstance(error, RotiferError), str(error)[:200]
    assert re.search(ENDS[name].message, error.message), error.message
    assert len(error.message) < 10_000


LATER = """
let kept;
export function express({ keep }, { memory }) {
  if (keep) { kept = memory; memory.writeMemory('k', new Uint8Array(1), 'CACHE'); return 'kept'; }
  try { return kept.readMemory('k').key; } catch (error) { return error.code; }
}
"""


def test_a_memory_kept_for_later(stage, wall, bench):
    """The handle of one run is denied in the next."""
    bench.gene("g", {"index.mjs": LATER}, outputSchema={})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        assert "kept" == agent.run({"keep": True}).output
        assert "MEMORY_ACCESS_DENIED" == agent.run({"keep": False}).output


CHANGED = """
export function express() {
  const all = () => 'changed';
  for (const kind of [Object, Array, String, Uint8Array, Buffer, Map, Promise, Function]) {
    for (const name of ['toString', 'then', 'toJSON', 'slice', 'op', 'run', 'head', 'concat']) {
      try { Object.defineProperty(kind.prototype, name, { value: all, configurable: true }); } catch {}
    }
  }
  for (const name of Object.keys(JSON)) JSON[name] = all;
  JSON.parse = JSON.stringify = all;
  return { x: 1 };
}
"""


def test_changed_builtins_change_nobody_else(stage, wall, bench):
    """What a gene does to its own world is seen by no other gene, and by no later command."""
    bench.gene("g", {"index.mjs": CHANGED}, outputSchema={})
    bench.gene("other", {"index.mjs": "export const express = (x) => ({ got: x });"})
    bench.record(1, name="bad", genome=["g"])
    bench.record(2, name="good", genome=["other"])
    project = bench.project()

    with project.agent("bad") as bad, project.agent("good") as good:
        for _ in range(2):
            with suppress(RotiferError):
                bad.run({})
            assert {"got": {"a": 1}} == good.run({"a": 1}).output


SPEAKS = r"""
export function express(_, { memory }) {
  memory.writeMemory('\x1b]0;owned\x07\x1b[2Jkey\u202e', new Uint8Array(1), 'CACHE');
  console.log('\x1b]0;owned\x07\x1b[2J\x1b[1;1Hforged\rline\u009b2J');
  throw new Error('\x1b[2Jerror\x07');
}
""".replace("\\\\", "\\")


def test_a_terminal_is_not_driven(stage, wall, bench, capfd, monkeypatch):
    """Escape sequences in what a gene prints, throws or keeps come out as text."""
    from rotifer_bridge._cli import run

    bench.gene("g", {"index.mjs": SPEAKS})
    bench.record(1, genome=["g"])
    monkeypatch.chdir(bench.root)

    assert 1 == run(["agent", "run", "keeper"])
    assert 0 == run(["agent", "memory", "list", "keeper"])
    told = "".join(capfd.readouterr())
    assert "owned" in told
    assert "forged" in told
    assert not set(told) & set("\x1b\x07\r\x9b\u202e")


def named(title):
    """What a section of the page says to get through."""
    with open(SECURITY, encoding="utf-8") as file:
        [text] = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", file.read(), re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^\| `([^`]*)` \|", text, re.MULTILINE))


@pytest.mark.parametrize(("title", "weakest"), [("With unshare only", "bubblewrap"), ("With neither", "unshare")])  # fmt: skip
def test_the_page_names_what_cannot_hold(title, weakest):
    """docs/security.md names the attempts that need the wall which is missing, and no others."""
    assert named(title) == {case.title for case in ATTEMPTS.values() if case.wall == weakest}


def test_the_page_gives_the_limits_in_force():
    """Memory and files are those of the code."""
    with open(SECURITY, encoding="utf-8") as file:
        text = file.read()

    assert f"{DATA_BYTES:,} bytes of memory" in text
    assert f"{OPEN_FILES} open files" in text
