"""The host sensor: what everyone may know, and nothing of anybody."""

from __future__ import annotations

import getpass
import os
import re
import socket
import sys

from rotifer_bridge._sensor import MOST_FILES, sense


def test_it_tells_host_and_project(bench):
    """System, Python, Node, the project's name and its languages, each by its name."""
    bench.gene("a", {"index.ts": "", "more.mts": "", "data.py": ""})
    facts = sense(bench.project()).facts

    assert ["os", "python", "node", "project", "languages"] == list(facts)
    assert f"{os.uname().sysname} {os.uname().machine}" == facts["os"]
    assert ".".join(map(str, sys.version_info[:3])) == facts["python"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["node"])
    assert "bench" == facts["project"]
    assert "TypeScript, Python" == facts["languages"]


def test_nothing_in_it_is_personal(bench):
    """No user, no host, no path, no name of a file."""
    bench.gene("secret-gene", {"index.ts": "", "diary.py": ""})
    text = " ".join(sense(bench.project()).facts.values())

    private = (getpass.getuser(), socket.gethostname(), os.path.expanduser("~"), bench.root, os.uname().release)  # fmt: skip

    assert not set(private) & set(re.split(r"[\s,]+", text))
    for piece in ("/", "\\", "secret", "diary"):
        assert piece not in text


def test_what_is_not_the_projects_own_does_not_count(bench):
    """Installed packages, hidden folders and what links lead to are not its languages."""
    for path in ("node_modules/x/index.js", ".cache/x.rs", "genes/__pycache__/x.py"):
        bench.put(path, "")
    os.symlink("/usr/lib", bench.path("elsewhere"))
    bench.put("script.sh", "")

    assert "Shell" == sense(bench.project()).facts["languages"]


def test_what_cannot_be_told_is_left_out(bench, monkeypatch):
    """No Node and no known language are no facts."""
    monkeypatch.setenv("ROTIFER_NODE", bench.path("no such node"))

    assert ["os", "python", "project"] == list(sense(bench.project()).facts)


def test_looking_has_an_end(bench):
    """A project of more files than that is sensed by its first ones."""
    for number in range(MOST_FILES + 10):
        with open(bench.path("genes", f"{number:06}.txt"), "w", encoding="ascii"):
            pass
    bench.put("genes/zz.rs", "")

    assert "languages" not in sense(bench.project()).facts


def test_one_call_refreshes_the_layer(bench):
    """The entries are those of the facts, and asking again changes nothing."""
    project = bench.project()
    first = project.refresh_environment()
    again = project.refresh_environment()
    listed = project.layers().list(layer="environment")
    project.close()

    assert first == again
    assert {"os", "python", "node", "project"} == {each.key for each in first}
    assert sorted(listed) == sorted(first)
