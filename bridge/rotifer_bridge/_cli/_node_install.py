"""``rotifer node install``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import note, say

__all__ = ["command"]


def _install(version: str, mirror: str | None) -> None:
    from rotifer_bridge._node_install import install_node
    from rotifer_bridge._project import Project
    from rotifer_bridge._text import printable

    project = Project.find()
    note(f"installing Node {version} into {project.node_dir} ...")
    found = install_node(project, version, mirror)
    say(f"Node {found} installed in {printable(project.node_dir)}")


command = click.Command(
    "install",
    callback=_install,
    help=(
        "Download a Node for this project, into .rotifer/node.\n\n"
        "Not needed as long as the one that came with the package is good enough: "
        "'rotifer doctor' says which is used. ROTIFER_NODE wins over both."
    ),
    short_help="Download a Node for this project.",
    params=[
        click.Option(
            ["--version"],
            default="lts",
            show_default=True,
            help="Which Node: 24, 24.1.0, lts or latest.",
        ),
        click.Option(
            ["--mirror"], metavar="URL", help="Download from here instead of from nodejs.org."
        ),
    ],
)
