"""``rotifer agent memory audit``: what was recorded about one agent (memory §9)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from rotifer_bridge._cli._agent_memory import opened
from rotifer_bridge._cli._output import flush, note, say
from rotifer_bridge._known_genes import names_by_identity, short_identity
from rotifer_bridge._names import shown
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_engine._trail import Trail

__all__ = ["command"]

_LOOK_S = 0.5


def _audit(name: str, follow: bool, as_json: bool) -> None:
    with opened(name) as (project, memory):
        genes = None if as_json else names_by_identity(project)
        trail = memory.trail()
        try:
            count = _print_new(trail, genes)
            if not count and not follow:
                note("nothing is recorded")
            while follow:
                time.sleep(_LOOK_S)
                _print_new(trail, genes)
        finally:
            trail.close()


def _print_new(trail: Trail, genes: dict[str, str] | None) -> int:
    """Print what was not read yet; as JSON where no names of genes are given."""
    count = 0
    for fields in trail.read():
        count += 1
        say(dumps(fields) if genes is None else _line(fields, genes))
    flush()  # who follows wants to see it now
    return count


def _line(fields: dict[str, Any], genes: dict[str, str]) -> str:
    """Time, action, key, size and gene; why, when it was refused. Control characters escaped."""
    from rotifer_bridge._text import printable

    gene, key, size = fields.get("gene_id"), fields.get("key"), fields.get("size")
    parts = [
        str(fields.get("ts")),
        str(fields.get("action")),
        "-" if key is None else shown(key),
        "-" if size is None else f"{size} B",
        "-" if gene is None else genes.get(str(gene)) or short_identity(str(gene)),
    ]
    if fields.get("reason"):
        parts.append(f"({fields['reason']})")
    return printable("  ".join(parts))


command = click.Command(
    "audit",
    callback=_audit,
    help=(
        "Print what the audit log says about an agent's memory, oldest first: time, action, key, "
        "size, gene.\n\n"
        "From the project's own file, only what was not rotated away is printed."
    ),
    short_help="Print what was recorded about an agent's memory.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(["--follow"], is_flag=True, help="Go on with what is recorded later."),
        click.Option(
            ["--json", "as_json"], is_flag=True, help="Print each record as one line of JSON."
        ),
    ],
)
