"""``rotifer agent memory list`` and ``delete``: the deployer's view (memory §10)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._output import note, say
from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_engine import AgentMemory, EntrySummary

__all__ = ["delete_command", "list_command"]

SORTS = ("key", "size", "updated", "category")
_CATEGORY_HELP = "PREFERENCE, PATTERN, CONTEXT or CACHE."


@contextmanager
def _memory(name: str) -> Iterator[AgentMemory]:
    from rotifer_bridge._project import Project

    project = Project.find()
    try:
        yield project.memory(project.record(name))
    finally:
        project.close()


def _sorted(entries: list[EntrySummary], sort: str) -> list[EntrySummary]:
    """They come in the order of the keys' bytes; the largest and the latest stand first."""
    if sort == "size":
        entries.sort(key=lambda entry: -entry.size)
    elif sort == "updated":
        entries.sort(key=lambda entry: -entry.order)
    elif sort == "category":
        entries.sort(key=lambda entry: entry.category)
    return entries


def _list(name: str, category: str | None, sort: str, as_json: bool) -> None:
    from rotifer_bridge._text import table
    from rotifer_engine import format_size, format_time

    with _memory(name) as memory:
        entries = _sorted(list(memory.list(category)), sort)
        usage, quota = memory.usage(), memory.quota_bytes
    if as_json:
        import json

        document = {
            "agent": name,
            "usageBytes": usage,
            "quotaBytes": quota,
            "entries": [
                {
                    "key": entry.key,
                    "category": entry.category,
                    "size": entry.size,
                    "createdBy": entry.created_by,
                    "updatedAt": format_time(entry.updated_at),
                }
                for entry in entries
            ],
        }
        say(json.dumps(document, separators=(",", ":")))
        return
    if entries:
        rows = [
            [
                entry.key,
                entry.category,
                format_size(entry.size),
                entry.created_by,
                format_time(entry.updated_at),
            ]
            for entry in entries
        ]
        say(
            table(
                ["Key", "Category", "Size", "Creator", "Updated"],
                rows,
                right=frozenset({2}),
            )
        )
    else:
        note("nothing is remembered" + (f" in {category}" if category else ""))
    say(f"{format_size(usage)} of {format_size(quota)} used ({usage:,} of {quota:,} bytes)")


def _delete(name: str, key: str | None, category: str | None) -> None:
    if (key is None) == (category is None):
        raise UsageError(
            "give exactly one of --key and --category",
            help="--key deletes one entry, --category all entries of one category",
        )
    with _memory(name) as memory:
        if key is not None:
            deleted = memory.delete_key(key)
        else:
            assert category is not None
            deleted = memory.delete_category(category)
    say("1 entry deleted" if deleted == 1 else f"{deleted:,} entries deleted")


list_command = click.Command(
    "list",
    callback=_list,
    help=(
        "List what an agent remembers: key, category, size, creator and last update, never values."
    ),
    short_help="List what an agent remembers.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(["--category"], help=f"Only entries of this category: {_CATEGORY_HELP}"),
        click.Option(
            ["--sort"],
            type=click.Choice(SORTS),
            default="key",
            show_default=True,
            help="The order of the lines; the largest and the latest stand first.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."),
    ],
)

delete_command = click.Command(
    "delete",
    callback=_delete,
    help=(
        "Delete one entry, or all entries of a category, whatever their access policies say.\n\n"
        "Each deletion is recorded in the audit log."
    ),
    short_help="Delete what an agent remembers.",
    params=[
        click.Argument(["name"], metavar="AGENT"),
        click.Option(["--key"], help="The key of the entry."),
        click.Option(["--category"], help=f"The category to empty: {_CATEGORY_HELP}"),
    ],
)
