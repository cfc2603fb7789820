"""``rotifer compile``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._output import say, warn

__all__ = ["command"]


def _compile(gene: str, check: bool, wasm: str | None, language: str | None) -> None:
    from rotifer_bridge._compile import compile_gene
    from rotifer_bridge._project import Project

    compiled = compile_gene(Project.find(), gene, check=check, wasm=wasm, language=language)
    for line in compiled.notes:
        warn(line)
    if check:
        say(f"Gene '{compiled.name}' passed the checks")
    elif compiled.stays:
        say(f"Gene '{compiled.name}' stays under Node: {compiled.fidelity} genes are not compiled")
    elif compiled.size is not None:
        say(f"Gene '{compiled.name}' is compiled: gene.ir.wasm, {compiled.size:,} bytes")
    else:
        say(f"Gene '{compiled.name}' is compiled already, and has no source")
    if compiled.verdict is not None:
        say(f"  Verifier      {compiled.verdict}")
        say(f"  IR hash       {compiled.ir_hash}")
    say(f"  Gene ID       {compiled.gene_id}")
    say(f"  Gene ID (v2)  {compiled.v2_id}")
    say(f"  Fidelity      {compiled.fidelity}")


command = click.Command(
    "compile",
    callback=_compile,
    help=(
        "Compile a gene to WASM, or check it, and print its identities.\n\n"
        "A gene that is a WASM module already is made of that: --wasm FILE, or gene.wasm in its "
        "folder. TypeScript is compiled with esbuild and javy, from PATH or the project's "
        "node_modules; what comes out gets its input only, so a gene that needs memory should "
        "stay under Node. Hybrid genes always do."
    ),
    short_help="Compile a gene to WASM, or check it.",
    params=[
        click.Argument(["gene"]),
        click.Option(["--check"], is_flag=True, help="Only look; write nothing."),
        click.Option(
            ["--wasm"], type=FILE_NAME, metavar="FILE", help="The module that the gene is."
        ),
        click.Option(
            ["--lang", "language"],
            type=click.Choice(["ts", "wasm"]),
            help="What to compile: its TypeScript, or its gene.wasm.",
        ),
    ],
)
