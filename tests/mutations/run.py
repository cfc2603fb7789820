"""Make each fault of the list in a copy of the engine, and see that its tests find it.

Prints a line for each fault, and how many survived; ends with 1 if more than one in thirty did, or a
fault no longer fits the code. Nothing is written beside the temporary copy.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from faults import FAULTS  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SLOWEST_S = 300
#: What a slip in the replacement raises: any test finds that, so it would show nothing.
_SLIP = r"^E +((?:Name|Attribute|Type|Syntax|Indentation|Import|UnboundLocal)Error: .*)$"


class Unfair(Exception):
    """The fault is no working code."""


class Copy:
    """The engine and its tests in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        skipped = shutil.ignore_patterns("__pycache__")
        for name in ("engine", "tests"):
            shutil.copytree(os.path.join(TOP, name), os.path.join(folder, name), ignore=skipped)
        shutil.copy(os.path.join(TOP, "pyproject.toml"), folder)
        self.environ = {
            **os.environ,
            "PYTHONPATH": os.path.join(folder, "engine"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def module(self, name):
        """The path of a file of the copied engine."""
        return os.path.join(self.folder, "engine", "rotifer_engine", name)

    def finds(self, tests):
        """The first test that fails; None when all pass."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=60"]  # fmt: skip
        try:
            done = subprocess.run(
                [*command, *tests],
                cwd=self.folder,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=SLOWEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"nothing in {SLOWEST_S} s"
        if done.returncode == 0:
            return None
        slip = re.search(_SLIP, done.stdout, re.MULTILINE)
        if slip is not None:
            raise Unfair(slip[1])
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return failed[1].rpartition("/")[2] if failed else done.stdout[-300:]


def uses_the_copy(copy):
    """Whether what is tested is the copy."""
    program = "import rotifer_engine; print(rotifer_engine.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=copy.folder, env=copy.environ, stdout=subprocess.PIPE, text=True, check=False
    )  # fmt: skip
    return done.stdout.startswith(copy.folder)


def survives(copy, fault):
    """Make the fault, ask the tests, undo it; a line about it, and whether it survived."""
    path = copy.module(fault.module)
    with open(path, encoding="utf-8") as file:
        good = file.read()
    if good.count(fault.text) != 1:
        return f"STALE     {fault.rule}: not once in {fault.module}: {fault.text!r}", True
    with open(path, "w", encoding="utf-8") as file:
        file.write(good.replace(fault.text, fault.replacement))
    try:
        first = [f"tests/engine/{name}.py" for name in fault.tests.split()]
        found = copy.finds(first) or copy.finds(["tests/engine"])
    except Unfair as unfair:
        return f"UNFAIR    {fault.rule}: {unfair}", True
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
    return (f"SURVIVED  {fault.rule}", True) if found is None else (f"caught    {fault.rule}  [{found}]", False)  # fmt: skip


def main():
    """Run them all, or those whose rule has the word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only faults whose rule has this in it")
    word = parser.parse_args().word
    chosen = [fault for fault in FAULTS if word in fault.rule]
    start = time.monotonic()
    survived = 0
    with tempfile.TemporaryDirectory(prefix="rotifer-mutations-") as folder:
        copy = Copy(os.path.realpath(folder))
        if not uses_the_copy(copy):
            sys.exit("the tests would not run against the copy: is PYTHONPATH ignored?")
        names = sorted({name for fault in chosen for name in fault.tests.split()})
        broken = copy.finds([f"tests/engine/{name}.py" for name in names])
        if broken is not None:
            sys.exit(f"without any fault, a test fails: {broken}")
        for fault in chosen:
            line, did = survives(copy, fault)
            survived += did
            print(line, flush=True)
    print(
        f"\n{len(chosen) - survived} of {len(chosen)} faults were caught "
        f"in {time.monotonic() - start:.0f} s"
    )
    return survived > len(chosen) // 30


if __name__ == "__main__":
    sys.exit(main())
