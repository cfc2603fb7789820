"""``rotifer agent run``: its input, and how the run is shown."""

from __future__ import annotations

import io
import json
import sys

import pytest

from rotifer_bridge._cli._agent_run import parse, read_input
from rotifer_bridge.errors import UsageError

ECHO = "export const express = (input) => ({ got: input });\n"


@pytest.fixture
def echo(bench):
    """An agent that gives back what it gets."""
    bench.gene("echo", {"index.ts": ECHO})
    bench.record(1, "echo", ("echo",), composition=None)


def test_output_for_people(cli, echo):
    """The output as JSON on stdout, and nothing else there."""
    done = cli("agent", "run", "echo", "--input", '{"a": [1, "é\\u202e"]}')

    assert 0 == done.code, done.err
    assert {"got": {"a": [1, "é\u202e"]}} == json.loads(done.out)
    assert "é\\u202e" in done.out
    assert "" == done.err


def test_one_json_document(cli, echo):
    """Agent, composition, output, steps, durations: exactly these."""
    done = cli("agent", "run", "echo", "--json", "--input", "[]")
    document = json.loads(done.out)

    assert 1 == len(done.out.splitlines())
    assert document.pop("durationMs") > 0
    assert document["steps"][0].pop("durationMs") > 0
    assert {
        "agent": "echo",
        "composition": "Single",
        "output": {"got": []},
        "steps": [{"gene": "echo", "engine": "node", "status": "ok"}],
    } == document


def test_logs_are_not_the_result(cli, bench):
    """What a gene prints is on stderr under its name, and cannot drive the terminal."""
    bench.gene(
        "loud",
        {"index.ts": 'export const express = () => { console.log("\\x1b[2Jhi"); return 1; };'},
    )
    bench.record(1, "loud", ("loud",))
    done = cli("agent", "run", "loud", "--json")

    assert 1 == json.loads(done.out)["output"]
    assert "[loud] \\x1b[2Jhi\n" in done.err


def test_verbose(cli, echo):
    """Who ran and how long, on stderr."""
    done = cli("agent", "run", "echo", "--verbose")

    assert "agent echo (Single): echo" in done.err
    assert "[1/1] echo: ok (node, " in done.err
    assert {"got": {"name": "world"}} == json.loads(done.out)


@pytest.mark.parametrize(
    ("files", "fields", "words"),
    [
        ({"index.ts": "export const express = ("}, {}, "could not be loaded"),
        ({"index.ts": ECHO}, {"inputSchema": {"required": ["n"]}}, '"n" is a required property'),
        ({"index.ts": ECHO}, {"inputSchema": {"type": "x"}}, "inputSchema cannot be used"),
    ],
)
def test_verbose_of_a_run_that_fails(cli, bench, files, fields, words):
    """What ran before the gene that could not is told, whatever the fault."""
    bench.gene("echo", {"index.ts": ECHO})
    bench.gene("last", files, **fields)
    bench.record(1, "chain", ("echo", "echo", "last"))
    done = cli("agent", "run", "chain", "--verbose", "--strict", "--input", '{"n": 1}')

    assert 1 == done.code
    assert "echo: ok (node, " in done.err
    assert words in done.err


def test_no_sandbox_is_accepted(cli, echo):
    """The reference's flag is known."""
    assert 0 == cli("agent", "run", "echo", "--no-sandbox").code


def test_schemas_are_checked(cli, bench):
    """An input that does not fit is a warning with the path, an error with --strict."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    bench.gene("echo", {"index.ts": ECHO}, inputSchema=schema)
    bench.record(1, "echo", ("echo",))
    argv = ["agent", "run", "echo", "--input", '{"n": "x"}']

    loose, strict = cli(*argv), cli(*argv, "--strict")
    assert 0 == loose.code
    assert "warning:" in loose.err
    assert "$.n" in loose.err
    assert (1, "") == (strict.code, strict.out)
    assert "$.n" in strict.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nobody"], "error[E0050]: agent 'nobody' does not exist"),
        (["../x"], "error[E0050]: agent '../x' does not exist"),
        ([], "missing argument 'AGENT'"),
        (["echo", "more"], "unexpected extra argument"),
        (["echo", "--input"], "requires an argument"),
        (["echo", "--nonsense"], "no such option '--nonsense'"),
        (["echo", "--json=1"], "does not take a value"),
        (["echo", "--input", "{a: 1}"], "--input is not JSON: line 1, column 2"),
        (["echo", "--input", '{\n"a": 1,\n}'], "line 3, column 1"),
        (["echo", "--input", ""], "--input is not JSON: it is empty"),
        (["echo", "--input", "NaN"], "NaN is not JSON"),
        (
            ["echo", "--input", "@nowhere.json"],
            "cannot read the input in nowhere.json: No such file",
        ),
        (["echo", "--time-limit", "0"], "--time-limit is '0'"),
        (["echo", "--time-limit", "nan"], "--time-limit is 'nan'"),
        (["echo", "--time-limit", "soon"], "more than 0 and at most 86,400"),
    ],
)
def test_refused(cli, echo, argv, words):
    """Each mistake is one message with a remedy, exit code 1, nothing on stdout."""
    done = cli("agent", "run", *argv)

    assert (1, "") == (done.code, done.out)
    assert words in done.err
    assert (
        "help: " in done.err
        or "--time-limit" in words
        or "time-limit" in done.err
        or "cannot read" in words
    )


def test_input_from_a_file(bench, monkeypatch):
    """`@FILE`, with a byte order mark if it must be."""
    bench.put("in put.json", b'\xef\xbb\xbf{"a": 1}')
    monkeypatch.chdir(bench.root)

    assert {"a": 1} == read_input("@in put.json")


def test_input_of_bytes(monkeypatch):
    """Bytes that the locale could not read are judged as those of a file, and never changed."""
    assert {"a": "é"} == read_input(b'{"a": "\xc3\xa9"}'.decode("ascii", "surrogateescape"))

    with pytest.raises(UsageError, match="--input is not JSON: not UTF-8: byte 0xff in line 1"):
        read_input(b'{"a": "\xff"}'.decode("utf-8", "surrogateescape"))


def test_input_from_standard_input(monkeypatch):
    """`-` reads all of it; a fault in it is named as there."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": "\xc3\xa9"}')))
    assert {"a": "é"} == read_input("-")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}\n{}")))
    with pytest.raises(
        UsageError, match="standard input is not JSON: line 2, column 1: extra data"
    ):
        read_input("-")


@pytest.mark.parametrize(
    "argv", [["--help"], ["x", "-h"], ["x", "y"], [], ["x", "--json=1"], ["x", "--input"]]
)
def test_what_the_quick_parser_leaves_to_click(argv):
    """Help, and every mistake."""
    assert parse(argv) is None


def test_the_quick_parser():
    """The spellings that click knows."""
    options = parse(["--input=-", "--time-limit", "5", "--strict", "--", "-odd"])

    assert ("-odd", "-", "5", True, False) == (
        options.agent, options.input, options.time_limit, options.strict, options.json
    )  # fmt: skip
    assert '{"name":"world"}' == parse(["x"]).input
