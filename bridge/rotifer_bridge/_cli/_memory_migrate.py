"""``rotifer memory migrate``."""

from __future__ import annotations

import os

import click

from rotifer_bridge._cli._output import say
from rotifer_bridge.errors import UsageError

__all__ = ["command"]


def _url(given: str | None) -> str:
    from rotifer_bridge._memory_place import OWN_FILE, URL_VARIABLE, read_url

    if given is not None:
        url = read_url(given, "--url")
    elif os.environ.get(URL_VARIABLE):  # a server can be made ready where there is no project
        url = read_url(os.environ[URL_VARIABLE], URL_VARIABLE)
    else:
        from rotifer_bridge._project import Project

        url = Project.find().memory_url
    if url is None:
        raise UsageError(
            "the agents remember in the project's own file, which needs no migrating",
            help=f"name a server with --url, {URL_VARIABLE}, or memory.url of rotifer.json; "
            f"{OWN_FILE} is the file",
        )
    return url


def _migrate(url: str | None) -> None:
    from rotifer_engine import migrate

    place, before, applied = migrate(_url(url))
    if not applied:
        say(f"{place} is up to date (version {before})")
        return
    for name in applied:
        say(f"applied: {name}")
    say(f"{place} is at version {before + len(applied)}")


command = click.Command(
    "migrate",
    callback=_migrate,
    help=(
        "Make the tables for memories on a PostgreSQL server, or bring them up to date: all steps "
        "or none.\n\n"
        "The server is the one that the project's agents remember on. Two at once are safe."
    ),
    short_help="Make or update the tables on a PostgreSQL server.",
    params=[
        click.Option(
            ["--url"],
            metavar="URL",
            help="Another server: postgresql://USER@HOST/DATABASE. Others on this machine can "
            "see it, so keep the password in ~/.pgpass or in ROTIFER_MEMORY_URL.",
        )
    ],
)
