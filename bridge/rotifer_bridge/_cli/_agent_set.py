"""``rotifer agent set``: other genes for an agent, whose memory stays as it is."""

from __future__ import annotations

import click

from rotifer_bridge._cli._agent_create import (
    COMPOSITION_HELP,
    PAR_MERGE_HELP,
    QUOTA_HELP,
    composition_value,
)
from rotifer_bridge._cli._genes_option import GenesCommand, genes_option
from rotifer_bridge._cli._output import say, warn

__all__ = ["command"]


def _set(
    name: str,
    genes: tuple[str, ...],
    composition: str | None,
    par_merge: str | None,
    memory_quota: str | None,
) -> None:
    from rotifer_bridge._create import change_agent
    from rotifer_bridge._project import Project
    from rotifer_engine import format_size

    changed = change_agent(
        Project.find(),
        name,
        genes=genes or None,
        composition=None if composition is None else composition_value(composition),
        par_merge=par_merge,
        memory_quota=memory_quota,
    )
    for line in changed.warnings:
        warn(line)
    record = changed.record
    say(f"Agent '{record.name}' changed; its memory is as it was")
    say(f"  Genome        {', '.join(record.genome)} ({record.composition['type']})")
    say(f"  Memory quota  {format_size(record.memory_quota_bytes)}")


command = GenesCommand(
    "set",
    callback=_set,
    help=(
        "Change an agent: its genes, their composition, its quota. What is not named stays.\n\n"
        "The memory is the agent's, so it stays too; a smaller quota takes effect at the next "
        "write."
    ),
    short_help="Change an agent's genes or quota.",
    params=[
        click.Argument(["name"]),
        genes_option("The new genes, in order."),
        click.Option(["--composition"], help=COMPOSITION_HELP),
        click.Option(["--par-merge"], help=PAR_MERGE_HELP),
        click.Option(["--memory-quota"], metavar="SIZE", help=QUOTA_HELP),
    ],
)
