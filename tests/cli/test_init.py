"""``rotifer init``: a whole project or none."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests import npm

from rotifer_bridge import _scaffold


@pytest.fixture(autouse=True)
def elsewhere(cli, bench, monkeypatch):
    """A folder that is in no project."""
    os.makedirs(bench.path("work"))
    os.unlink(bench.path("rotifer.json"))
    monkeypatch.chdir(bench.path("work"))


def test_a_project(cli, bench):
    """The folders and files of the page, the private ones private, the first gene wrapped."""
    done = cli("init", "mine", "--domain", "text")

    assert 0 == done.code
    assert bench.path("work", "mine") in done.out
    for folder in ("genes", "tests", ".rotifer/agents", "genes/hello-world"):
        assert os.path.isdir(bench.path("work/mine", folder))
    assert 0o700 == stat.S_IMODE(os.stat(bench.path("work/mine/.rotifer")).st_mode)
    assert {
        "name": "mine",
        "version": "0.1.0",
        "author": "local-dev",
        "genes_dir": "genes",
        "default_domain": "text",
    } == json.loads(bench.text("work/mine/rotifer.json"))
    assert ".rotifer/" in bench.text("work/mine/.gitignore")
    assert "text" == json.loads(bench.text("work/mine/genes/hello-world/phenotype.json"))["domain"]
    assert ["mine"] == os.listdir(bench.path("work"))


def test_the_default_name(cli, bench):
    """Without a name it is my-agent."""
    assert 0 == cli("init").code
    assert os.path.isdir(bench.path("work/my-agent"))


def test_without_the_first_gene(cli, bench):
    """The folder of genes stays empty."""
    assert 0 == cli("init", "mine", "--no-genesis").code
    assert [] == os.listdir(bench.path("work/mine/genes"))


def test_tsc_passes_without_a_gene(cli, bench, node_path):
    """The types are there to check, so an empty folder of genes is no error."""
    cli("init", "mine", "--no-genesis")
    done = subprocess.run(
        [node_path, npm.installed(npm.TSC), "-p", bench.path("work/mine")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stdout)


def test_inside_another_project(cli, bench):
    """It is made, and whose commands reach which is said."""
    assert "another project" not in cli("init", "outer").err
    done = cli("init", "outer/inner")

    assert 0 == done.code
    assert f"note: it lies inside another project, {bench.path('work/outer')}; " in done.err


def test_a_hybrid_first_gene(cli, bench):
    """The fidelity is as given; a Hybrid has its network settings."""
    cli("init", "mine", "--fidelity", "Hybrid")
    phenotype = json.loads(bench.text("work/mine/genes/hello-world/phenotype.json"))

    assert "Hybrid" == phenotype["fidelity"]
    assert [] == phenotype["network"]["allowedDomains"]


def test_what_a_killed_init_left(cli, bench):
    """Its draft goes with the next init of that name, once it is old; nothing else does."""
    names = (".mine.17.tmp", ".mine.18.tmp", ".other.17.tmp", ".mine.tmp", ".mine.x.tmp")
    for name in names:
        bench.put(f"work/{name}/genes/g/index.ts", "")
        if name != ".mine.18.tmp":
            os.utime(bench.path("work", name), (1, 1))
    os.symlink("/", bench.path("work/.mine.19.tmp"))
    os.utime(bench.path("work/.mine.19.tmp"), (1, 1), follow_symlinks=False)

    assert 0 == cli("init", "mine").code
    assert sorted([*names[1:], ".mine.19.tmp", "mine"]) == sorted(os.listdir(bench.path("work")))


def test_a_path_with_parents(cli, bench):
    """Parents are made; the last part is the name."""
    assert 0 == cli("init", "some/where/mine").code
    assert "mine" == json.loads(bench.text("work/some/where/mine/rotifer.json"))["name"]


def test_the_first_agent_remembers(cli, bench, monkeypatch):
    """What init prints as the next steps works, and the second greeting knows the first."""
    cli("init", "a b#%ü")
    monkeypatch.chdir(bench.path("work/a b#%ü"))

    assert 0 == cli("agent", "create", "hello", "-g", "hello-world").code
    assert "Hello, Ada!" in cli("agent", "run", "hello", "--input", '{"name": "Ada"}').out
    assert "Hello again, Ada!" in cli("agent", "run", "hello", "--input", "{}").out


def test_the_first_gene_without_an_agent(cli, bench, monkeypatch):
    """It has no memory then: the error says what gives it one, and that works."""
    cli("init", "mine")
    monkeypatch.chdir(bench.path("work/mine"))
    done = cli("run", "hello-world")

    assert 1 == done.code
    assert "MEMORY_ACCESS_DENIED: no agent runs this gene, so it has no memory\n" in done.err
    assert "help: let an agent run it: 'rotifer agent create NAME -g hello-world'" in done.err
    assert 0 == cli("agent", "create", "hello", "-g", "hello-world").code
    assert 0 == cli("agent", "run", "hello").code


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["../mine"], "'..' is not allowed"),
        (["a/../../mine"], "'..' is not allowed"),
        ([".."], "'..' is not allowed"),
        (["."], "is not a project name"),
        ([""], "is not a project name"),
        ([".hidden"], "is not a project name"),
        (["a\nb"], "is not a project name"),
        (["a\\b"], "is not a project name"),
        (["x" * 101], "101 characters; the limit is 100"),
        (["mine", "--domain", "No Domain"], "is not a domain"),
        (["mine", "--fidelity", "fast"], "is not a fidelity"),
    ],
)
def test_refused(cli, bench, argv, words):
    """One message, exit code 1, and nothing made."""
    done = cli("init", *argv)

    assert 1 == done.code
    assert words in done.err
    assert "" == done.out
    assert [] == os.listdir(bench.path("work"))
    assert ["genes", "work"] == sorted(os.listdir(bench.root))


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_left_alone(cli, bench, kind):
    """A folder, a file and even a dangling link of that name."""
    path = bench.path("work/mine")
    if kind == "folder":
        os.mkdir(path)
    elif kind == "file":
        bench.put("work/mine", "x")
    else:
        os.symlink("nowhere", path)
    done = cli("init", "mine")

    assert 1 == done.code
    assert "exists already" in done.err
    assert ["mine"] == os.listdir(bench.path("work"))


def test_a_failure_in_the_middle_leaves_nothing(cli, bench, monkeypatch):
    """No half project that a second try would stumble over."""

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_scaffold, "wrap", full)
    done = cli("init", "mine")

    assert 1 == done.code
    assert "No space left on device" in done.err
    assert [] == os.listdir(bench.path("work"))


@pytest.mark.parametrize("kind", ["project", "file"])
def test_somebody_was_faster(cli, bench, monkeypatch, kind):
    """What came to be there meanwhile stays, and is told as what was there before."""
    before = _scaffold.wrap

    def wrap(*arguments):
        monkeypatch.setattr(_scaffold, "wrap", before)
        if kind == "file":
            bench.put("work/mine", "x")
        else:
            _scaffold.init_project("mine", domain="theirs")
        return before(*arguments)

    monkeypatch.setattr(_scaffold, "wrap", wrap)
    done = cli("init", "mine")

    assert (1, "") == (done.code, done.out)
    assert "error: 'mine' exists already\n" in done.err
    assert "help: choose another name, or remove it first" in done.err
    assert ["mine"] == os.listdir(bench.path("work"))
    if kind == "project":
        assert "theirs" == json.loads(bench.text("work/mine/rotifer.json"))["default_domain"]


def test_many_at_once(rotifer, bench):
    """One of them makes it, and the others are told that it is there."""
    with ThreadPoolExecutor(4) as threads:
        tries = [threads.submit(rotifer, "init", "mine", cwd=bench.path("work")) for _ in range(4)]
        done = [each.result() for each in tries]

    assert [0, 1, 1, 1] == sorted(each.code for each in done)
    assert all("'mine' exists already" in each.err for each in done if each.code)
    assert ["mine"] == os.listdir(bench.path("work"))
