"""What the deployer grants, and what cannot be granted (docs/security.md)."""

from __future__ import annotations

import json
import os

import pytest

from rotifer_bridge import RotiferError, UsageError
from rotifer_bridge._cli import run
from rotifer_bridge._grants import Fence, Grants, fence_of, parse_grants
from rotifer_bridge._links import leads_out
from rotifer_bridge._sandbox import node_command

READS = "import fs from 'node:fs'; export const express = ({ path }) => ({ text: fs.readFileSync(path, 'utf8') });"
WRITES = "import fs from 'node:fs'; export const express = ({ path }) => { fs.writeFileSync(path, 'new'); return {}; };"
OWN = "import fs from 'node:fs'; export const express = () => ({ text: fs.readFileSync(new URL('./data.txt', import.meta.url), 'utf8') });"


def test_a_gene_reads_its_own_data(bench):
    """A data file in the gene's folder is there, without any grant."""
    bench.gene("g", {"index.mjs": OWN, "data.txt": "own"})
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        assert {"text": "own"} == agent.run({}).output


@pytest.mark.parametrize("wall", ["bubblewrap", "unshare", "none"])
def test_reading_is_granted(bench, monkeypatch, wall):
    """By the record or for one run; without it, refused."""
    monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    bench.gene("g", {"index.mjs": READS})
    path = bench.put("data/a.txt", "granted")
    bench.record(1, genome=["g"], name="with", grants={"read": ["data"]})
    bench.record(2, genome=["g"], name="without")
    project = bench.project()

    with project.agent("with") as agent:
        assert {"text": "granted"} == agent.run({"path": path}).output
    with project.agent("without") as agent:
        with pytest.raises(RotiferError, match="gene 'g'"):
            agent.run({"path": path})
        assert {"text": "granted"} == agent.run({"path": path}, grants={"read": ["data"]}).output
        with pytest.raises(RotiferError, match="gene 'g'"):
            agent.run({"path": path})


@pytest.mark.parametrize("wall", ["bubblewrap", "unshare", "none"])
def test_writing_is_granted(bench, monkeypatch, wall):
    """A folder that may be changed; one that may only be read cannot."""
    monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    bench.gene("g", {"index.mjs": WRITES})
    path = bench.put("data/a.txt", "old")
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        with pytest.raises(RotiferError, match="gene 'g'"):
            agent.run({"path": path}, grants={"read": ["data"]})
        assert "old" == bench.text("data/a.txt")
        agent.run({"path": path}, grants={"write": ["data"]})
    assert "new" == bench.text("data/a.txt")


def test_the_head_start_knows_the_grants(bench, rotifer_process):
    """`agent run` starts the process before it reads the record, with the very same grants."""
    bench.gene("g", {"index.mjs": READS}, outputSchema={})
    path = bench.put("data/a.txt", "granted")
    bench.record(1, genome=["g"], grants={"read": ["data"]})

    done = rotifer_process("agent", "run", "keeper", "--input", json.dumps({"path": path}))

    assert (0, {"text": "granted"}) == (done.returncode, json.loads(done.stdout))


def test_grants_of_a_command(bench, monkeypatch, capsys):
    """--allow-read of run and agent run; agent set keeps them, relative to the project."""
    bench.gene("g", {"index.mjs": READS}, outputSchema={})
    path = bench.put("data/a.txt", "granted")
    bench.record(1, genome=["g"])
    monkeypatch.chdir(bench.path("data"))
    given = json.dumps({"path": path})

    assert 1 == run(["run", "g", "--input", given])
    assert 0 == run(["run", "g", "--input", given, "--allow-read", "."])
    assert 0 == run(["agent", "run", "keeper", "--input", given, "--allow-read", "a.txt"])
    assert 0 == run(["agent", "set", "keeper", "--allow-read", ".", "--allow-net", "a.example"])
    assert Grants(("data",), (), ("a.example",)) == bench.project().record("keeper").grants
    capsys.readouterr()
    assert 0 == run(["agent", "run", "keeper", "--input", given, "--verbose"])
    assert "granted by its record: read data" in capsys.readouterr().err
    assert 0 == run(["agent", "set", "keeper", "--revoke-grants"])
    assert not bench.project().record("keeper").grants
    assert "grants" not in bench.project().record("keeper").document
    assert 0 == run(["agent", "set", "keeper", "--revoke-grants"])


