"""A gene's sources made ready (design §4)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.held import given_back

from rotifer_bridge import _transform
from rotifer_bridge._transform import file_url
from rotifer_bridge.errors import GeneError, RunTimedOut

# ── what comes out ───────────────────────────────────────────────────────────────────────────────


def test_outcome(making):
    """Every file comes with its URL, format and text; what is neither code nor JSON stays away."""
    files = {
        "index.ts": b"import { a } from './lib/a';\nexport const b: number = a;\n",
        "lib/a.js": b"export const a = 1;\n",
        "c.cjs": b"module.exports = 1;\n",
        "data.json": b'{"a": 1}',
        "types.d.ts": b"declare const x: 1;",
        "x.wasm": b"\0asm",
    }

    made = making(files)

    assert {
        "index.ts": ("module", b"import { a } from './lib/a';\nexport const b         = a;\n"),
        "lib/a.js": ("module", files["lib/a.js"]),
        "c.cjs": ("commonjs", files["c.cjs"]),
        "data.json": ("json", files["data.json"]),
    } == {path: (file.format, file.source) for path, file in made.items()}
    assert f"file://{making.folder}/lib/a.js" == made["lib/a.js"].url


def test_no_files(making):
    """A gene without any source is nobody's error here, and needs no Node."""
    assert {} == making({})
    assert 0 == making.starts


def test_byte_order_mark(making):
    """A byte order mark is dropped from code and JSON alike."""
    made = making({"a.js": b"\xef\xbb\xbfexport {};", "a.json": b"\xef\xbb\xbf[]"})

    assert [b"export {};", b"[]"] == [made["a.js"].source, made["a.json"].source]


def test_names_that_are_not_plain(making):
    """Names with spaces, percent signs and letters of every kind pass through Node unharmed."""
    name = "lib/a b#%41?é日😀.ts"

    made = making({name: b"export const a: 1 = 1;"})

    assert b"export const a    = 1;" == made[name].source
    assert made[name].url.endswith("/lib/a%20b%23%2541%3F%C3%A9%E6%97%A5%F0%9F%98%80.ts")


def test_names_that_are_no_text(making):
    """A file that no import can name is left out; a folder that Node cannot name is an error."""
    assert ["index.ts"] == list(making({**making.PLAIN, "a\udcff.ts": b""}))

    with pytest.raises(GeneError, match="is not UTF-8"):
        making(folder="/nowhere/\udcff/g")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@example("a b#%41?é\\\n")
def test_file_url(path):
    """A URL is ASCII, has no letter with a meaning of its own, and gives back the path."""
    url = file_url("/p", path)

    assert url.isascii()
    assert not set('#? \n\\"<>^`{|}') & set(url)
    assert f"/p/{path}" == unquote(url.removeprefix("file://"))


def test_the_compiler_is_bounded(making):
    """The Node that compiles has limits on its time and its memory, which it cannot raise."""
    making.script(
        f'out=$("{making.real_node}" "$@")',
        f'cat /proc/$$/limits > "{making.log}.limits"',
        "printf '%s\\n' \"$out\"",
    )

    making(making.ENUM, time_limit=20)

    with open(f"{making.log}.limits") as file:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in file}
    assert ["2147483648"] * 2 == limits["Max data size"]
    assert all(10 < int(seconds) <= 20 for seconds in limits["Max cpu time"])


# ── faults ───────────────────────────────────────────────────────────────────────────────────────

FAULTS = {
    "decorator": (b"function d() {}\n\n@d class A {}\n", 3, "decorators cannot be run", "tsc"),
    "syntax": (b"export const a = 1;\nlet b: = 2;\n", 2, "Unexpected token `=`", None),
    "encoding": (b"// caf\xc3\xa9\n// caf\xe9\n", 2, "not UTF-8: byte 0xe9 at offset 15", "UTF-8"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_the_entry(making, name):
    """A fault of the entry is an error with its place and the way out, kept like any outcome."""
    source, line, message, way_out = FAULTS[name]

    for _ in range(2):
        with pytest.raises(GeneError) as caught:
            making({"index.ts": source}, entry="index.ts")

        assert message in caught.value.message
        assert "E0052" == caught.value.code
        assert f"{making.folder}/index.ts:{line}" == caught.value.where
        assert (way_out or "") in (caught.value.help or "")
    assert making.starts <= 1


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_another_file(making, name):
    """A fault of another file goes along, to be told if the gene loads it."""
    source, line, message, _ = FAULTS[name]

    made = making({**making.PLAIN, "other.ts": source}, entry="index.ts")

    assert "module" == made["index.ts"].format
    assert "fault" == made["other.ts"].format
    fault = json.loads(made["other.ts"].source)
    assert line == fault["line"]
    assert message in fault["message"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n  "a": 1,\n}', 3, "Expecting property name|Illegal trailing comma"),
        ("", 1, "Expecting value"),
        ("[1]\n\n[2]", 3, "Extra data"),
        ('{"a": NaN}', None, "NaN"),
        ('"\n"', 1, "Invalid control character"),
    ],
)
def test_fault_of_json(making, text, line, message):
    """What is not JSON is a fault with its line; Python's own extensions are none of it."""
    fault = json.loads(making({"a.json": text.encode()})["a.json"].source)

    assert any(words in fault["message"] for words in message.split("|"))
    if line is not None and "trailing comma" not in fault["message"]:
        assert line == fault["line"]


