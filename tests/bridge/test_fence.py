"""What a gene's process is given, and what it is not (design §5)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from rotifer_bridge import _sandbox
from rotifer_bridge._door import Door
from rotifer_bridge._inmost import inmost
from rotifer_engine import Caller

LOOK = """
import fs from 'node:fs';
export function express() {
  const fds = [];
  for (let fd = 0; fd < 300; fd++) { try { fs.fstatSync(fd); fds.push(fd); } catch {} }
  return { env: Object.keys(process.env).sort(), fds };
}
"""


def test_nothing_of_the_environment_reaches_a_gene(bench, monkeypatch):
    """A fixed list of names: no secret of the supervisor's, no way to change Node."""
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("NODE_OPTIONS", "--no-warnings")
    monkeypatch.setenv("TZ", "UTC")
    bench.gene("g", {"index.mjs": LOOK})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        names = agent.run({}).output["env"]

    # bubblewrap adds PWD, which is always "/".
    assert {"PATH", "TZ"} <= set(names) <= {"PATH", "TZ", "LANG", "LC_ALL", "PWD"}


def test_nothing_of_the_descriptors_reaches_a_gene(bench):
    """An inheritable descriptor of the host stays outside; two channels are all there is."""
    bench.gene("g", {"index.mjs": LOOK})
    bench.record(1, genome=["g"])
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    os.dup2(writing, 200, inheritable=True)
    try:
        with bench.project().agent("keeper") as agent:
            pid = agent.run({}).output and inmost(agent._warm.runner("g", 1.0).pid)
            links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
            ours = os.readlink(f"/proc/self/fd/{reading}")
    finally:
        for fd in (reading, writing, 200):
            os.close(fd)

    assert ours not in links
    assert 2 == sum(link.startswith("socket:") for link in links)


@pytest.mark.parametrize("wall", ["none", "the strongest"])
@pytest.mark.parametrize("has_prlimit", [True, False])
def test_the_limits_are_the_kernels(bench, monkeypatch, wall, has_prlimit):
    """Memory, open files, core and written files, with and without util-linux."""
    if wall == "none":
        monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    elif not has_prlimit:
        return  # set from outside it comes while the wall is built, so this one shows nothing
    if not has_prlimit:
        monkeypatch.setattr(_sandbox, "program", lambda _: None)
    bench.gene("g")
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        agent.run({})
        with open(f"/proc/{inmost(agent._warm.runner('g', 1.0).pid)}/limits") as file:
            limits = {line[:26].strip(): line[26:].split()[:2] for line in file}

    assert [str(_sandbox.DATA_BYTES)] * 2 == limits["Max data size"]
    assert [str(_sandbox.OPEN_FILES)] * 2 == limits["Max open files"]
    assert ["0", "0"] == limits["Max core file size"] == limits["Max file size"]


@pytest.mark.parametrize(
    "limits", ["-n 100", "-d 1500000", "-f 100000", "-n 100 && ulimit -d 1500000"]
)
def test_who_is_held_to_less_still_runs_genes(bench, limits):
    """Where fewer files or less memory are allowed than a gene gets, the gene gets that."""
    bench.gene("g", {"index.mjs": "export const express = () => ({ ran: 1 });"})
    bench.record(1, genome=["g"])
    run = [sys.executable, "-m", "rotifer_bridge", "agent", "run", "keeper"]
    held = ["sh", "-c", f'ulimit {limits} && exec "$0" "$@"', *run]
    # Root of the whole machine may raise a limit, and would not see it.
    if os.geteuid() == 0 and (setpriv := _sandbox.program("setpriv")):
        held = [setpriv, "--bounding-set=-sys_resource", *held]

    done = subprocess.run(
        held, check=False, cwd=bench.root, capture_output=True, text=True, timeout=60
    )

    assert (0, '{\n  "ran": 1\n}\n', "") == (done.returncode, done.stdout, done.stderr)


def test_no_debugger_can_be_opened_from_outside(bench):
    """SIGUSR1 does not open Node's debugger port."""
    bench.gene("g", {"index.mjs": "let n = 0; export const express = () => ++n;"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        assert 1 == agent.run({}).output
        pid = inmost(agent._warm.runner("g", 1.0).pid)
        os.kill(pid, signal.SIGUSR1)
        try:
            assert 2 == agent.run({}).output
        except Exception:
            return  # the signal's default ends it: no debugger either
        with open(f"/proc/{pid}/net/tcp") as file:
            listening = [line.split()[9] for line in file if line.split()[3] == "0A"]
        sockets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}

    assert not {f"socket:[{inode}]" for inode in listening} & sockets


def test_a_gene_cannot_outgrow_its_heap(bench):
    """The heap has a limit; running out of it is said as such."""
    bench.gene("g", {"index.mjs": "export function express() { const a = []; for (;;) a.push(new Array(1e6).fill(1.5)); }"})  # fmt: skip
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent, pytest.raises(Exception, match="ran out of memory"):  # fmt: skip
        agent.run({})


class Broken:
    """A memory with a fault of ours in it."""

    def read(self, *_):
        """Fail as no rule says."""
        raise RuntimeError("a fault of ours")


def test_a_fault_of_ours_is_a_storage_error():
    """A gene is told MEMORY_STORAGE_ERROR, the supervisor what it was, and it lives on."""
    told = []
    door = Door(Broken(), Caller("v2:" + "0" * 64, "code"), on_fault=told.append)

    [reply] = door.answer("read", {"key": "k"}, b"", live=True)

    assert b"MEMORY_STORAGE_ERROR" in reply
    assert ["memory read failed inside: RuntimeError: a fault of ours"] == told