def test_an_agent_is_made_with_grants(bench, monkeypatch, capsys):
    """By the flags of `agent create`; shown there and by `agent list`; a bad one makes no agent."""
    bench.gene("g")
    bench.put("data/a.txt", "x")
    monkeypatch.chdir(bench.root)

    assert 1 <= run(["agent", "create", "bad", "-g", "g", "--allow-read", "gone"])
    capsys.readouterr()
    assert 0 == run(["agent", "create", "good", "-g", "g", "--allow-read", "data"])
    assert "Granted       read data" in capsys.readouterr().out
    assert ["good"] == [record.name for record in bench.project().records()]
    assert Grants(("data",)) == bench.project().record("good").grants
    assert 0 == run(["agent", "list"])
    assert "agent good is granted: read data" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["agent", "set", "keeper"], ["run", "g"], ["agent", "run", "keeper"]])  # fmt: skip
def test_an_empty_grant_is_not_the_working_folder(bench, monkeypatch, capsys, words):
    """A script's unset variable grants nothing."""
    bench.gene("g")
    bench.record(1, genome=["g"])
    bench.put("data/a.txt", "x")
    monkeypatch.chdir(bench.path("data"))

    assert 1 <= run([*words, "--allow-write", ""])
    assert "a granted path is empty" in capsys.readouterr().err
    assert not bench.project().record("keeper").grants


