"""Compiled modules in the project's cache: used when they are ours, never otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from tests.wasm.conftest import wasm

from rotifer_bridge import _cache_folder, _wasm_compiler
from rotifer_bridge import _wasm_api as api
from rotifer_bridge._ir import _leb128 as leb128
from rotifer_bridge._wasm_cache import ready_module
from rotifer_bridge._wasm_compiler import SMALL, compile_apart

ONE = '(module (memory (export "memory") 1) (data (i32.const 9) "1") (func (export "express") (param i32 i32) (result i32) (i32.const 9)))'
TWO = ONE.replace('"1"', '"2"')


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of this test's own, where the secret is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def compiled(monkeypatch):
    """Each module that is compiled."""
    seen = []
    real = api.compile_module
    monkeypatch.setattr(api, "compile_module", lambda data: seen.append(data) or real(data))
    return seen


@pytest.fixture
def kept(sandbox):
    """The one file of the cache."""

    def call():
        [path] = sandbox.cache.iterdir()
        return path

    return call


def test_compiled_once(sandbox, compiled):
    """A module that was compiled once is loaded from then on."""
    answers = [sandbox.run(ONE) for _ in range(3)]

    assert [1, 1, 1] == answers
    assert 1 == len(compiled)


def test_keyed_by_content(sandbox, compiled):
    """Another module is compiled for itself."""
    assert [1, 2, 1, 2] == [sandbox.run(wat) for wat in (ONE, TWO, ONE, TWO)]
    assert 2 == len(compiled)


def test_private(sandbox, kept, home):
    """The file and the secret are their owner's alone."""
    sandbox.run(ONE)

    modes = [
        oct(os.stat(path).st_mode & 0o777) for path in (kept(), home / "rotifer" / "cache.key")
    ]
    assert ["0o600", "0o600"] == modes


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:40], id="torn in the code"),
        pytest.param(lambda data: data[:20], id="torn in the seal"),
        pytest.param(lambda data: data + b"\0", id="longer"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="the last byte"),
        pytest.param(lambda data: bytes([data[0] ^ 1]) + data[1:], id="the seal"),
        pytest.param(lambda data: data[:5000] + b"\xcc" + data[5001:], id="an instruction"),
    ],
)
def test_a_broken_file(sandbox, compiled, kept, damage):
    """A file that was changed is not loaded; it is written anew, and then it is."""
    sandbox.run(ONE)
    whole = kept().read_bytes()
    kept().write_bytes(damage(whole))

    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 2 == len(compiled)
    assert whole == kept().read_bytes()


def test_the_file_of_another_module(sandbox, compiled):
    """A whole file in the place of another module's is not loaded."""
    sandbox.run(ONE)
    [one] = sandbox.cache.iterdir()
    sandbox.run(TWO)
    [two] = set(sandbox.cache.iterdir()) - {one}
    one.write_bytes(two.read_bytes())

    assert 1 == sandbox.run(ONE)
    assert 3 == len(compiled)


def test_a_project_from_elsewhere(sandbox, compiled, monkeypatch, tmp_path):
    """What somebody else's project brings in its cache is not loaded: its seal is another's."""
    sandbox.run(ONE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another home"))

    assert 1 == sandbox.run(ONE)
    assert 2 == len(compiled)


def test_another_version(sandbox, compiled, monkeypatch):
    """What another wasmtime compiled is not loaded."""
    sandbox.run(ONE)
    monkeypatch.setattr(api, "version", lambda: "49.0.0")

    assert 1 == sandbox.run(ONE)
    assert 2 == len(compiled)


def test_sealed_and_refused_by_wasmtime(sandbox, compiled, kept, monkeypatch):
    """Code that wasmtime itself refuses is compiled anew, whatever its seal."""
    with monkeypatch.context() as patched:
        patched.setattr(api, "serialize", lambda _: b"\x7fELF and nothing more")
        sandbox.run(ONE)
    false = kept().read_bytes()

    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 2 == len(compiled)
    assert false != kept().read_bytes()


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o606, 0o400])
def test_a_file_that_others_can_reach(sandbox, compiled, kept, mode):
    """A file with another mode than ours is not loaded."""
    sandbox.run(ONE)
    kept().chmod(mode)

    assert 1 == sandbox.run(ONE)
    assert 2 == len(compiled)
    assert 0o600 == kept().stat().st_mode & 0o777


def test_a_file_larger_than_the_cache(sandbox, compiled, kept):
    """A file with holes that takes no disk would take memory: it is not read."""
    sandbox.run(ONE)
    with open(kept(), "ab") as file:
        file.truncate(64 << 30)  # more than any machine of ours has

    assert 1 == sandbox.run(ONE)
    assert 2 == len(compiled)
    assert kept().stat().st_size < 1 << 20


def test_links(sandbox, compiled, kept, tmp_path):
    """A link in the place of the file, or of the folder, is not followed."""
    sandbox.run(ONE)
    path = kept()
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert 1 == sandbox.run(ONE)
    assert 2 == len(compiled)
    assert not path.is_symlink()

    folder = tmp_path / "real"
    sandbox.cache.rename(folder)
    sandbox.cache.symlink_to(folder)
    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 4 == len(compiled)


