"""The cold path of ``agent run`` stays short: spawn first, then import little (design §5a)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

BANNED = ("pydantic", "asyncio", "logging", "dataclasses", "httpx", "inspect", "ssl", "rich", "wasmtime", "msgpack", "rotifer_bridge._wasm")  # fmt: skip
# What `rotifer_engine.quick` stands for, and what those are made of.
SLOW = ("typing", "json", "re", "enum", "hashlib", "datetime", "sqlite3", "queue", "signal", "weakref", "importlib", "socket", "subprocess")  # fmt: skip


@pytest.fixture(params=["gene seen", "gene new"])
def imported(bench, request):
    """The modules that one cold run imports, in order."""
    bench.gene("g", {"index.ts": "export const express = (x: { a: number }) => x;"})
    bench.record(1, genome=["g"])
    words = ["rotifer", "agent", "run", "keeper", "--json", "--input", '{"a": 1}']
    # As the installed script starts it: `-m` imports `importlib` by itself.
    script = f"import sys; sys.argv = {words}; from rotifer_bridge.__main__ import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", script]
    if request.param == "gene seen":
        subprocess.run(command, cwd=bench.root, capture_output=True, check=True)  # fills the cache
    done = subprocess.run(command, cwd=bench.root, capture_output=True, text=True, check=True)
    return [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line]


def test_nothing_slow_is_imported(imported):
    """A run imports none of the slow modules, whether its gene is in the cache or not."""
    found = [name for name in imported if any(name == ban or name.startswith(ban + ".") for ban in BANNED + SLOW)]  # fmt: skip

    assert [] == found


WITNESS = """
import sys
from rotifer_bridge import _launch
spawn = _launch.spawn
def witness(*arguments):
    print(*sorted({"json", "sqlite3", "hashlib", "typing", "click"} & set(sys.modules)), file=sys.stderr)
    return spawn(*arguments)
_launch.spawn = witness
from rotifer_bridge.__main__ import main
sys.argv = ["rotifer", "agent", "run", "keeper", "--input", "{}"]
main()
"""


def test_node_is_started_first(bench):
    """When Node is started, nothing that takes time has been imported; it is started once."""
    bench.gene("g", {"index.ts": "export const express = () => 1;"}, outputSchema={})
    bench.record(1, genome=["g"])

    done = subprocess.run(
        [sys.executable, "-c", WITNESS], cwd=bench.root, capture_output=True, text=True, check=False
    )

    assert ("1\n", "\n", 0) == (done.stdout, done.stderr, done.returncode)


def test_both_ways_of_loading_nng(tmp_path):
    """The extension loads without its package, and with it; then both are one module."""
    script = """
import sys
from rotifer_bridge import _nng
ffi, lib = _nng.extension(private=%s)
print("pynng" in sys.modules)
import pynng
print(pynng.nng.lib is lib)
"""
    for private, with_package in ((True, "False"), (False, "True")):
        done = subprocess.run(
            [sys.executable, "-c", script % private],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=os.environ,
        )
        assert [with_package, "True"] == done.stdout.split()
