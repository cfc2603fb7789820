"""The command as a process: exit codes, streams, signals, start-up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rotifer_bridge._cli._guard import guarded

SLOW = "export const express = () => { console.log('started'); for (;;) {} };\n"


def test_version(rotifer):
    """`--version` prints one line."""
    done = rotifer("--version")

    assert 0 == done.code
    assert done.out.startswith("rotifer ")


@pytest.mark.parametrize("argv", [[], ["agent"], ["agent", "memory"]])
def test_a_group_alone_prints_its_help(rotifer, argv):
    """On stderr, because nothing was done."""
    done = rotifer(*argv)

    assert (1, "") == (done.code, done.out)
    assert "Commands:" in done.err


@pytest.mark.parametrize(
    ("argv", "help_"),
    [
        (["agnet"], "did you mean 'agent'? see 'rotifer --help'"),
        (["agent", "memory", "lst"], "did you mean 'list'? see 'rotifer agent memory --help'"),
        (["agent", "qqqqq"], "see 'rotifer agent --help'"),
        (["\x1b[2J"], "see 'rotifer --help'"),
    ],
)
def test_an_unknown_command(rotifer, argv, help_):
    """A mistake is an error like any other, with what was probably meant, and where to look."""
    done = rotifer(*argv)

    assert 1 == done.code
    assert done.err.startswith(f"error: no such command {argv[-1]!r}")
    assert f"help: {help_}" == done.err.splitlines()[1]


def test_outside_a_project(rotifer, tmp_path):
    """Also on the quick path."""
    done = rotifer("agent", "run", "x", cwd=tmp_path)

    assert (1, "") == (done.code, done.out)
    assert "Not in a Rotifer Agent workspace. Run 'rotifer init' first." in done.err


def test_input_from_a_pipe(rotifer, bench):
    """`--input -` reads what the shell gives."""
    bench.gene("echo")
    bench.record(1, "echo", ("echo",))
    done = rotifer("agent", "run", "echo", "--json", "--input", "-", input=b'{"n": 1}')

    assert {"n": 1} == json.loads(done.out)["output"]


def test_a_closed_stdout_ends_quietly(rotifer, bench):
    """`| head -1` gets its line and no stack follows."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    for argv in (["agent", "run", "keeper"], ["agent", "list"], ["--help"]):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as closed:
            done = rotifer(*argv, stdout=closed)
        assert (0, "") == (done.code, done.err)


def test_a_full_disk_is_an_error(rotifer, bench):
    """A result that could not be written is no success."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    for argv in (["agent", "run", "keeper"], ["agent", "list"]):
        with open("/dev/full", "wb") as full:
            done = rotifer(*argv, stdout=full)
        assert 1 == done.code
        error, remedy = done.err.splitlines()
        assert "error: cannot write the output: No space left on device" == error
        assert "help: make room on its disk, then try again" == remedy


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), ["there is not enough memory", "ulimit -v"]),
        (ImportError("x.so: Too many open files"), ["x.so: Too many open files", "ulimit -n"]),
    ],
)
def test_what_the_machine_does_not_give(capsys, error, said):
    """No memory, or no file to load a module from: an error and where to look, no stack."""

    def command():
        raise error

    assert 1 == guarded(command)
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert all(words in told for words in [*said, "\nhelp: "])


def test_few_open_files_are_an_error(bench):
    """However few: an error or an answer, no stack."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    for most in (12, 14, 16, 18, 20, 22):
        run = [sys.executable, "-m", "rotifer_bridge", "agent", "run", "keeper"]
        held = ["sh", "-c", f'ulimit -n {most} && exec "$0" "$@"', *run]
        done = subprocess.run(
            held, check=False, cwd=bench.root, capture_output=True, text=True, timeout=60
        )
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or (done.returncode == 1 and "error" in done.stderr)


def test_ctrl_c(bench):
    """Exit code 130 within a second, no stack, and no Node left."""
    bench.gene("slow", {"index.ts": SLOW})
    bench.record(1, "slow", ("slow",))
    with subprocess.Popen(
        [sys.executable, "-m", "rotifer_bridge", "agent", "run", "slow"],
        cwd=bench.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert b"[slow] started\n" == process.stderr.readline()
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=10)
        assert time.monotonic() - sent < 1.5
        assert 130 == code
        assert b"Traceback" not in process.stderr.read()