def test_json_nested_deeply(making):
    """JSON nested deeper than Python reads is left to JavaScript."""
    text = b"[" * 100_000 + b"]" * 100_000

    assert "json" == making({"a.json": text})["a.json"].format


def test_compiler_that_breaks(making):
    """A source on which Node's compiler breaks harms no other."""
    deep = b"export const a: any = " + b"[" * 100_000
    files = {"a.ts": b"let a: 1;", "b.ts": deep, "c.ts": b"let c: 1;", "d.ts": deep, "e.ts": b""}

    made = making(files)

    assert list(files) == list(made)
    formats = [file.format for file in made.values()]
    assert ["commonjs", "fault", "commonjs", "fault", "commonjs"] == formats
    assert "compiler failed" in json.loads(made["b.ts"].source)["message"]


# ── the process ──────────────────────────────────────────────────────────────────────────────────


def test_environment(making, monkeypatch, tmp_path):
    """The process gets next to nothing of our environment."""
    monkeypatch.setenv("NODE_OPTIONS", "--require=/evil.js")
    monkeypatch.setenv("SECRET", "1")
    seen = tmp_path / "seen"
    making.script(f'env > "{seen}"', f'exec "{making.real_node}" "$@"')

    making()

    names = {line.split("=")[0] for line in seen.read_text().splitlines()}
    assert {"PATH"} <= names <= {"PATH", "LD_LIBRARY_PATH", "PWD", "SHLVL", "_", "OLDPWD"}


def test_node_without_the_inner_door(making):
    """A Node that does not know the option for the inner door is asked by the public one."""
    making.script(
        'case "$*" in *--expose-internals*) exit 9;; esac', f'exec "{making.real_node}" "$@"'
    )

    made = making(making.ENUM)["index.ts"].source

    if "transform" in public_modes(making.real_node):
        assert b'E["A"] = 0' in made
    else:  # Node 26 and later
        assert b"enum is not supported in strip-only mode" in made
    assert 2 == making.starts


def public_modes(node):
    """What Node's public door can do."""
    script = """
      const { stripTypeScriptTypes } = require('node:module');
      for (const mode of ['strip', 'transform'])
        try { stripTypeScriptTypes('', { mode }); console.log(mode); } catch {}
    """
    done = subprocess.run(
        [node, "--no-warnings", "-e", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_node_that_is_not_there(making):
    """A Node that cannot be started is an error of the gene's making, and nothing is kept."""
    making.script()
    os.chmod(making.node, 0o600)

    with pytest.raises(GeneError, match=r"could not be made ready: .*Permission denied"):
        making()
    assert not making.cache.exists()


def test_node_that_fails(making):
    """A Node that ends without an answer is an error with its last words."""
    making.script("echo 'no such thing' >&2", "exit 7")

    with pytest.raises(GeneError, match="exit code 7: no such thing"):
        making()


def test_node_that_is_killed(making):
    """A Node that a signal ended is an error that names it."""
    making.script("kill -SEGV $$")

    with pytest.raises(GeneError, match="SIGSEGV"):
        making()


def test_time_limit(making, monkeypatch, tmp_path):
    """A Node that does not come to an end is ended, and leaves nothing behind."""
    monkeypatch.setattr(_transform, "_TIME_LIMIT_S", 0.5)
    number = tmp_path / "pid"
    making.script(f'echo $$ > "{number}"', "exec sleep 100")
    start = time.monotonic()

    with pytest.raises(GeneError, match=r"within 0\.5 s, the limit for that"):
        making()

    assert time.monotonic() - start < 5
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text()), 0)


def test_the_time_limit_of_the_gene(making):
    """Where the caller's limit is what was too short, it is named, and not Node."""
    with pytest.raises(RunTimedOut, match=r"within 0\.001 s, the gene's time limit") as caught:
        making(making.ENUM, time_limit=0.001)

    assert "Node" not in caught.value.render()
    assert (
        "\nhelp: allow more with --time-limit SECONDS (timeLimit over HTTP)"
        in caught.value.render()
    )


def test_no_descriptor_left(making):
    """Neither a success nor a failure leaves a descriptor open."""
    making()

    with given_back():
        making(making.ENUM)
        making.script("exit 1")
        with pytest.raises(GeneError):
            making()
