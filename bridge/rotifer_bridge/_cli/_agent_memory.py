"""``rotifer agent memory list`` and ``delete``: the deployer's view (memory §10)."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._output import note, say
from rotifer_bridge._names import did_you_mean, shown, typed
from rotifer_bridge.errors import AgentError, UsageError
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_bridge._project import Project
    from rotifer_engine import AgentMemory, EntrySummary

__all__ = ["delete_command", "list_command", "open_memory", "opened"]

SORTS = ("key", "size", "updated", "category")
_CATEGORY_HELP = "PREFERENCE, PATTERN, CONTEXT or CACHE."


@contextmanager
def opened(name: str) -> Iterator[tuple[Project, AgentMemory]]:
    """The project, and the memory of the agent of this name, closed at the end."""
    from rotifer_bridge._project import Project

    project = Project.find()
    try:
        yield project, project.memory(project.record(name))
    finally:
        project.close()


@contextmanager
def open_memory(name: str) -> Iterator[AgentMemory]:
    """The memory of the agent of this name, closed at the end."""
    with opened(name) as (_, memory):
        yield memory


def _in_order(memory: AgentMemory, category: str | None, sort: str) -> Iterator[EntrySummary]:
    """Entries come in the order of their keys' bytes; the largest and the latest stand first.

    By key and by category they come one at a time, so a million of them need no room. The other
    two orders hold them all.
    """
    if sort == "category" and category is None:
        from rotifer_engine import CATEGORIES

        return chain.from_iterable(map(memory.list, sorted(CATEGORIES)))
    entries = memory.list(category)
    if sort == "size":
        return iter(sorted(entries, key=lambda entry: -entry.size))
    if sort == "updated":
        return iter(sorted(entries, key=lambda entry: -entry.order))
    return entries


def _list(name: str, category: str | None, sort: str, as_json: bool) -> None:
    _check_category(category)
    with opened(name) as (project, memory):
        entries = _in_order(memory, category, sort)
        usage, quota = memory.usage(), memory.quota_bytes
        if as_json:
            _print_json({"agent": name, "usageBytes": usage, "quotaBytes": quota}, entries)
        else:
            _print_table(entries, category, project)
    if not as_json:
        from rotifer_engine import format_size

        say(f"{format_size(usage)} of {format_size(quota)} used ({usage:,} of {quota:,} bytes)")


def _print_json(head: dict[str, object], entries: Iterator[EntrySummary]) -> None:
    """One document, written as its entries come."""
    from rotifer_engine import format_time

    say(dumps(head)[:-1] + ',"entries":[', end="")
    comma = ""
    for entry in entries:
        fields = {
            "key": entry.key,
            "category": entry.category,
            "size": entry.size,
            "createdBy": entry.created_by,
            "updatedAt": format_time(entry.updated_at),
        }
        say(comma + dumps(fields), end="")
        comma = ","
    say("]}")


def _print_table(entries: Iterator[EntrySummary], category: str | None, project: Project) -> None:
    from rotifer_bridge._known_genes import names_by_identity, short_identity
    from rotifer_bridge._text import table_lines
    from rotifer_engine import format_size, format_time

    first = next(entries, None)
    if first is None:
        note("nothing is remembered" + (f" in {category}" if category else ""))
        return
    genes = names_by_identity(project)
    rows = (
        [
            entry.key,
            entry.category,
            format_size(entry.size),
            genes.get(entry.created_by) or short_identity(entry.created_by),
            format_time(entry.updated_at),
        ]
        for entry in chain([first], entries)
    )
    head = ["Key", "Category", "Size", "Gene", "Updated"]
    for line in table_lines(head, rows, right=frozenset({2})):
        say(line)


def _delete(name: str, key: str | None, category: str | None) -> None:
    if (key is None) == (category is None):
        raise UsageError(
            "give exactly one of --key and --category",
            help="--key deletes one entry, --category all entries of one category",
        )
    _check_category(category)
    with open_memory(name) as memory:
        if key is not None:
            deleted = _delete_key(memory, name, key)
        else:
            assert category is not None
            deleted = memory.delete_category(category)
    say("1 entry deleted" if deleted == 1 else f"{deleted:,} entries deleted")


def _delete_key(memory: AgentMemory, name: str, key: str) -> int:
    from rotifer_engine import EntryNotFound

    try:
        return memory.delete_key(key)
    except EntryNotFound as error:
        raise AgentError(
            error.message,
            code=error.code,
            help=f"'rotifer agent memory list {typed(name, 'AGENT')}' lists the keys there are",
        ) from None


def _check_category(category: str | None) -> None:
    """Refuse what is no category before anything is opened, with the one that was meant.

    The words are upper case everywhere, so here too.
    """
    from rotifer_engine import CATEGORIES, InvalidInput

    if category is None or category in CATEGORIES:
        return
    meant = did_you_mean(category.upper(), CATEGORIES)
    raise UsageError(
        f"{shown(category)} is not a category",
        code=InvalidInput.code,
        help=" ".join(filter(None, [meant, f"use one of {', '.join(CATEGORIES)}"])),
    )


list_command = click.Command(
    "list",
    callback=_list,
    help=(
        "List what an agent remembers: key, category, size, the gene that created it and last "
        "update, never values.\n\n"
        "A gene stands with its name where the project still has it, else with the beginning of "
        "its identity; --json has the whole identities."
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
