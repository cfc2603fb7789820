"""The documentation is true: its examples run, its links lead somewhere, its tables are whole."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from typing import NamedTuple

import click
import pytest
from tests import npm

import rotifer_bridge
import rotifer_engine
from rotifer_bridge import Project, _agent, _gene, _json, _log, _phenotype, _sandbox, _worker
from rotifer_bridge._cli import _agent_run
from rotifer_bridge._cli._app import root as commands
from rotifer_bridge._scaffold import init_project
from rotifer_engine import (
    CATEGORIES,
    DEFAULT_QUOTA_BYTES,
    ERROR_CODES,
    SCOPES,
    SHARE_POLICIES,
    AgentMemory,
    AuditLog,
    Caller,
    DataPolicy,
    QuotaExceeded,
    SqliteStore,
    Telemetry,
    format_size,
    replay,
)
from rotifer_engine._audit import ACTIONS, Record
from rotifer_engine._filter import DEFAULT_LIMIT, FILTER_FIELDS, MAX_ANSWER_BYTES, MAX_LIMIT
from rotifer_engine._input import MAX_KEY_BYTES, MAX_VALUE_BYTES
from rotifer_engine._policy import MAX_RETENTION_DAYS

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def page(path):
    """The text of a page."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


PAGES = sorted(
    os.path.relpath(path, TOP)
    for pattern in ("*.md", "docs/*.md", "js-shim/*.md", "examples/*/*.md", "tests/*/README.md")
    for path in glob(os.path.join(TOP, pattern))
)


class Block(NamedTuple):
    """A fenced block: its language, its text, the line before it."""

    language: str
    text: str
    before: str


def blocks(path):
    """The fenced blocks of a page, in order."""
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", page(path), re.DOTALL | re.MULTILINE)
    return [
        Block(match[1], match[2], page(path)[: match.start()].rstrip().rsplit("\n", 1)[-1])
        for match in found
    ]


def section(path, title):
    """The part of a page under a heading, up to the next heading of any level."""
    found = re.search(rf"^#+ {title}$(.*?)(?=^#|\Z)", page(path), re.DOTALL | re.MULTILINE)
    assert found, f"{path} has no section {title!r}"
    return found[1]


