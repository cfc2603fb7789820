"""``rotifer init``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import note, say
from rotifer_bridge._phenotype import FIDELITIES

__all__ = ["command"]


def _init(name: str, domain: str, fidelity: str, genesis: bool) -> None:
    import os
    import shlex

    from rotifer_bridge._root import find_root
    from rotifer_bridge._scaffold import FIRST_GENE, init_project
    from rotifer_bridge._text import printable

    outer = find_root(os.path.dirname(os.path.abspath(name)))
    project = init_project(name, domain=domain, fidelity=fidelity, first_gene=genesis)
    if outer is not None:
        note(f"note: it lies inside another project, {outer}; each command uses the nearest one")
    say(f"Project '{project.name}' created in {printable(project.root)}")
    note(f"next: cd {shlex.quote(name)}")
    if genesis:
        note(f"      rotifer agent create hello -g {FIRST_GENE}")
        note("""      rotifer agent run hello --input '{"name": "Ada"}'""")


command = click.Command(
    "init",
    callback=_init,
    help="Make a new project: its folders, rotifer.json and a first gene that remembers.",
    short_help="Make a new project.",
    params=[
        click.Argument(["name"], default="my-agent"),
        click.Option(
            ["--domain"],
            default="general",
            show_default=True,
            help="The default domain of the project's genes.",
        ),
        click.Option(
            ["--fidelity"],
            default="Wrapped",
            show_default=True,
            help=f"The first gene's fidelity: {', '.join(FIDELITIES)}.",
        ),
        click.Option(
            ["--genesis/--no-genesis"],
            default=True,
            help="With or without the first gene, genes/hello-world.",
        ),
    ],
)
