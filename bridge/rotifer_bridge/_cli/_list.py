"""``rotifer list``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import note, say, write_error
from rotifer_engine.quick import dumps

__all__ = ["command"]


def _list(as_json: bool) -> int:
    from rotifer_bridge._inventory import GeneFacts, gene_facts
    from rotifer_bridge._project import Project
    from rotifer_bridge._text import table
    from rotifer_bridge.errors import RotiferError

    project = Project.find()
    found: list[GeneFacts] = []
    faults: list[RotiferError] = []
    for name in project.gene_names():
        try:
            found.append(gene_facts(project.gene(name)))
        except RotiferError as error:
            faults.append(error)
    if as_json:
        say(dumps({"genes": [facts.to_json() for facts in found]}))
    elif found:
        rows = [
            [
                facts.name,
                facts.version,
                facts.domain,
                facts.fidelity,
                "yes" if facts.compiled else "no",
                "yes" if facts.memory else "no",
            ]
            for facts in found
        ]
        say(table(["Name", "Version", "Domain", "Fidelity", "Compiled", "Memory"], rows))
    elif not faults:
        note("no genes yet; make one: a folder in genes/ with index.ts, then rotifer wrap NAME")
    for fault in faults:
        write_error(fault.render())
    return 1 if faults else 0


command = click.Command(
    "list",
    callback=_list,
    help=(
        "List the project's genes.\n\n"
        "A gene that cannot be read is reported on stderr, the others are listed all the same; "
        "the exit code is then 1."
    ),
    short_help="List the project's genes.",
    params=[
        click.Option(
            ["--json", "as_json"], is_flag=True, help='Print {"genes": [...]}, each as info has it.'
        )
    ],
)
