"""``rotifer agent create``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._genes_option import GenesCommand, genes_option
from rotifer_bridge._cli._grant_options import grant_options, granted
from rotifer_bridge._cli._output import note, say, warn
from rotifer_bridge._composition import COMPOSITIONS, MERGES

__all__ = ["command"]

COMPOSITION_HELP = (
    f"How the genes work together: {', '.join(COMPOSITIONS)}, or a composition object as JSON. "
    "One gene alone is always Single."
)
PAR_MERGE_HELP = f"What a Par gives: {', '.join(MERGES)}."
QUOTA_HELP = "How much the agent may keep: a number with KB, MB or GB."


def composition_value(text: str) -> str | dict[str, object]:
    """The word, or the object that the JSON text holds.

    Raises:
        UsageError: it looks like JSON and is none.
    """
    if not text.lstrip().startswith("{"):
        return text
    from rotifer_bridge._json import NotJSON, parse_json
    from rotifer_bridge.errors import UsageError

    try:
        value: dict[str, object] = parse_json(text)
    except NotJSON as error:
        raise UsageError(f"--composition {error.told}") from None
    return value


def _create(
    *,
    name: str,
    genes: tuple[str, ...],
    domain: str | None,
    top: int | None,
    composition: str,
    par_merge: str,
    memory_quota: str | None,
    **given_grants: tuple[str, ...],
) -> None:
    from rotifer_bridge._create import TOP, create_agent, pick_genes
    from rotifer_bridge._names import check_agent_name
    from rotifer_bridge._project import Project
    from rotifer_bridge._text import printable
    from rotifer_engine import format_size

    project = Project.find()
    check_agent_name(name)
    grants = granted(project, given_grants)
    chosen = list(genes)
    if chosen:
        ignored = [f for f, given in (("--domain", domain), ("--top", top)) if given is not None]
        if ignored:
            warn(f"{' and '.join(ignored)}: ignored, because -g names the genes")
    else:
        picked = pick_genes(project, domain, TOP if top is None else top)
        chosen = picked.genes
        for line in picked.unreadable:
            warn(line)
        of_domain = f" of domain {domain}" if domain else ""
        note(
            f"picked: {', '.join(chosen)}; {len(chosen)} of {_genes(picked.of)}{of_domain}, "
            "compiled ones first, then by name (name them with -g)"
        )
    created = create_agent(
        project,
        name,
        chosen,
        composition=composition_value(composition),
        par_merge=par_merge,
        memory_quota=memory_quota,
        strategy="manual" if genes else "top",
        grants=grants,
    )
    for line in created.warnings:
        warn(line)
    record = created.record
    say(f"Agent '{record.name}' created")
    say(f"  Agent ID      {record.id}")
    say(f"  Genome        {', '.join(record.genome)} ({record.composition['type']})")
    say(f"  Memory quota  {format_size(record.memory_quota_bytes)}")
    for line in record.grants.lines():
        say(f"  Granted       {printable(line)}")
    note(f"next: rotifer agent run {record.name} --input JSON")


def _genes(count: int) -> str:
    return "1 gene" if count == 1 else f"{count:,} genes"


command = GenesCommand(
    "create",
    callback=_create,
    help=(
        "Create an agent from genes of the project.\n\n"
        "Without -g the genes are picked: the first two (-n) of a domain (-d), or of all genes; "
        "compiled ones before others, then by name."
    ),
    short_help="Create an agent from genes.",
    params=[
        click.Argument(["name"]),
        genes_option("The agent's genes, in order."),
        click.Option(
            ["-d", "--domain"], help="Pick genes of this domain. Ignored with -g.  [default: any]"
        ),
        click.Option(
            ["-n", "--top"],
            type=int,
            help="How many genes to pick. Ignored with -g.  [default: 2]",
        ),
        click.Option(["--composition"], default="Seq", show_default=True, help=COMPOSITION_HELP),
        click.Option(["--par-merge"], default="first", show_default=True, help=PAR_MERGE_HELP),
        click.Option(["--memory-quota"], metavar="SIZE", help=f"{QUOTA_HELP}  [default: 10MB]"),
        *grant_options(),
    ],
)
