"""Finding a project and reading its configuration."""

from __future__ import annotations

import os
import stat

import pytest

from rotifer_bridge._project import Project, find_root
from rotifer_bridge.errors import ProjectError


def test_found_from_below(bench):
    """The nearest folder upwards counts."""
    os.makedirs(bench.path("genes", "a", "lib"))

    assert bench.root == Project.find(bench.path("genes", "a", "lib")).root


def test_found_from_the_working_folder(bench, monkeypatch):
    """Without a start it is where the person stands."""
    monkeypatch.chdir(bench.path("genes"))

    assert bench.root == Project.find().root


def test_the_nearest_one_wins(bench):
    """A project inside another one is its own."""
    bench.put("genes/inner/rotifer.json", {})

    assert bench.path("genes", "inner") == find_root(bench.path("genes", "inner"))


def test_none(tmp_path):
    """Outside a project the words of the reference say what to do."""
    with pytest.raises(ProjectError, match="Not in a Rotifer Agent workspace") as caught:
        Project.find(tmp_path)

    assert "Run 'rotifer init' first." in str(caught.value)
    assert f"no rotifer.json in {tmp_path} or a folder above it" in caught.value.help


@pytest.mark.parametrize("name", ["none", "file"])
def test_a_folder_that_is_none(tmp_path, name):
    """The message alone says which folder it was about."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ProjectError) as caught:
        Project(tmp_path / name)
    assert f"{tmp_path / name} is no project: there is no rotifer.json" == str(caught.value)
    assert "Project.find()" in caught.value.help


def test_configuration(bench):
    """What is written counts, the rest has defaults, unknown fields are kept."""
    bench.put("rotifer.json", b'\xef\xbb\xbf{"name": "n", "genes_dir": "src/genes", "x": [1]}')
    os.makedirs(bench.path("src", "genes"))
    project = bench.project()

    assert "n" == project.name
    assert "general" == project.default_domain
    assert bench.path("src", "genes") == project.genes_dir
    assert [1] == project.config["x"]


def test_genes_beside_the_configuration(bench):
    """The project's own folder may be the folder of genes."""
    bench.put("rotifer.json", {"genes_dir": "."})
    bench.put(
        "a/phenotype.json",
        bench.text(os.path.relpath(bench.gene("a"), bench.root) + "/phenotype.json"),
    )

    assert ["a"] == bench.project().gene_names()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "not JSON: line 1"),
        ("", "it is empty"),
        ("[]", "not an object"),
        ('{"genes_dir": 3}', "not the name of a folder"),
        ('{"genes_dir": ""}', "not the name of a folder"),
        ('{"genes_dir": "/etc"}', "leaves the project"),
        ('{"genes_dir": ".."}', "leaves the project"),
        ('{"genes_dir": "genes/../../x"}', "leaves the project"),
    ],
)
def test_bad_configuration(bench, data, words):
    """Each fault is one message that names the file."""
    bench.put("rotifer.json", data)

    with pytest.raises(ProjectError, match=words) as caught:
        bench.project()
    assert bench.path("rotifer.json") == caught.value.where


def test_genes_dir_that_links_out(bench, tmp_path):
    """A link is no way out either."""
    os.rmdir(bench.path("genes"))
    os.symlink(tmp_path, bench.path("genes"))

    with pytest.raises(ProjectError, match="leaves the project"):
        bench.project()


def test_state_folders_are_private(bench):
    """New ones are made 0700, and ones that are open to others are closed."""
    os.makedirs(bench.path(".rotifer"), 0o755)
    bench.project().make_state_dirs()

    for folder in (".rotifer", ".rotifer/agents"):
        assert 0o700 == stat.S_IMODE(os.stat(bench.path(folder)).st_mode)


@pytest.mark.parametrize("folder", [".rotifer", ".rotifer/agents"])
def test_state_folders_that_are_links_are_refused(bench, tmp_path, folder):
    """A planted link would move the private files to where others read them."""
    bench.project().make_state_dirs()
    os.rmdir(bench.path(".rotifer", "agents"))
    if folder == ".rotifer":
        os.rmdir(bench.path(".rotifer"))
    os.symlink(tmp_path, bench.path(folder))

    with pytest.raises(ProjectError, match="symbolic link"):
        bench.project()
