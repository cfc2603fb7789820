"""``rotifer wrap``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._output import say, warn
from rotifer_bridge._phenotype import FIDELITIES

__all__ = ["command"]


def _wrap(gene: str, domain: str | None, fidelity: str | None, from_skill: str | None) -> None:
    from rotifer_bridge._project import Project
    from rotifer_bridge._wrap import wrap

    wrapped = wrap(Project.find(), gene, domain=domain, fidelity=fidelity, from_skill=from_skill)
    for line in wrapped.notes:
        warn(line)
    say(f"Gene '{wrapped.name}' wrapped")
    say(f"  Gene ID       {wrapped.gene_id}")
    say(f"  Gene ID (v2)  {wrapped.v2_id}")
    say(f"  Domain        {wrapped.domain}")
    say(f"  Fidelity      {wrapped.fidelity}")


command = click.Command(
    "wrap",
    callback=_wrap,
    help=(
        "Make a folder of code a gene: write its phenotype.json, if it has none, and give it the "
        "identity under which it remembers.\n\n"
        "Wrap again after a change. A phenotype that is there keeps everything but a domain given "
        "with -d."
    ),
    short_help="Make a folder of code a gene.",
    params=[
        click.Argument(["gene"]),
        click.Option(
            ["-d", "--domain"],
            help="The gene's functional domain.  [default: the phenotype's, or the project's]",
        ),
        click.Option(
            ["--fidelity"],
            help=f"For a new phenotype: {', '.join(FIDELITIES)}.  [default: Wrapped]",
        ),
        click.Option(
            ["--from-skill"],
            type=FILE_NAME,
            metavar="PATH",
            help="Make the gene from a SKILL.md, or from the folder that holds it.",
        ),
    ],
)
