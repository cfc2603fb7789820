"""From TypeScript to WASM: esbuild makes one script, Javy makes a module of it (projects §3).

Both are the user's own, from PATH or the project's node_modules; the module that comes out is in
WASI mode, and has its input and nothing else: no memory, no network (memory §12).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from rotifer_bridge._names import shown
from rotifer_bridge._node import find_node
from rotifer_bridge.errors import GeneError, NodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_bridge._gene import Gene

__all__ = ["compile_typescript"]

_TOOLS = {
    "esbuild": "npm install --save-dev esbuild",
    "javy": "see https://github.com/bytecodealliance/javy/releases",
}
"""What is needed, and where it comes from."""
_TIME_LIMIT = 300.0  # seconds for each of the two
_LAST_WORDS = 4_096

# Standard input to express, its answer to standard output; `default` and `main` as `run` has them.
_ENTRY = """\
import * as gene from {source};
const express = gene.express ?? gene.default ?? gene.main;
const parts = [];
for (;;) {{
  const part = new Uint8Array(65536);
  const size = Javy.IO.readSync(0, part);
  if (size === 0) break;
  parts.push(part.subarray(0, size));
}}
const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
const answer = JSON.stringify(express(JSON.parse(new TextDecoder().decode(bytes))));
if (answer === undefined) throw new Error('express returned what JSON cannot hold');
const output = new TextEncoder().encode(answer);
for (let at = 0; at < output.length; ) {{
  at += Javy.IO.writeSync(1, output.subarray(at)) ?? output.length;
}}
"""


def compile_typescript(gene: Gene, entry: str, root: str) -> bytes:
    """The module that is made of a gene's source.

    Args:
        gene: the gene.
        entry: its source file, relative to its folder.
        root: the project's folder.

    Raises:
        GeneError: E0024 a tool is missing, or failed; its own words come with it.
    """
    where = os.path.join(gene.folder, entry)
    tools = {name: _find(name, root) for name in _TOOLS}
    missing = [name for name, path in tools.items() if path is None]
    if missing:
        raise GeneError(
            f"gene {shown(gene.name)} cannot be compiled: {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} neither on PATH nor in the project's "
            "node_modules",
            code="E0024",
            where=where,
            help="; ".join(f"{name}: {_TOOLS[name]}" for name in missing)
            + ". A gene that needs memory should stay under Node anyway, where it runs as it is: "
            "TypeScript compiled to WASM gets its input only",
        )
    esbuild, javy = (tools[name] or "" for name in _TOOLS)
    environment = _with_node(root)
    with tempfile.TemporaryDirectory(prefix="rotifer-compile-") as folder:
        script, bundle, module = (
            os.path.join(folder, name) for name in ("entry.mjs", "bundle.js", "module.wasm")
        )
        with open(script, "w", encoding="utf-8") as file:
            file.write(_ENTRY.format(source=json.dumps(where)))
        _run(
            gene,
            where,
            [
                esbuild,
                script,
                "--bundle",
                "--format=iife",
                "--platform=neutral",
                "--target=es2020",
                f"--outfile={bundle}",
            ],
            environment,
        )
        # Javy's word was another one up to version 4.
        verb = "build" if _knows(javy, "build", environment) else "compile"
        _run(gene, where, [javy, verb, bundle, "-o", module], environment)
        try:
            with open(module, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise _failed(gene, where, "javy", "it ended well and wrote no module") from None


def _find(name: str, root: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=os.path.join(root, "node_modules", ".bin"))


def _with_node(root: str) -> dict[str, str]:
    """The environment of a tool: what npm puts into node_modules may be a script for Node."""
    try:
        folder = os.path.dirname(find_node(root).path)
    except NodeError:
        return dict(os.environ)
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{path}{os.pathsep}{folder}"}


def _knows(javy: str, verb: str, environment: dict[str, str]) -> bool:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the user's own tool
            [javy, verb, "--help"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _run(gene: Gene, where: str, command: Sequence[str], environment: dict[str, str]) -> None:
    import subprocess

    tool = os.path.basename(command[0])
    try:
        done = subprocess.run(  # noqa: S603 - the user's own tool
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIME_LIMIT,
            check=False,
        )
    except OSError as error:
        raise _failed(gene, where, tool, f"it cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _failed(gene, where, tool, f"it took more than {_TIME_LIMIT:g} s") from None
    if done.returncode:
        words = done.stdout[-_LAST_WORDS:].decode("utf-8", "replace").strip()
        raise _failed(gene, where, tool, words or f"exit code {done.returncode}")


def _failed(gene: Gene, where: str, tool: str, why: str) -> GeneError:
    return GeneError(
        f"gene {shown(gene.name)} cannot be compiled: {tool} failed: {why}",
        code="E0024",
        where=where,
        help="correct what it names; the gene runs under Node without being compiled",
    )
