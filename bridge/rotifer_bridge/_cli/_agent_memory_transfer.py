"""``rotifer agent memory export`` and ``import``: a memory that moves (memory §11)."""

from __future__ import annotations

import sys

import click

from rotifer_bridge._cli._agent_memory import open_memory, opened
from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._output import OutputError, need_stdout, note, say

__all__ = ["export_command", "import_command"]


def _export(name: str, file: str, with_cache: bool, force: bool) -> None:
    from rotifer_bridge._transfer import STANDARD, output_file

    if file == STANDARD:
        need_stdout("the export")
    with open_memory(name) as memory:
        if file == STANDARD:
            try:
                count, size = memory.export_to(sys.stdout.buffer, with_cache=with_cache)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise OutputError(error) from None
        else:
            with output_file(file, force=force) as target:
                count, size = memory.export_to(target, with_cache=with_cache)
    tell = note if file == STANDARD else say
    left_out = "" if with_cache else "; CACHE was left out"
    tell(f"{_entries(count)} exported ({size:,} bytes of keys and values){left_out}")


def _import(name: str, file: str, replace: bool) -> None:
    from rotifer_bridge._transfer import input_file

    with opened(name) as (project, memory), input_file(file, project) as source:
        created, replaced, expired, size = memory.import_from(source, replace=replace)
    say(
        f"{_entries(created + replaced)} imported ({size:,} bytes of keys and values): "
        f"{created:,} new, {replaced:,} replaced"
    )
    if expired:
        say(f"{_entries(expired)} left out, because their time was over")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


export_command = click.Command(
    "export",
    callback=_export,
    help=(
        "Write what an agent remembers into a file that import reads.\n\n"
        "FILE is new, for its owner only, and holds the values in plain text; - is stdout. CACHE "
        "is left out unless it is asked for."
    ),
    short_help="Write what an agent remembers into a file.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Argument(["file"], type=FILE_NAME),
        click.Option(["--with-cache"], is_flag=True, help="Take the category CACHE along."),
        click.Option(["--force"], is_flag=True, help="Replace FILE if it is there."),
    ],
)

import_command = click.Command(
    "import",
    callback=_import,
    help=(
        "Take what a file from export holds into an agent's memory: all of it or nothing.\n\n"
        "FILE may be - for stdin. Nothing is evicted for it; the agent's quota and data policy "
        "hold. A key that is there already refuses the import."
    ),
    short_help="Take an export into an agent's memory.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Argument(["file"], type=FILE_NAME),
        click.Option(
            ["--replace"],
            is_flag=True,
            help="Let an entry of the file take the place of the one with its key.",
        ),
    ],
)
