"""``rotifer compile``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import say, warn

__all__ = ["command"]


def _compile(gene: str, check: bool) -> None:
    from rotifer_bridge._compile import compile_gene
    from rotifer_bridge._project import Project

    compiled = compile_gene(Project.find(), gene, check=check)
    for line in compiled.notes:
        warn(line)
    if check:
        say(f"Gene '{compiled.name}' passed the checks")
    elif compiled.stays:
        say(f"Gene '{compiled.name}' stays under Node: {compiled.fidelity} genes are not compiled")
    else:
        say(f"Gene '{compiled.name}' is compiled already, and has no source")
    say(f"  Gene ID       {compiled.gene_id}")
    say(f"  Gene ID (v2)  {compiled.v2_id}")
    say(f"  Fidelity      {compiled.fidelity}")


command = click.Command(
    "compile",
    callback=_compile,
    help=(
        "Check a gene and print its identities.\n\n"
        "Hybrid genes stay under Node. This version compiles no TypeScript to WASM: a gene runs "
        "under Node without being compiled."
    ),
    short_help="Check a gene and print its identities.",
    params=[
        click.Argument(["gene"]),
        click.Option(["--check"], is_flag=True, help="Only look; write nothing."),
    ],
)
