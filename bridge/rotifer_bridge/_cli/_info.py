"""``rotifer info``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import say, warn
from rotifer_engine.quick import dumps

__all__ = ["command"]


def _info(gene: str, as_json: bool) -> None:
    from rotifer_bridge._inventory import gene_facts
    from rotifer_bridge._project import Project
    from rotifer_bridge._text import printable

    found = Project.find().gene(gene)
    for line in found.notes:
        warn(line)
    facts = gene_facts(found)
    if as_json:
        say(dumps(facts.to_json()))
        return
    rows = [
        ("Gene", facts.name),
        ("Version", facts.version),
        ("Domain", facts.domain),
        ("Fidelity", facts.fidelity),
        ("Gene ID", facts.gene_id),
        ("Gene ID (v2)", facts.v2_id or "none: it was never wrapped"),
        ("Source", facts.source or "none"),
        ("Compiled", "yes" if facts.compiled else "no"),
        ("Installed", "yes: under Node it runs with --trust-unsigned" if facts.installed else "no"),
        ("Memory", f"{'yes' if facts.memory else 'no'}: {facts.why}"),
    ]
    for name, value in rows:
        say(f"{name:<14}{printable(value)}")


command = click.Command(
    "info",
    callback=_info,
    help=(
        "Show what is known of a gene: its fidelity, domain and identities, whether it is "
        "compiled, and whether it has memory and why."
    ),
    short_help="Show what is known of a gene.",
    params=[
        click.Argument(["gene"]),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
    ],
)