# Interrupts the command in the middle of importing the module that is named first.
INTERRUPTED = """
import os, signal, sys

chosen = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == chosen:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from rotifer_bridge.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module",
    [
        "rotifer_bridge._foresee",
        "rotifer_bridge._grants",
        "rotifer_bridge._sandbox",
        "rotifer_bridge._spawn",
        "rotifer_bridge._transformer_start",
        "rotifer_bridge._cli",
        "rotifer_bridge._warm",
        "rotifer_engine",
    ],
)
def test_ctrl_c_while_modules_are_imported(bench, module):
    """Exit code 130 and no stack, also where what ends the processes is half imported."""
    bench.gene("one")
    bench.record(1, "keeper", ("one",))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module, "agent", "run", "keeper"],
        cwd=bench.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert (130, "", "") == (done.returncode, done.stdout, done.stderr)


# Sends the command a signal once it plays the cases.
SIGNALLED = """
import os, sys, time
from rotifer_bridge import _conformance

def signalled(*_, **__):
    try:
        os.kill(os.getpid(), sent)
        time.sleep(30)
    finally:
        print("tidied up")

_conformance.check_doors = signalled
from rotifer_bridge.__main__ import main
sent = int(sys.argv.pop())
sys.argv = ["rotifer", "conformance", "--door", "python"]
main()
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_to_a_command_that_tidies_up(bench, sent, code):
    """`conformance` leaves nothing behind, and its exit code tells which signal it was."""
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, str(int(sent))],
        cwd=bench.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (code, "tidied up\n", False) == (
        done.returncode, done.stdout, "Traceback" in done.stderr
    )  # fmt: skip


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_colors_only_where_they_are_wanted(bench, env):
    """On a terminal the word error is colored, unless NO_COLOR or TERM=dumb."""
    import pty

    ours, theirs = pty.openpty()
    settings = {"TERM": "xterm", **env}
    base = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    done = subprocess.run(
        [sys.executable, "-m", "rotifer_bridge", "agent", "run", "nobody"],
        cwd=bench.root,
        env={**base, **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    printed = os.read(ours, 65536)
    os.close(ours)

    assert 1 == done.returncode
    assert b"error[E0050]" in printed
    assert (b"\x1b[" in printed) is (env == {})


def test_a_terminal_that_knows_only_ascii(rotifer, bench):
    """Letters it lacks are escaped; nothing crashes."""
    bench.gene("echo")
    bench.record(1, "日本", ("echo",))
    done = rotifer("agent", "list", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})

    assert 0 == done.code
    assert r"\u65e5\u672c" in done.out


@pytest.mark.parametrize("argv", [["agent", "run", "echo"], ["run", "echo"]])
def test_json_stays_json_where_letters_are_lacking(rotifer, bench, argv):
    """They are escaped as JSON has it, in every document that is printed."""
    bench.gene("echo")
    bench.record(1, "echo", ("echo",))
    value = {"é€": "日本 \N{GRINNING FACE} \\xe9"}
    done = rotifer(
        *argv, "--input", "-", input=json.dumps(value).encode(), env={"PYTHONIOENCODING": "ascii"}
    )

    assert 0 == done.code
    assert value == json.loads(done.out)
    assert r"\u20ac" in done.out


def test_what_a_run_does_not_import(bench):
    """The cold path stays cold: none of the slow modules on the way of `agent run`."""
    bench.gene("echo")
    bench.record(1, "echo", ("echo",))
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-m",
            "rotifer_bridge",
            "agent",
            "run",
            "echo",
            "--json",
        ],
        cwd=bench.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }

    assert "rotifer_bridge._cli._agent_run" in imported
    assert not imported & {
        "asyncio", "click", "dataclasses", "httpx", "importlib.metadata", "inspect", "jsonschema_rs",
        "logging", "pathlib", "pydantic", "rich", "subprocess", "uuid",
    }  # fmt: skip