def first_cells(text):
    """What stands in backticks in the first cell of each row of the tables of a text."""
    rows = re.findall(r"^\| ?(`[^|]*?) ?\|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


# ---- links and commands


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path):
    """Every anchor of a page."""
    text = re.sub(r"^```.*?^```$", "", page(path), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("path", PAGES)
def test_every_internal_link_leads_somewhere(path):
    """A link to a file or a heading of ours finds it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page(path)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        whole = os.path.join(TOP, there)
        if not os.path.exists(whole) or (anchor and anchor not in anchors(there)):
            broken.append(target)

    assert [] == broken


def called(path):
    """The words of each call of `rotifer` in the code of a page."""
    text = re.sub(r"^```.*?^```$", "", page(path), flags=re.DOTALL | re.MULTILINE)
    code = [
        line
        for block in blocks(path)
        if block.language in {"", "console", "sh"}
        for line in block.text.splitlines()
    ]
    code += [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text)]
    for line in code:
        found = re.match(r"(?:\$ |next: )?rotifer ([^#]*)", line.strip())
        if found:
            yield found[1].split(" | jq")[0].split()


@pytest.mark.parametrize("path", PAGES)
def test_every_command_named_exists(path):
    """No page names a command, or an option of one, that `rotifer --help` does not lead to."""
    unknown = []
    for words in called(path):
        command, rest = commands, list(words)
        while isinstance(command, click.Group) and rest and re.fullmatch("[a-z]+", rest[0]):
            command = command.get_command(click.Context(command), rest.pop(0))
        if command is None:
            unknown.append(" ".join(words))
            continue
        known = {name for option in command.params for name in option.opts + option.secondary_opts}
        given = re.findall(r"(?:^|[\s(\[])(--?[a-z][a-z-]*)", " ".join(rest))
        unknown += [
            f"{' '.join(words)}: {name}"
            for name in given
            if name not in known | {"-h", "--help", "--version"}
        ]

    assert [] == unknown


# ---- tables and figures


def test_the_memory_page_has_every_word_of_the_tables():
    """Categories, scopes, share policies, filters and error codes: all of them, and no others."""
    path = "docs/memory.md"

    assert list(CATEGORIES) == first_cells(section(path, "Categories"))
    assert [*SCOPES, *SHARE_POLICIES] == first_cells(section(path, "Who may do what"))
    assert set(FILTER_FIELDS) == set(first_cells(section(path, "The four calls"))) - {
        "retentionPolicy: null"
    }
    assert list(ERROR_CODES) == first_cells(section(path, "Errors"))


def test_the_memory_page_names_the_python_error_of_each_code():
    """Each row of the table of errors has the code's exception."""
    rows = section("docs/memory.md", "Errors")

    for error in rotifer_engine.AgentMemoryError.__subclasses__():
        assert re.search(rf"^\| `{error.code}` \|.*`{error.__name__}`", rows, re.MULTILINE)


def test_the_audit_page_has_every_action_and_field():
    """Each action with its result and code, each field of a line: all of them, and no others."""
    path = "docs/audit.md"
    line = json.loads(Record("memory.denied", reason="x").to_line("", ""))
    actions = section(path, "Actions")

    assert list(line) == first_cells(section(path, "Fields"))
    assert [*ACTIONS] == [name for name in first_cells(actions) if name.startswith("memory.")]
    for name, action in ACTIONS.items():
        code = f"`{action.code}`" if action.code else ""
        assert re.search(
            rf"^\| `{name}` \|.*\| `{action.result}` \| ?{code} ?\|$", actions, re.MULTILINE
        )


def test_the_audit_page_has_every_field_of_telemetry(tmp_path):
    """An event that is really written has the fields of the table."""
    telemetry = Telemetry(str(tmp_path / "telemetry.jsonl"))
    telemetry.denied(agent_id="a", gene_id=None, gene_domain=None, operation="read", entry_id=None)
    event = json.loads((tmp_path / "telemetry.jsonl").read_text())
    rows = first_cells(section("docs/audit.md", "Telemetry"))

    assert list(event) == [name for name in rows if not name.isupper()]
    assert {"ROTIFER_TELEMETRY", "DO_NOT_TRACK"} == {name for name in rows if name.isupper()}
    assert f"`{event['event']}`" in section("docs/audit.md", "Telemetry")


FIGURES = {
    "docs/memory.md": {
        "Entries": (f"{MAX_KEY_BYTES:,} bytes", f"{MAX_VALUE_BYTES:,} bytes"),
        "The four calls": (
            f"1 to {MAX_LIMIT:,}, default {DEFAULT_LIMIT}",
            f"{MAX_ANSWER_BYTES:,} bytes",
        ),
        "Quota and eviction": (format_size(DEFAULT_QUOTA_BYTES),),
    },
    "docs/genes.md": {
        "Limits": (
            f"{_agent.TIME_LIMIT:g} s",
            f"up to {_agent.TIME_LIMIT_MAX:,.0f} s",
            f"output | {_worker.MAX_OUTPUT:,} bytes",
            f"`--input` | {_agent_run.INPUT_LIMIT:,} bytes",
            f"{_log.RUN_LIMIT:,} bytes of each",
            f"{_log.LINES_LIMIT:,} lines",
            f"{_json.MAX_VALUES:,}",
            f"{_sandbox.HEAP_MIB:,} MiB",
            f"{_gene.BYTES_LIMIT:,} bytes and {_gene.FILES_LIMIT:,} files",
            f"{_phenotype.DEPTH_LIMIT} levels",
        ),
    },
}


@pytest.mark.parametrize(("path", "title"), [(p, t) for p, found in FIGURES.items() for t in found])
def test_figures_are_those_of_the_code(path, title):
    """A limit on a page is the limit in force."""
    for figure in FIGURES[path][title]:
        assert figure in section(path, title)


def test_the_retention_of_the_types_is_that_of_the_engine():
    """The largest number of days stands in the types that gene authors see."""
    assert f"1 to {MAX_RETENTION_DAYS}" in page("js-shim/rotifer_shim/memory.d.ts")


def test_every_error_code_of_the_bridge_is_explained():
    """The table of E-codes has each code that the sources can give, and no others."""
    used = set()
    for source in glob(os.path.join(TOP, "bridge", "rotifer_bridge", "**", "*.py"), recursive=True):
        used |= set(re.findall(r"\"(E\d{4})\"", page(source)))

    assert used == {name for name in first_cells(section("docs/genes.md", "Errors")) if name[1:].isdigit()}  # fmt: skip


def test_every_exception_of_the_bridge_is_explained():
    """The table of exceptions is the family, whole."""
    family = [name for name in rotifer_bridge.__all__ if issubclass(getattr(rotifer_bridge, name), Exception)]  # fmt: skip

    assert sorted(family) == sorted(first_cells(section("docs/python.md", "Errors")))


def test_the_python_page_names_only_what_there_is():
    """Every name that an example or a table takes from the packages can be had there."""
    named = set(re.findall(r"^\| `([A-Z]\w+)[`(]", section("docs/python.md", "The memory alone"), re.MULTILINE))  # fmt: skip

    assert {"AgentMemory", "SqliteStore", "AuditLog", "Telemetry", "Caller", "Entry"} <= named
    assert named <= set(rotifer_engine.__all__)


# ---- examples


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A shell's environment in which `rotifer` and `python` are those under test."""
    folder = tmp_path_factory.mktemp("bin")
    for name, words in (("rotifer", "-m rotifer_bridge "), ("python", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}"$@"\n')
        path.chmod(0o755)
    gone = {"ROTIFER_TELEMETRY", "DO_NOT_TRACK"}
    kept = {name: value for name, value in os.environ.items() if name not in gone}
    path = f"{folder}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


def shell(command, cwd, environment):
    """Run a command as a reader types it; its exit code and all that it printed, in order."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def greeter(tmp_path_factory):
    """The project that the README's five minutes make, before its first run."""
    folder = str(tmp_path_factory.mktemp("greeter") / "my-agent")
    init_project(folder)
    Project(folder).create_agent("greeter", ["hello-world"]).close()
    return folder


PYTHON = [
    pytest.param(block, follower, id=f"{path}-{number}")
    for path in (
        "README.md",
        "docs/python.md",
        "docs/audit.md",
        "docs/conformance.md",
        "docs/export.md",
        "docs/layers.md",
    )
    for number, (block, follower) in enumerate(
        zip(blocks(path), [*blocks(path)[1:], None], strict=True)
    )
    if block.language == "python"
]


@pytest.mark.parametrize(("block", "follower"), PYTHON)
def test_python_examples_run(block, follower, greeter, environment, tmp_path):
    """An example runs without a warning and prints what the page says, if it says it."""
    project = str(tmp_path / "my-agent")
    shutil.copytree(greeter, project)
    shell('rotifer agent run greeter --input \'{"name": "Ada"}\'', project, environment)
    script = tmp_path / "example.py"
    script.write_text(block.text)

    code, printed = shell(
        f"python -W error {shlex.quote(str(script))}",
        project,
        environment,
    )

    assert 0 == code, printed
    if follower is not None and follower.language == "text":
        assert follower.text == printed


def write_shown(block, folder):
    """Write the file that a block shows, if it shows one; whether it does."""
    named = re.search(r"`(genes/[^`]+)`:$", block.before)
    if named:
        target = os.path.join(folder, named[1])
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(block.text)
    return named is not None


def as_pattern(lines):
    """What was printed, as a pattern: `...` stands for anything."""
    return re.escape("".join(lines)).replace(re.escape("..."), ".*")


def played(path, folder, environment):
    """Follow a page: write the files it shows, type its commands, look at what they print."""
    cwd = str(folder)
    for block in blocks(path):
        if not write_shown(block, cwd) and block.language == "console":
            steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
            for command, expected in steps:
                if command.startswith("cd "):
                    cwd = os.path.join(cwd, command[3:])
                    continue
                _, printed = shell(command, cwd, environment)
                assert re.fullmatch(as_pattern(expected), printed, re.DOTALL), (command, printed)
    return cwd


@pytest.mark.skipif(shutil.which("jq") is None, reason="the page's commands need jq")
def test_the_page_on_genes_can_be_followed(tmp_path, environment):
    """Its genes, written and run as the page says, print what the page says."""
    project = played("docs/genes.md", tmp_path, environment)

    assert {"word-count", "digest", "greeter", "notes", "quotes"} == set(os.listdir(os.path.join(project, "genes")))  # fmt: skip


def test_the_genes_of_the_page_are_well_typed(tmp_path, node_path):
    """A project as `rotifer init` makes it, with the page's genes, passes tsc."""
    project = str(tmp_path / "notebook")
    init_project(project, first_gene=False)
    shown = [write_shown(block, project) for block in blocks("docs/genes.md")]
    done = subprocess.run(
        [node_path, npm.installed(npm.TSC), "-p", project],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stdout)
    assert any(shown)


def test_the_five_minutes_of_the_readme(tmp_path, environment):
    """The commands work one after the other, and the name is remembered as the comment says."""
    [walk] = [block.text for block in blocks("README.md") if "rotifer init" in block.text]

    code, printed = shell(f"set -e\n{walk}", str(tmp_path), environment)

    assert 0 == code, printed
    assert "Hello, Ada!" in printed
    assert "Hello again, Ada!" in printed
    assert "hello-world/name" in printed


# ---- the log, read with jq


@pytest.fixture
def log(tmp_path):
    """A log with every action that can be had without a crash, half a line, and a foreign one."""
    os.mkdir(tmp_path / ".rotifer")
    store = SqliteStore(str(tmp_path / ".rotifer" / "playground.db"))
    audit = AuditLog(str(tmp_path / ".rotifer" / "audit.jsonl"))
    telemetry = Telemetry(str(tmp_path / ".rotifer" / "telemetry.jsonl"))
    memory = AgentMemory(store, "agent-1", quota_bytes=20, audit=audit, telemetry=telemetry)
    gene, stranger = Caller("v2:" + "a" * 64, "code"), Caller("v2:" + "b" * 64, "other")
    memory.write(gene, "old", b"12345", "CACHE")
    memory.write(gene, "draft", b"1234567890", "PATTERN")
    memory.write(gene, "lost", b"1", "CONTEXT")
    with pytest.raises(QuotaExceeded):
        memory.write(gene, "big", bytes(30), "CACHE")
    for _ in range(2):
        with pytest.raises(rotifer_engine.AccessDenied):
            memory.read(stranger, "draft")
    memory.delete_key("draft")
    path = tmp_path / ".rotifer" / "audit.jsonl"
    change = json.loads(path.read_text().splitlines()[-1])["change_id"].partition("-")[0] + "-gone"
    ghost = {"agent_id": "agent-1", "key": "ghost", "size": 5, "change_id": change}
    with open(path, "a", encoding="ascii") as file:
        file.write('{"note":"of another program"}\n7\n')
        file.write(json.dumps({"action": "memory.create", **ghost}) + '\n{"torn":\n')
    # The next append finds that the database knows nothing of the ghost.
    AgentMemory(store, "agent-1", data_policy=DataPolicy(1, False, False), audit=audit, telemetry=telemetry).write(gene, "kept", b"1", "CACHE")  # fmt: skip
    for part in (store, audit, telemetry):
        part.close()
    return path


JQ = [block.text for block in blocks("docs/audit.md") if block.language == "sh"]
SEEN = {
    "[.ts, .action, .key] | @tsv": "memory.evict\told",
    'select(.key == "draft")': '"memory.delete","delete","deployer"]',
    'select(.action == "memory.denied")': '[2,"v2:' + "b" * 64 + '","readScope is SAME_DOMAIN"]',
    'select(.gene_id == "deployer"': "\tdraft",
    'select(.action == "memory.evict")': '{"CACHE":8}',
    'select(.action == "memory.abandoned") | .change_id': "-gone",
    "map_values(keys)": '{"agent-1":["kept","lost"]}',
}


@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq here")
@pytest.mark.parametrize("command", JQ, ids=range(len(JQ)))
def test_jq_lines_say_what_they_promise(command, log, environment):
    """Each runs over a log with torn and foreign lines and finds what it is for."""
    [expected] = [seen for mark, seen in SEEN.items() if mark in command]

    code, printed = shell(command, str(log.parent.parent), environment)

    assert 0 == code, printed
    assert expected in printed
    if expected.startswith("{"):
        assert expected == printed.strip()


def test_the_log_of_these_tests_is_what_replay_says(log):
    """The keys that the page's jq line must find are those that the engine itself finds."""
    with open(log, "rb") as file:
        assert {"agent-1": {"kept", "lost"}} == replay(file)


def test_every_jq_line_is_tried():
    """A new line on the page needs to be here too."""
    assert len(SEEN) == len(JQ)
