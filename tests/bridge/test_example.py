"""The example: the seed's gene as it was given, and the demonstration of the README."""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, os.pardir, os.pardir, "examples", "formatter")

# The seed's example; its one placeholder line is where the gene's own reindent comes in.
SEED = """\
import type { GeneMemoryAccess } from "@rotifer/playground/memory";

PLACEHOLDER
const KEY = "formatter/indent";

export function express(
  input: { code: string; indent?: number },
  ctx: { memory: GeneMemoryAccess },
): { formatted: string; indent: number } {
  let indent = input.indent;

  if (indent === undefined) {
    const saved = ctx.memory.readMemory(KEY, "PREFERENCE");
    indent = saved ? Number(new TextDecoder().decode(saved.value)) : 2;
  } else {
    ctx.memory.writeMemory(
      KEY,
      new TextEncoder().encode(String(indent)),
      "PREFERENCE",
    );
  }

  return { formatted: reindent(input.code, indent), indent };
}
"""


def test_the_example_is_the_seed():
    """The formatter's index.ts is the seed's code, unchanged but for ``reindent``."""
    with open(os.path.join(EXAMPLE, "genes", "formatter", "index.ts"), encoding="utf-8") as file:
        source = file.read()

    assert SEED.replace("PLACEHOLDER", 'import { reindent } from "./reindent";') == source


def test_the_demonstration_shows_what_it_says():
    """``make demo``'s program runs to its end; it checks itself at each step."""
    done = subprocess.run(
        [sys.executable, os.path.join(EXAMPLE, "demo.py")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr.replace("next: rotifer agent run my-formatter --input JSON\n", ""))  # fmt: skip
    assert "Done: the width outlived two processes and the gene that learned it." in done.stdout
