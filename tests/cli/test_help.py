"""Every command and option explains itself, and stands in docs/commands.md."""

from __future__ import annotations

import os
import re

import click
import pytest
from click.testing import CliRunner

from rotifer_bridge._cli._agent_run import parse
from rotifer_bridge._cli._app import root

DOC = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "docs", "commands.md")


def commands(group=root, path=("rotifer",)):
    """All commands below the root, with the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = dict(commands())
LEAVES = {path: command for path, command in ALL.items() if not isinstance(command, click.Group)}
OPTIONS = [
    pytest.param(path, option, id=f"{' '.join(path)} {option.opts[-1]}")
    for path, command in LEAVES.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def section(path):
    """The part of the page that is about this command."""
    with open(DOC, encoding="utf-8") as file:
        text = file.read()
    found = re.search(rf"^## `{' '.join(path)}`$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, f"docs/commands.md has no section on {' '.join(path)}"
    return found[1]


def test_the_commands_are_there():
    """The commands of the projects page exist under their names."""
    assert {
        ("rotifer", "init"),
        ("rotifer", "wrap"),
        ("rotifer", "list"),
        ("rotifer", "info"),
        ("rotifer", "run"),
        ("rotifer", "test"),
        ("rotifer", "compile"),
        ("rotifer", "agent", "create"),
        ("rotifer", "agent", "set"),
        ("rotifer", "agent", "list"),
        ("rotifer", "agent", "run"),
        ("rotifer", "agent", "delete"),
        ("rotifer", "agent", "memory", "list"),
        ("rotifer", "agent", "memory", "delete"),
        ("rotifer", "agent", "memory", "export"),
        ("rotifer", "agent", "memory", "import"),
        ("rotifer", "agent", "memory", "check"),
        ("rotifer", "agent", "memory", "audit"),
        ("rotifer", "memory", "migrate"),
        ("rotifer", "memory", "move"),
        ("rotifer", "serve"),
        ("rotifer", "token", "create"),
        ("rotifer", "token", "list"),
        ("rotifer", "token", "revoke"),
        ("rotifer", "node", "install"),
        ("rotifer", "doctor"),
        ("rotifer", "conformance"),
    } == set(LEAVES)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help(path):
    """A command says what it does, and its help can be printed."""
    done = CliRunner().invoke(root, [*path[1:], "--help"])

    assert ALL[path].help
    assert 0 == done.exit_code
    assert done.output.startswith(f"Usage: {' '.join(path)}".replace("rotifer", "rotifer", 1))


@pytest.mark.parametrize(("path", "option"), OPTIONS)
def test_every_option_has_help(path, option):
    """An option says what it does, in a sentence."""
    assert option.help
    assert option.help[0].isupper()


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_is_on_the_page(path):
    """The page has a section for it, which begins with how it is called."""
    assert f"```\n{' '.join(path)}" in section(path)


@pytest.mark.parametrize(("path", "option"), OPTIONS)
def test_every_option_is_on_the_page(path, option):
    """The command's section names the option, each of its spellings."""
    text = section(path)

    for spelling in [*option.opts, *option.secondary_opts]:
        if spelling.startswith("-"):
            assert f"`{spelling}`" in text


def test_the_page_has_no_command_that_is_gone():
    """A section without a command would be a lie."""
    with open(DOC, encoding="utf-8") as file:
        named = re.findall(r"^## `(rotifer .*)`$", file.read(), re.MULTILINE)

    assert {" ".join(path) for path in LEAVES} == set(named)


def test_the_first_table_has_every_command():
    """Each command stands once in the table at the top of the page, with a link to its section."""
    with open(DOC, encoding="utf-8") as file:
        rows = re.findall(r"^\| \[`(rotifer .*?)`\]\(#(.*?)\) \|", file.read(), re.MULTILINE)

    assert sorted((" ".join(path), "-".join(path)) for path in LEAVES) == sorted(rows)


@pytest.mark.parametrize(
    "option", [p for p in LEAVES["rotifer", "agent", "run"].params if isinstance(p, click.Option)]
)
def test_both_parsers_of_agent_run_know_every_option(option):
    """The quick parser and click agree on what there is."""
    words = [option.opts[0], *([] if option.is_flag else ["1"])]

    assert parse(["name", *words]) is not None
    assert parse(["name"]) != parse(["name", *words])


@pytest.mark.parametrize(
    "words",
    [
        "agent memory export keeper",
        "agent memory import keeper",
        "agent set keeper --data-policy",
        "compile g --wasm",
        "wrap g --from-skill",
        "serve --token-file",
        "token create --admin --token-file",
        "token list --token-file",
        "token revoke 0123456789ab --token-file",
        "run g --input @",
        "agent run keeper --input @",
    ],
)
def test_an_empty_name_of_a_file(cli, bench, words):
    """A variable of the shell's that is not set: said as that, not as a file that is missing."""
    bench.gene("g")
    bench.record(1, genome=["g"])
    done = cli(*words.split(), *([] if words.endswith("@") else [""]))

    assert (1, "") == (done.code, done.out)
    assert "the name of the file is empty\nhelp: " in done.err
