"""A project whose agents remember on a server: the commands, and who says where."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rotifer_bridge.errors import ProjectError

ROTIFER = [sys.executable, "-m", "rotifer_bridge"]
GENE = """
export function express(input, { memory }) {
  const found = memory.readMemory('n');
  const n = found ? Number(new TextDecoder().decode(found.value)) + 1 : 1;
  memory.writeMemory('n', new TextEncoder().encode(String(n)), 'PREFERENCE');
  return n;
}
"""


@pytest.fixture
def project(bench):
    """A project with an agent that counts its runs."""
    bench.gene("count", {"index.mjs": GENE})
    bench.record(1, genome=["count"])
    return bench


@pytest.fixture
def run(project, postgres_url, sql):
    """Run a command of the project, on the server or, with url None, as the project says."""

    def run(*words, url=postgres_url, code=0):
        environment = {**os.environ, "ROTIFER_MEMORY_URL": url or ""}
        done = subprocess.run(
            [*ROTIFER, *words],
            check=False,
            cwd=project.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert code == done.returncode, done.stderr
        return done

    return run


def test_an_agent_remembers_on_the_server(project, run):
    """It runs, is listed, checked, exported, read back and deleted there; no file is made."""
    for number in (1, 2):
        answer = json.loads(run("agent", "run", "keeper", "--json", "--input", "1").stdout)
        assert number == answer["output"]
    assert "PREFERENCE" in run("agent", "memory", "list", "keeper").stdout
    assert "no findings" in run("agent", "memory", "check", "keeper").stdout
    assert "1 entry exported" in run("agent", "memory", "export", "keeper", "out.jsonl").stdout
    assert "1 entry deleted" in run("agent", "memory", "delete", "keeper", "--key", "n").stdout
    assert "1 new" in run("agent", "memory", "import", "keeper", "out.jsonl").stdout
    lines = run("agent", "memory", "audit", "keeper", "--json").stdout.splitlines()
    expected = ["create", "update", "delete", "create"]
    assert [f"memory.{action}" for action in expected] == [json.loads(x)["action"] for x in lines]
    assert "answers, its tables are there" in run("doctor").stdout
    deleted = run("agent", "delete", "keeper", "--yes")
    assert "1 entry of its memory" in deleted.stdout
    assert "vacuumed" in deleted.stderr

    state = os.listdir(project.path(".rotifer"))
    assert not {"playground.db", "audit.jsonl"} & set(state)


def test_who_says_where(project, run, postgres_url):
    """The environment wins over rotifer.json; sqlite: is the project's own file."""
    project.put("rotifer.json", {"name": "bench", "memory": {"url": postgres_url, "more": 1}})
    run("agent", "run", "keeper", "--input", "1", url=None)
    assert "memory.create" in run("agent", "memory", "audit", "keeper").stdout
    assert not os.path.exists(project.path(".rotifer", "playground.db"))
    own = run("agent", "memory", "list", "keeper", url="sqlite:")

    assert "0 B of" in own.stdout


@pytest.mark.parametrize(
    "memory", ["postgresql://h/d", [], {"url": 7}, {"url": ""}, {"url": "mysql://u:Hunter2@h/d"}]
)
def test_what_cannot_be_a_place(project, memory, monkeypatch):
    """It is refused with the file's name, and nothing of the URL is repeated."""
    monkeypatch.delenv("ROTIFER_MEMORY_URL", raising=False)
    project.put("rotifer.json", {"name": "bench", "memory": memory})
    with pytest.raises(ProjectError) as refused:
        _ = project.project().memory_url

    assert "rotifer.json" in refused.value.render()
    assert "Hunter2" not in refused.value.render()


@pytest.mark.parametrize("memory", [None, {}, {"url": None}, {"url": "sqlite:"}])
def test_the_own_file(project, memory, monkeypatch):
    """It is meant where nothing is said."""
    monkeypatch.delenv("ROTIFER_MEMORY_URL", raising=False)
    project.put("rotifer.json", {"name": "bench", "memory": memory})

    assert project.project().memory_url is None


def test_no_password_in_what_is_printed(run):
    """Whatever is wrong with the server."""
    for url in (
        "postgresql://u:Hunter2@127.0.0.1:1/d",
        "postgresql://u:Hun@ter2@h/d",
    ):
        for words in (["agent", "run", "keeper", "--input", "1"], ["doctor"]):
            done = run(*words, url=url, code=1)
            assert "unter2" not in done.stdout + done.stderr
            assert "ter2" not in done.stdout + done.stderr


def test_moving_there_and_back(project, run, postgres_url):
    """The commands say how many, and what to do next; then the old place has nothing."""
    run("agent", "run", "keeper", "--input", "1", url=None)
    moved = run("memory", "move", "keeper", "--to", postgres_url, url=None)
    assert "1 entry moved (2 bytes of keys and values)" in moved.stdout
    assert "memory.url in rotifer.json" in moved.stderr
    assert "the layers stay where they are" in moved.stderr
    assert (
        "nothing to move: 1 entry there"
        in run("memory", "move", "keeper", "--to", postgres_url, url=None).stdout
    )
    assert 2 == json.loads(run("agent", "run", "keeper", "--json", "--input", "1").stdout)["output"]
    run("memory", "move", "keeper", "--to", "sqlite:")

    again = run("agent", "run", "keeper", "--json", "--input", "1", url=None)
    assert 3 == json.loads(again.stdout)["output"]
    assert (
        "the one that the memory is in"
        in run("memory", "move", "keeper", "--to", "sqlite:", url=None, code=1).stderr
    )


def test_migrating_what_needs_none(run):
    """The project's own file is always up to date; a server may be."""
    assert "needs no migrating" in run("memory", "migrate", url=None, code=1).stderr
    assert "is up to date" in run("memory", "migrate").stdout
    assert "of no store" in run("memory", "migrate", "--url", "http://h/d", url=None, code=1).stderr


@pytest.mark.parametrize("place", ["server", "file"])
def test_following_the_records(project, run, postgres_url, place):
    """What is recorded later is printed as it comes; a rotation of the file is followed."""
    url = postgres_url if place == "server" else ""
    run("agent", "run", "keeper", "--input", "1", url=url)
    follower = subprocess.Popen(
        [*ROTIFER, "agent", "memory", "audit", "keeper", "--follow"],
        cwd=project.root,
        env={**os.environ, "ROTIFER_MEMORY_URL": url},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert "memory.create" in follower.stdout.readline()
        run("agent", "run", "keeper", "--input", "1", url=url)
        assert "memory.update" in follower.stdout.readline()
        if place == "file":
            log = project.path(".rotifer", "audit.jsonl")
            os.rename(log, log + ".1")
        run("agent", "memory", "delete", "keeper", "--key", "n", url=url)
        assert "memory.delete" in follower.stdout.readline()
    finally:
        follower.terminate()
        follower.wait()
        follower.stdout.close()


def test_a_gene_does_not_see_the_url(project, run, postgres_url):
    """The environment of a gene's process is a fixed list."""
    project.gene("look", {"index.mjs": "export const express = () => Object.keys(process.env);"})
    project.record(2, name="looker", genome=["look"])
    answer = json.loads(run("agent", "run", "looker", "--json", "--input", "1").stdout)

    assert "ROTIFER_MEMORY_URL" not in answer["output"]
    assert answer["output"] == [name for name in answer["output"] if "URL" not in name]
