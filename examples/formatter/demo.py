"""The main job, shown: an agent whose genes are replaced keeps what it has learned.

Works on a copy of this example in a temporary folder; the commands it runs are printed as typed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROTIFER = [sys.executable, "-m", "rotifer_bridge"]
CODE = "function greet(name) {\nif (name) {\nconsole.log(name);\n}\n}"


def main() -> None:
    """Run the steps; the first that fails ends the demonstration with its exit code."""
    scratch = tempfile.mkdtemp(prefix="rotifer demo ")
    try:
        project = os.path.join(scratch, "formatter")
        shutil.copytree(HERE, project, ignore=shutil.ignore_patterns(".rotifer", "demo.py"))
        show(project)
    finally:
        shutil.rmtree(scratch)


def show(project: str) -> None:
    """The steps, each with what it shows."""
    say("Two formatters of one domain. Wrapping gives a gene the identity it acts under.")
    rotifer(project, "wrap", "formatter")
    rotifer(project, "wrap", "formatter-plus")

    say("An agent is a set of genes, with a memory of its own.")
    rotifer(project, "agent", "create", "my-formatter", "-g", "formatter", "--memory-quota", "1MB")

    say("Asked for an indent of 4, the gene formats, and writes the width to the agent's memory.")
    first = formatted(project, {"code": CODE, "indent": 4})
    expect(first["indent"] == 4, first)

    say("A new process, and nobody says the width: it is remembered.")
    second = formatted(project, {"code": CODE})
    expect(second["indent"] == 4, second)

    say("The gene is replaced by a better one. The memory is the agent's, so it stays.")
    rotifer(project, "agent", "set", "my-formatter", "-g", "formatter-plus")
    third = formatted(project, {"code": CODE + "\n\n\n"})
    expect(third["indent"] == 4 and third["remembered"], third)

    say("What the agent remembers, as its deployer sees it: never the values.")
    rotifer(project, "agent", "memory", "list", "my-formatter")

    say("And every change is on record.")
    with open(os.path.join(project, ".rotifer", "audit.jsonl"), encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            print(f"  {record['ts']}  {record['action']:<16} {record['key']}")
    say("Done: the width outlived two processes and the gene that learned it.")


def say(text: str) -> None:
    """One sentence about what comes."""
    print(f"\n# {text}", flush=True)


def rotifer(project: str, *arguments: str) -> str:
    """Run one command in the project, print it and what it says, and return its stdout."""
    print(f"$ rotifer {shlex.join(arguments)}", flush=True)
    done = subprocess.run(
        [*ROTIFER, *arguments], cwd=project, stdout=subprocess.PIPE, text=True, check=False
    )
    print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def formatted(project: str, given: dict[str, object]) -> dict[str, object]:
    """Run the agent and return its output."""
    text = rotifer(project, "agent", "run", "my-formatter", "--json", "--input", json.dumps(given))
    output: dict[str, object] = json.loads(text)["output"]
    print("".join(f"  | {line}\n" for line in str(output["formatted"]).splitlines()), end="")
    return output


def expect(holds: object, seen: object) -> None:
    """The demonstration shows what it says, or fails."""
    if not holds:
        sys.exit(f"the demonstration failed: got {seen!r}")


if __name__ == "__main__":
    main()
