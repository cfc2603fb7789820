"""Errors about what cannot be read or written say what to do next."""

from __future__ import annotations

import os

import pytest

from rotifer_bridge import Project
from rotifer_bridge.errors import ProjectError

LINK = "help: put the file itself there, no symbolic link"
PATH = "help: check the path"


@pytest.mark.parametrize(
    ("link", "argv", "said"),
    [
        ("genes/one/odd.ts", ["info", "one"], ("cannot read this file: Too many", LINK)),
        ("genes/one/testsuite.json", ["test", "one"], ("cannot read this: Too many", LINK)),
        ("", ["agent", "run", "keeper", "--input", "@no"], ("cannot read the input in no", PATH)),
        ("", ["agent", "memory", "import", "keeper", "no"], ("cannot read this: no such", PATH)),
        ("", ["agent", "memory", "export", "keeper", "no/x"], ("cannot write this: no", PATH)),
        ("", ["init", "rotifer.json/x"], ("cannot make the project: ", "help: move what is there")),
        ("", ["serve", "--host", "no.such.invalid"], ("cannot be resolved", "help: give one of")),
    ],
)
def test_the_next_step(cli, bench, link, argv, said):
    """One message with the system's reason, and the way out."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    if link:
        os.symlink(os.path.basename(link), bench.path(link))
    done = cli(*argv)

    assert 1 == done.code
    for words in said:
        assert words in done.out + done.err


def test_a_configuration_that_is_a_folder(bench):
    """From Python, the same."""
    os.unlink(bench.path("rotifer.json"))
    os.mkdir(bench.path("rotifer.json"))
    with pytest.raises(ProjectError, match="cannot read this: is a directory") as caught:
        Project(bench.root)

    assert "name a file, or move the folder away" in caught.value.help
