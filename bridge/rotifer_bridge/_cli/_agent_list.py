"""``rotifer agent list``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import note, say, write_error
from rotifer_engine.quick import dumps

__all__ = ["command"]


def _list(as_json: bool) -> int:
    from rotifer_bridge._project import Project
    from rotifer_bridge._record import AgentRecord, duplicate_names
    from rotifer_bridge._text import printable, table
    from rotifer_bridge.errors import RotiferError

    found: list[AgentRecord] = []
    faults: list[RotiferError] = []
    for record in Project.find().records():
        if isinstance(record, RotiferError):
            faults.append(record)
        else:
            found.append(record)
    faults += duplicate_names(found)
    found.sort(key=lambda record: (record.name, record.id))
    if as_json:
        say(dumps({"agents": [record.document for record in found]}))
    elif found:
        rows = [
            [r.name, r.state, ", ".join(r.genome) or "(empty)", r.composition["type"], r.id]
            for r in found
        ]
        say(table(["Name", "State", "Genome", "Composition", "Agent ID"], rows))
        for record in found:
            for line in record.grants.lines():
                note(f"agent {printable(record.name)} is granted: {printable(line)}")
    elif not faults:
        note("no agents yet; make one: rotifer agent create NAME -g GENE")
    for fault in faults:
        write_error(fault.render())
    return 1 if faults else 0


command = click.Command(
    "list",
    callback=_list,
    help=(
        "List the project's agents.\n\n"
        "A record that cannot be read is reported on stderr, the others are listed all the same; "
        "the exit code is then 1."
    ),
    short_help="List the project's agents.",
    params=[
        click.Option(
            ["--json", "as_json"], is_flag=True, help='Print {"agents": [...]}, the whole records.'
        )
    ],
)
