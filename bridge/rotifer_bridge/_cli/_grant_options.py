"""``--allow-read``, ``--allow-write``, ``--allow-net``: what the deployer grants (design §5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from rotifer_bridge._grants import Grants
    from rotifer_bridge._project import Project

__all__ = ["GRANT_FLAGS", "add_grant", "grant_options", "granted"]

GRANT_FLAGS = {
    "allow_read": ("read", "PATH", "Let the genes read this file or folder. May be repeated."),
    "allow_write": ("write", "PATH", "Let the genes read and change it. May be repeated."),
    "allow_net": (
        "net",
        "HOST",
        "Let the genes reach this host by ctx.gatewayFetch; '*' opens all. May be repeated.",
    ),
}
"""By parameter: the kind of grant, what its value is, its help."""


def grant_options() -> list[click.Parameter]:
    """The options, for a command."""
    import click

    return [
        click.Option(
            [f"--{name.replace('_', '-')}", name], multiple=True, metavar=metavar, help=text
        )
        for name, (_, metavar, text) in GRANT_FLAGS.items()
    ]


def add_grant(grants: dict[str, tuple[str, ...]], flag: str, value: str | None) -> bool:
    """Add what stands behind a flag; False where it is no such flag, or nothing stands there."""
    name = flag.removeprefix("--").replace("-", "_")
    if name not in GRANT_FLAGS or value is None:
        return False
    grants[name] = (*grants.get(name, ()), value)
    return True


def granted(project: Project, given: dict[str, tuple[str, ...]]) -> Grants:
    """The grants of a command's options, judged.

    Args:
        project: paths inside it are kept relative to it.
        given: by parameter, what was typed; paths stand in the working folder.

    Raises:
        UsageError: one cannot be kept.
    """
    from rotifer_bridge._grants import fence_of, parse_grants

    found: dict[str, list[str]] = {}
    for name, (kind, _, _) in GRANT_FLAGS.items():
        items = given.get(name, ())
        found[kind] = [item if kind == "net" else _place(project.root, item) for item in items]
    grants = parse_grants(found)
    fence_of(project.root, project.genes_dir, None, grants)
    return grants


def _place(root: str, path: str) -> str:
    if not path:
        return path  # refused for what it is, not taken for the working folder
    whole = os.path.abspath(path)
    inside = whole.startswith(root.rstrip("/") + "/")
    return os.path.relpath(whole, root) if inside else whole