def test_a_cache_that_cannot_be_written(sandbox, compiled):
    """A file in the place of the folder is no error: the module is compiled each time."""
    sandbox.cache.write_text("in the way")

    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 2 == len(compiled)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda key: key.chmod(0o644), id="others can read it"),
        pytest.param(lambda key: key.write_bytes(b"short"), id="short"),
        pytest.param(lambda key: (key.unlink(), key.symlink_to("/dev/zero")), id="a link"),
        pytest.param(lambda key: (key.unlink(), key.mkdir()), id="a folder"),
    ],
)
def test_a_secret_that_is_none(sandbox, compiled, home, spoil):
    """Without a secret that is ours alone nothing is loaded, and nothing kept."""
    sandbox.run(ONE)
    spoil(home / "rotifer" / "cache.key")

    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 3 == len(compiled)


def test_no_home(sandbox, compiled, home):
    """A home that cannot be written to is no error either."""
    home.write_text("in the way")

    assert [1, 1] == [sandbox.run(ONE) for _ in range(2)]
    assert 2 == len(compiled)


def test_bounded(sandbox, monkeypatch):
    """The oldest modules go when the cache is full."""
    sandbox.run(ONE)
    [one] = sandbox.cache.iterdir()
    os.utime(one, ns=(1, 1))
    monkeypatch.setattr(_cache_folder, "MAX_BYTES", one.stat().st_size + 10)
    sandbox.run(TWO)

    [left] = sandbox.cache.iterdir()
    assert one != left


def test_the_secret_is_made_once(sandbox, home):
    """The secret stays what it was; a second one would make the cache worthless."""
    sandbox.run(ONE)
    first = (home / "rotifer" / "cache.key").read_bytes()
    sandbox.run(TWO)

    assert first == (home / "rotifer" / "cache.key").read_bytes()
    assert 32 == len(first)


LARGE = ONE.replace("(module", f'(module (data (i32.const 1000) "{"x" * SMALL}")')


def test_a_large_module_is_compiled_apart(sandbox, compiled):
    """A module that is not small is compiled by a child, once, and runs as any other."""
    assert [1, 1] == [sandbox.run(LARGE) for _ in range(2)]
    assert [] == compiled
    assert 1 == len(list(sandbox.cache.iterdir()))


def test_compiled_apart_without_a_cache(sandbox, compiled, home):
    """The child's work is used also where it cannot be kept."""
    home.write_text("in the way")

    assert [1, 1] == [sandbox.run(LARGE) for _ in range(2)]
    assert [] == compiled


def test_a_large_module_that_is_not_valid(tmp_path):
    """Wasmtime's own words come back from the child."""
    wrong = wasm(LARGE).replace(b"\x41\x09\x0b", b"\x42\x09\x0b")

    with pytest.raises(api.Refused, match="type mismatch"):
        ready_module(wrong, str(tmp_path))


def slow(size):
    """A module whose one function takes longer to compile than its size would have it."""
    body = b"\x20\x00\x04\x40\x20\x01\x21\x00\x0b" * size + b"\x20\x00\x0b"
    code = leb128(len(body) + 1) + b"\0" + body
    section = b"\x01" + code
    return (
        b"\0asm\1\0\0\0\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f\x03\x02\x01\x00\x0a"
        + leb128(len(section))
        + section
    )


def test_a_module_that_takes_too_long():
    """The child is ended when its time is up, and that is what is said."""
    started = time.monotonic()

    with pytest.raises(api.Refused, match=r"it takes more than 0\.3 s to compile"):
        compile_apart(slow(200_000), seconds=0.3)
    assert time.monotonic() - started < 10


ABANDONED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tests.wasm.test_sandbox_cache import slow
from rotifer_bridge._wasm_compiler import compile_apart
compile_apart(slow(800_000))  # a minute and more
"""


def test_a_killed_supervisor_leaves_no_compiler_behind():
    """The child ends with whoever would have ended it, at whatever moment that is killed."""
    for moment in (0, 1, 40):
        process = subprocess.Popen([sys.executable, "-c", ABANDONED, os.getcwd()])
        try:
            child = until(lambda pid=process.pid: children(pid))[0]
            until(lambda child=child, moment=moment: ticks(child) > moment)
        finally:
            process.kill()
            process.wait()
        until(lambda child=child: ticks(child) is None)


def until(found):
    """What a function gives once it gives something; a look every few milliseconds."""
    for _ in range(2_000):
        if seen := found():
            return seen
        time.sleep(0.01)
    raise AssertionError("20 s were not enough")


def children(pid):
    """The processes that a process started."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()


def ticks(pid):
    """Hundredths of a second that a process has worked; None once it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else 1 + int(fields[11]) + int(fields[12])


def test_a_module_that_takes_too_much(monkeypatch):
    """The child has no more memory than it is given; the supervisor goes on."""
    monkeypatch.setattr(
        _wasm_compiler, "_SCRIPT", _wasm_compiler._SCRIPT.replace(
            "\nmain()\n", "\nimport rotifer_bridge._wasm_compiler as m; m._CHILD_BYTES = 64 << 20; main()\n"
        ),
    )  # fmt: skip

    with pytest.raises(api.Refused, match="compiling it ended with -6"):
        compile_apart(slow(200_000), seconds=60)


def test_what_is_no_module_is_refused(tmp_path):
    """A module that is not valid is refused in wasmtime's own words."""
    right = wasm('(module (func (export "f") (result i32) (i32.const 1)))')

    with pytest.raises(api.Refused, match="type mismatch"):
        ready_module(right.replace(b"\x41\x01", b"\x42\x01"), str(tmp_path))
