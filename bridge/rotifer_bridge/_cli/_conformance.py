"""``rotifer conformance``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from rotifer_bridge._cli._guard import Terminated
from rotifer_bridge._cli._output import note, say
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rotifer_engine.conformance import Cell, Report

__all__ = ["command"]


@contextmanager
def _orderly() -> Iterator[None]:
    """Let an interrupt come as an exception: a database on a server must not be left behind."""
    import signal

    def terminate(*_: object) -> NoReturn:
        raise Terminated

    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: terminate}
    before = {word: signal.signal(word, handler) for word, handler in handlers.items()}
    try:
        yield
    finally:
        for word, handler in before.items():
            signal.signal(word, handler)


def _conformance(stores: tuple[str, ...], doors: str | None, as_json: bool) -> int:
    from rotifer_bridge._conformance import check_doors, read_doors, read_stores

    wanted, places = read_doors(doors), read_stores(stores)
    room = max(len(f"{door} x {place.name}:") for door in wanted for place in places)

    def told(cell: Cell) -> None:
        if not as_json:
            say(cell.line(room))

    with _orderly():
        report = check_doors(wanted, places, on_cell=told)
    if as_json:
        say(dumps(report.to_json()))
        for line in _shown(report.first_difference()):
            note(line)
    else:
        _print_rest(report)
    return 0 if report.ok else 1


def _print_rest(report: Report) -> None:
    for line in [*report.reasons(), *_shown(report.first_difference())]:
        say(line)
    if report.ok:
        say("all passed" + (", all equal" if len(report.cells) > 1 else ""))


def _shown(lines: list[str]) -> list[str]:
    from rotifer_bridge._text import printable

    return [printable(line) for line in lines]


command = click.Command(
    "conformance",
    callback=_conformance,
    help=(
        "Play the conformance suite, the memory's rules as cases, through every door on every "
        "store, and see that all give the same answers and the same audit lines.\n\n"
        "Prints a line for each door and store, then the first difference, entry by entry. The "
        "exit code is 1 unless all cases pass and are equal. SQLite is used in a temporary folder, "
        "a PostgreSQL server in a database of its own that is dropped afterwards: no agent is "
        "touched."
    ),
    short_help="Check that every door and store gives the same answers.",
    params=[
        click.Option(
            ["--store", "stores"],
            multiple=True,
            metavar="URL",
            help=(
                "A PostgreSQL server to check beside SQLite: postgresql://... Its user must be "
                "allowed to make a database. May be given more than once."
            ),
        ),
        click.Option(
            ["--door", "doors"],
            metavar="NAMES",
            help="Which doors: python, node, wasm, http, with commas between.  [default: all]",
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            help='Print {"cells": [{"door", "store", "passed", "total"}], "equal": true}.',
        ),
    ],
)