REFUSED = {
    "a wildcard": ("read", "da*ta", "wildcard"),
    "nothing": ("read", "", "empty"),
    "what is not there": ("read", "gone", "there is no such file"),
    "a link": ("read", "link", "a symbolic link stands on the way"),
    "a way over a link": ("read", "link/a.txt", "a symbolic link stands on the way"),
    "the project's state": ("read", ".rotifer", "it would open"),
    "what is in it": ("read", ".rotifer/agents", "it would open"),
    "what it is in": ("read", ".", "it would open"),
    "all": ("read", "/", "it would open"),
    "other processes": ("read", "/proc/self", "a symbolic link"),
    "processes": ("read", "/proc", "shows other processes"),
    "devices": ("read", "/dev", "shows other processes"),
    "genes, to write": ("write", "genes", "it would open"),
    "a gene, to write": ("write", "genes/g", "it would open"),
    "the project, to write": ("write", "rotifer.json", "it would open"),
    "a URL": ("net", "https://a.example", "not a host name"),
    "a port": ("net", "a.example:80", "not a host name"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(bench, what):
    """What would open more than it says is refused, with the reason."""
    kind, item, message = REFUSED[what]
    bench.gene("g")
    bench.record(1, genome=["g"])
    bench.put("data/a.txt", "x")
    os.symlink("data", bench.path("link"))

    with pytest.raises(UsageError, match=message):
        fence_of(bench.root, bench.path("genes"), "g", parse_grants({kind: [item]}))


@pytest.mark.parametrize(
    "value", [[], "x", {"reed": []}, {"read": "x"}, {"read": [1]}, {"read": ["a"] * 33}]
)
def test_grants_of_another_form(value):
    """A record's grants are lists of strings under three names."""
    with pytest.raises(UsageError, match="grants"):
        parse_grants(value)


def test_links_that_lead_out(tmp_path):
    """Where Node would follow them, a folder with one is not granted; links inside are no harm."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("x")
    os.symlink("a", tmp_path / "in" / "b")
    fence = Fence(str(tmp_path / "in"), ())

    assert not leads_out(fence.folder)
    os.symlink("/etc", tmp_path / "in" / "c")
    assert leads_out(fence.folder)
    granted = f"--allow-fs-read={fence.folder}"
    assert granted not in node_command("node", "/shim", fence, (), hidden=False)
    assert granted in node_command("node", "/shim", fence, (), hidden=True)


DEEP = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"
REACHES = """
import fs from 'node:fs';
export function express({ paths }) {
  return paths.map((path) => { try { return fs.readFileSync(path, 'utf8'); } catch { return null; } });
}
"""


@pytest.mark.parametrize("wall", ["bubblewrap", "unshare", "none"])
def test_no_link_is_a_way_out(bench, monkeypatch, wall):
    """Node judges `link/../x` by its letters, the kernel by where the link leads: not granted.

    Neither one of a package of the gene's own, nor one that leads back up inside a granted folder,
    nor one of a workspace's packages; the packages beside that are there.
    """
    monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    secret = bench.put("secret/s.txt", "secret")
    gene = bench.gene("g", {"index.mjs": REACHES, "node_modules/p/package.json": "{}"})
    os.symlink(bench.path("secret"), os.path.join(gene, "node_modules", "out"))
    os.makedirs(bench.path("data", DEEP))
    os.symlink(bench.path("data"), bench.path("data", DEEP, "up"))
    bench.put("packages/w/package.json", "{}")
    bench.put("node_modules/@s/plain/p.txt", "a package")
    bench.put("node_modules/plain/p.txt", "a package")
    os.symlink("../../packages/w", bench.path("node_modules", "@s", "w"))
    bench.record(1, genome=["g"], grants={"read": ["data"]})
    ways = [
        os.path.join(gene, "node_modules", "out", "s.txt"),
        bench.path("data", DEEP, "up") + "/.." * 26 + secret,
        bench.path("node_modules/@s/w/../../secret/s.txt"),
    ]
    packages = [bench.path("node_modules/plain/p.txt"), bench.path("node_modules/@s/plain/p.txt")]

    with bench.project().agent("keeper") as agent:
        found = agent.run({"paths": [*ways, *packages]}).output

    assert [None, None, None, "a package", "a package"] == found


COPIES = """
import fs from 'node:fs';
export function express({ from, to }) {
  try { fs.cpSync(from, to, { recursive: true, verbatimSymlinks: true }); } catch (error) { return error.code; }
  return fs.readFileSync(`${to}/link`, 'utf8');
}
"""


@pytest.mark.parametrize("wall", ["bubblewrap", "unshare", "none"])
def test_no_link_is_copied_to_where_it_leads_out(bench, monkeypatch, wall):
    """A link that keeps in where it stands may lead out from where a gene may write."""
    monkeypatch.setenv("ROTIFER_SANDBOX", wall)
    bench.put("secret/s.txt", "secret")
    bench.put("data/secret/s.txt", "of the data")
    bench.put("data/in/a.txt", "x")
    os.symlink("../secret/s.txt", bench.path("data", "in", "link"))
    os.mkdir(bench.path("out"))
    bench.gene("g", {"index.mjs": COPIES}, outputSchema={})
    bench.record(1, genome=["g"])
    given = {"from": bench.path("data", "in"), "to": bench.path("out")}

    with bench.project().agent("keeper") as agent:
        grants = {"read": ["data"], "write": ["out"]}
        try:
            told = agent.run(given, grants=grants).output
        except RotiferError as error:
            told = error.message

    assert "secret" != told


def test_a_granted_host_opens_the_gateway(bench):
    """Any gene then has ctx.gatewayFetch, for that host and no other."""
    bench.gene("g", {"index.mjs": "export const express = async (_, { gatewayFetch }) => ({ has: typeof gatewayFetch, told: await gatewayFetch?.('https://b.example/').catch((error) => error.code) });"})  # fmt: skip
    bench.record(1, genome=["g"])

    with bench.project().agent("keeper") as agent:
        assert {"has": "undefined"} == agent.run({}).output
        found = agent.run({}, grants={"net": ["a.example"]}).output
    assert {"has": "function", "told": "DOMAIN_BLOCKED"} == found
