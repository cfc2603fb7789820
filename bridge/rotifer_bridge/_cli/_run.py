"""``rotifer run``: one gene, without an agent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rotifer_bridge._cli._agent_run import (
    announce,
    log_line,
    parse_inspection,
    parse_time_limit,
    read_input,
    spent,
)
from rotifer_bridge._cli._grant_options import grant_options, granted
from rotifer_bridge._cli._output import note, say, say_json, warn
from rotifer_engine.quick import dumps

if TYPE_CHECKING:
    from rotifer_bridge._gene import Gene
    from rotifer_bridge._solo import Solo

__all__ = ["command"]

DISPLAY_LIMIT = 10.0  # [ours] seconds that a gene's `display` has


def _run(  # noqa: PLR0917 - click hands over one argument an option
    gene: str,
    given: str,
    as_json: bool,
    verbose: bool,
    no_sandbox: bool,
    trust_unsigned: bool,
    time_limit: str,
    inspect_brk: bool,
    inspect_port: str | None,
    **given_grants: tuple[str, ...],
) -> int:
    from time import perf_counter

    from rotifer_bridge._agent import TIME_LIMIT_MAX
    from rotifer_bridge._door import ClosedDoor
    from rotifer_bridge._project import Project
    from rotifer_bridge._solo import Solo, check_runnable

    seconds = parse_time_limit(time_limit)
    project = Project.find()
    found = project.gene(gene, code="E0051")
    for line in found.notes:
        warn(line)
    check_runnable(found, sandbox=not no_sandbox, trust_unsigned=trust_unsigned)
    grants = granted(project, given_grants)
    value = read_input(given)
    port = parse_inspection(gene if inspect_brk else None, inspect_port)
    inspection = None
    if port is not None:
        from rotifer_bridge._inspect import Inspection

        inspection, seconds = Inspection(gene, port), TIME_LIMIT_MAX
    with Solo(
        project,
        found,
        ClosedDoor(),
        on_log=log_line,
        time_limit=seconds,
        sandbox=not no_sandbox,
        inspection=inspection,
        grants=grants,
        on_note=warn,
    ) as solo:
        if port is not None:
            announce(gene, port)
        solo.start()
        started = perf_counter()
        _check(found, "inputSchema", value)
        output = solo.run(value, time_limit=seconds)
        took = (perf_counter() - started) * 1000
        _check(found, "outputSchema", output)
        if as_json:
            fuel = {} if solo.fuel is None else {"fuel": solo.fuel}
            document = {"gene": found.name, "engine": solo.engine, "output": output, **fuel}
            say(dumps({**document, "durationMs": round(took, 3)}))
        elif not (sys.stdout.isatty() and _display(solo, output, min(seconds, DISPLAY_LIMIT))):
            say_json(output)
        if verbose:
            note(f"gene {found.name}: ok ({spent(solo.engine, took, solo.fuel)})")
    return 0


def _check(gene: Gene, schema: str, value: object) -> None:
    """Warn of what does not fit, as ``agent run`` does."""
    from rotifer_bridge._schema import misfits

    for message in misfits(gene, schema, value):
        warn(message)


def _display(solo: Solo, output: Any, seconds: float) -> bool:
    """Show the output as the gene has it; whether that was done. A failure is a warning."""
    from shutil import get_terminal_size

    from rotifer_bridge._text import lines
    from rotifer_bridge.errors import RunError

    options = {"columns": get_terminal_size().columns}
    try:
        return solo.display(
            output, options, on_print=lambda text: say(lines(text)), time_limit=seconds
        )
    except RunError as error:
        warn(f"display failed, here is the output itself: {error.message}")
        return False


command = click.Command(
    "run",
    callback=_run,
    help=(
        "Run one gene, without an agent: it has no memory.\n\n"
        "A compiled gene runs as WASM. Of a source the function is 'express', else the default "
        "export, else 'main'; on a terminal the output is shown by its own 'display', if it "
        "exports one."
    ),
    short_help="Run one gene, without an agent.",
    params=[
        click.Argument(["gene"]),
        click.Option(
            ["--input", "given"],
            metavar="JSON",
            default='{"name":"world"}',
            show_default=True,
            help="The input: JSON, - to read it from standard input, @FILE to read a file.",
        ),
        click.Option(
            ["--json", "as_json"], is_flag=True, help="Print one JSON document: output and time."
        ),
        click.Option(["--verbose"], is_flag=True, help="Say on stderr what it took."),
        click.Option(
            ["--no-sandbox"], is_flag=True, help="Run the source of a compiled gene under Node."
        ),
        click.Option(
            ["--trust-unsigned"],
            is_flag=True,
            help="Run a gene that was installed from outside under Node, too.",
        ),
        click.Option(
            ["--time-limit"],
            metavar="SECONDS",
            default="60",
            show_default=True,
            help="How long the gene may take.",
        ),
        click.Option(
            ["--inspect-brk"],
            is_flag=True,
            help="Open Node's debugger on the gene, without a time limit.",
        ),
        click.Option(
            ["--inspect-port"],
            metavar="PORT",
            help="Where the debugger comes to, if not to 9229.",
        ),
        *grant_options(),
    ],
)
