"""``rotifer agent delete``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._output import note, say, warn
from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["command"]


def _delete(name: str, yes: bool) -> int:
    from rotifer_bridge._project import Project

    project = Project.find()
    try:
        if not yes and not _confirmed(project, name):
            note("nothing was deleted")
            return 1
        entries, clean = project.delete_agent(name)
    finally:
        project.close()
    count = "1 entry" if entries == 1 else f"{entries:,} entries"
    say(f"Agent '{name}' deleted, and {count} of its memory")
    if not clean:
        warn(
            "another process uses the database: the deleted values are gone from "
            f"{os.path.basename(project.database_path)}-wal when it ends"
            if project.memory_url is None
            else "the server keeps deleted values in its files until it has vacuumed them, and in "
            "its backups"
        )
    return 0


def _confirmed(project: Project, name: str) -> bool:
    from rotifer_engine import format_size

    record = project.record(name)
    if not sys.stdin.isatty():
        raise UsageError(
            "this deletes what the agent remembers, and there is no terminal to ask at",
            help=f"rotifer agent delete {record.name} --yes",
        )
    kept = format_size(project.memory(record).usage() if project.remembers() else 0)
    return click.confirm(
        f"Delete agent '{record.name}' and all that it remembers ({kept})? It cannot be undone.",
        err=True,
    )


command = click.Command(
    "delete",
    callback=_delete,
    help=(
        "Delete an agent and all that it remembers, for good.\n\n"
        "Every entry's deletion is recorded in the audit log, which keeps keys but no values. End "
        "the agent's runs first. The genes stay."
    ),
    short_help="Delete an agent and its memory.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(
            ["--yes"], is_flag=True, help="Do not ask. Needed where there is no terminal."
        ),
    ],
)
