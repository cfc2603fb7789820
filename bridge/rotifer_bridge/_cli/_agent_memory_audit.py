"""``rotifer agent memory audit``: what was recorded about one agent (memory §9)."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from rotifer_bridge._cli._agent_memory import open_memory
from rotifer_bridge._cli._output import note, say

if TYPE_CHECKING:
    from rotifer_engine._trail import Trail

__all__ = ["command"]

_LOOK_S = 0.5


def _audit(name: str, follow: bool, as_json: bool) -> None:
    with open_memory(name) as memory:
        trail = memory.trail()
        try:
            count = _print_new(trail, as_json)
            if not count and not follow:
                note("nothing is recorded")
            while follow:
                time.sleep(_LOOK_S)
                _print_new(trail, as_json)
        finally:
            trail.close()


def _print_new(trail: Trail, as_json: bool) -> int:
    count = 0
    for fields in trail.read():
        count += 1
        say(json.dumps(fields, separators=(",", ":")) if as_json else _line(fields))
    sys.stdout.flush()  # who follows wants to see it now
    return count


def _line(fields: dict[str, Any]) -> str:
    """Time, action, key, size and gene; why, when it was refused. Control characters escaped."""
    from rotifer_bridge._known_genes import short_identity
    from rotifer_bridge._text import printable

    gene, key, size = fields.get("gene_id"), fields.get("key"), fields.get("size")
    parts = [
        str(fields.get("ts")),
        str(fields.get("action")),
        "-" if key is None else ascii(key),
        "-" if size is None else f"{size} B",
        "-" if gene is None else short_identity(str(gene)),
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
