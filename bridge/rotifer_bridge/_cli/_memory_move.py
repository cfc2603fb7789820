"""``rotifer memory move``."""

from __future__ import annotations

import click

from rotifer_bridge._cli._output import note, say

__all__ = ["command"]


def _move(name: str, url: str, replace: bool) -> None:
    from rotifer_bridge._project import Project

    project = Project.find()
    try:
        entries, size, before, clean = project.move_memory(name, url, replace=replace)
        here = project.memory_url
    finally:
        project.close()
    count = "1 entry" if entries == 1 else f"{entries:,} entries"
    if before:
        say(f"nothing to move: {count} there, and none here")
    else:
        say(f"{count} moved ({size:,} bytes of keys and values)")
    if not clean:
        note(
            "the moved values may stand in this store's files until they are overwritten"
            if here is None
            else "the server keeps the moved values in its files until it has vacuumed them"
        )
    note("the layers stay where they are: they are of people and of all, not of an agent")
    note(
        "agents go on remembering where the project says: when all are moved, make memory.url in "
        "rotifer.json, or ROTIFER_MEMORY_URL, say the other store (or nothing: the project's file)"
    )


command = click.Command(
    "move",
    callback=_move,
    help=(
        "Carry what an agent remembers to another store: everything or nothing.\n\n"
        "Ids, creators, times, policies and the order of updates stay. The layers, which are no "
        "agent's, do not go along. What is here goes only "
        "when the copy was compared with it; where it was interrupted, call it again. Stop the "
        "agent first: it writes where the project says."
    ),
    short_help="Carry an agent's memory to another store.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(
            ["--to", "url"],
            metavar="URL",
            required=True,
            help="The other store: postgresql://USER@HOST/DATABASE, or sqlite: for the project's "
            "own file. Others on this machine can see it: keep the password in ~/.pgpass.",
        ),
        click.Option(
            ["--replace"],
            is_flag=True,
            help="Delete what the other store has of the agent, where it is not the same.",
        ),
    ],
)
