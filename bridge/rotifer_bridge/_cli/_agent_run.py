"""``rotifer agent run``: its arguments, and how a run is shown.

On the cold path (design §5a): no click here unless somebody asks for help or made a mistake. Both
parsers read the one table of options below.
"""

from __future__ import annotations

import os
import sys

from rotifer_bridge._cli._output import note, say, say_json, warn
from rotifer_bridge._json import NotJSON, parse_json
from rotifer_bridge.errors import RotiferError, UsageError
from rotifer_engine.quick import NamedTuple, dumps

TYPE_CHECKING = False  # `typing` is slow to import (rotifer_engine.quick)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import click

    from rotifer_bridge._agent import Agent
    from rotifer_bridge._gateway import Traffic
    from rotifer_bridge._launch import Launched
    from rotifer_bridge._result import OnLog, OnNote, OnStep, RunResult, Step

__all__ = [
    "INPUT_LIMIT",
    "RunOptions",
    "announce",
    "log_line",
    "parse",
    "parse_inspection",
    "parse_time_limit",
    "perform",
    "read_input",
    "spent",
]

INPUT_LIMIT = 64 * 1024 * 1024  # [ours]
_INPUT_EXAMPLE = """for example: --input '{"name": "Ada"}', --input @file.json, or --input -"""


class _Option(NamedTuple):
    flag: str
    metavar: str | None
    """None for a flag that takes no value."""
    default: str | None
    help: str


_OPTIONS = (
    _Option(
        "--input",
        "JSON",
        '{"name":"world"}',
        "The first gene's input: JSON, - to read it from standard input, @FILE to read a file.",
    ),
    _Option("--strict", None, None, "Fail when an input or output does not fit its schema."),
    _Option("--time-limit", "SECONDS", "60", "How long each gene may take."),
    _Option("--json", None, None, "Print one JSON document: output, steps and durations."),
    _Option("--verbose", None, None, "Say on stderr what each gene did, and what it took."),
    _Option(
        "--no-sandbox",
        None,
        None,
        "Run the source of compiled genes under Node.",
    ),
    _Option(
        "--trust-unsigned",
        None,
        None,
        "Run genes that were installed from outside under Node, too.",
    ),
    _Option(
        "--inspect-brk", "GENE", None, "Open Node's debugger on this gene, without time limits."
    ),
    _Option("--inspect-port", "PORT", None, "Where the debugger comes to, if not to 9229."),
)
_BY_FLAG = {option.flag: option for option in _OPTIONS}
_DEFAULTS = {option.flag: option.default for option in _OPTIONS}


class RunOptions(NamedTuple):
    """What was asked for; the input as it was typed."""

    agent: str
    input: str
    strict: bool
    time_limit: str
    json: bool
    verbose: bool
    sandbox: bool
    trust_unsigned: bool
    inspect: str | None
    inspect_port: str | None
    grants: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never changed
    """As typed, by parameter; see `_grant_options`."""


def parse(argv: list[str]) -> RunOptions | None:
    """The options, or None where click should have the word: help, or a mistake."""
    values: dict[str, str | None] = dict(_DEFAULTS)
    names: list[str] = []
    grants: dict[str, tuple[str, ...]] = {}
    rest = iter(argv)
    for word in rest:
        if word == "--":
            names.extend(rest)
        elif word.startswith("-") and word != "-":
            flag, has_value, value = word.partition("=")
            if flag.startswith("--allow-"):
                from rotifer_bridge._cli._grant_options import add_grant

                if not add_grant(grants, flag, value if has_value else next(rest, None)):
                    return None
                continue
            option = _BY_FLAG.get(flag)
            if option is None or (option.metavar is None and has_value):
                return None
            if option.metavar is None:
                values[flag] = flag
            elif has_value:
                values[flag] = value
            elif (following := next(rest, None)) is not None:
                values[flag] = following
            else:
                return None
        else:
            names.append(word)
    return _options(names[0], values)._replace(grants=grants) if len(names) == 1 else None


def _options(agent: str, values: dict[str, str | None]) -> RunOptions:
    return RunOptions(
        agent=agent,
        input=values["--input"] or "",
        strict=bool(values["--strict"]),
        time_limit=values["--time-limit"] or "",
        json=bool(values["--json"]),
        verbose=bool(values["--verbose"]),
        sandbox=not values["--no-sandbox"],
        trust_unsigned=bool(values["--trust-unsigned"]),
        inspect=values["--inspect-brk"],
        inspect_port=values["--inspect-port"],
    )


def click_command() -> click.Command:
    """The same command for click: its help, its words for mistakes, and the grants."""
    import click

    from rotifer_bridge._cli._grant_options import GRANT_FLAGS, grant_options

    def callback(agent_name: str, **given: Any) -> int:
        grants = {name: given.pop(name) for name in GRANT_FLAGS}
        values: dict[str, str | None] = {}
        for option in _OPTIONS:
            value = given[option.flag.strip("-").replace("-", "_")]
            values[option.flag] = (
                (option.flag if value else None) if isinstance(value, bool) else value
            )
        return perform(_options(agent_name, values)._replace(grants=grants))

    parameters: list[click.Parameter] = [click.Argument(["agent_name"], metavar="AGENT")]
    parameters += [
        click.Option(
            [option.flag, option.flag.strip("-").replace("-", "_")],
            is_flag=option.metavar is None,
            metavar=option.metavar,
            default=option.default if option.metavar else False,
            show_default=option.metavar is not None,
            help=option.help,
        )
        for option in _OPTIONS
    ]
    parameters += grant_options()
    return click.Command(
        "run",
        callback=callback,
        params=parameters,
        help=(
            "Run an agent: its genes, in order, each one's output the next one's input.\n\n"
            "The output goes to stdout; warnings and what the genes print go to stderr."
        ),
        short_help="Run an agent.",
    )


def perform(options: RunOptions, launched: Launched | None = None) -> int:
    """Run the agent and print what it gives; the exit code."""
    from rotifer_bridge._project import Project

    try:
        time_limit = parse_time_limit(options.time_limit)
        project = Project.find()
        value = read_input(options.input)
        agent, launched = project.agent(options.agent, launched=launched), None
    finally:
        if launched is not None:
            from rotifer_bridge._launch import discard

            discard(launched)
    with agent:
        if options.verbose:
            genome = " -> ".join(agent.record.genome)
            note(f"agent {agent.name} ({agent.record.composition['type']}): {genome}")
            for line in agent.record.grants.lines():
                note(f"granted by its record: {line}")
        try:
            result = _run(agent, value, time_limit, options)
        except RotiferError as error:
            if options.verbose:
                _show_steps(error.steps, str(error))
            raise
        _show(result, options)
    return 0


def _run(agent: Agent, value: Any, time_limit: float, options: RunOptions) -> RunResult:
    port = parse_inspection(options.inspect, options.inspect_port)
    grants = None
    if any(options.grants.values()):
        from rotifer_bridge._cli._grant_options import granted

        grants = granted(agent.project, options.grants).to_json()

    def run(on_log: OnLog, on_note: OnNote, on_step: OnStep | None) -> RunResult:
        return agent.run(
            value,
            strict=options.strict,
            sandbox=options.sandbox,
            trust_unsigned=options.trust_unsigned,
            time_limit=time_limit,
            grants=grants,
            inspect=options.inspect,
            inspect_port=port,
            on_log=on_log,
            on_note=on_note,
            on_step=on_step,
        )

    def announcing(on_step: OnStep | None, announced: Callable[..., None]) -> OnStep | None:
        """Say that the gene waits when its turn has come: what runs before it may fail."""
        if port is None:
            return on_step

        def step(name: str) -> None:
            if on_step is not None:
                on_step(name)
            if name == options.inspect:
                announced(name, port)

        return step

    # Only a terminal that is able to can take back what it shows.
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") in {"", "dumb"}:
        return run(log_line, warn, announcing(None, announce))
    from rotifer_bridge._cli._progress import Progress

    with Progress(len(agent.record.genome)) as progress:
        on_step = announcing(progress.step, progress.around(announce))
        return run(progress.around(log_line), progress.around(warn), on_step)


def read_input(text: str) -> Any:
    """The JSON value of ``--input``: the text itself, ``-`` or ``@FILE``.

    Raises:
        UsageError: it cannot be read, or is not JSON; with the line and column.
    """
    data: bytes | str = text
    what = "--input"
    try:
        if text == "-":
            what = "the input on standard input"
            data = sys.stdin.buffer.read(INPUT_LIMIT + 1)
        elif text == "@":
            raise UsageError(
                "--input @: the name of the file is empty",
                help="put it right behind the sign: --input @file.json",
            )
        elif text.startswith("@"):
            what = f"the input in {text[1:]}"
            with open(text[1:], "rb") as file:
                data = file.read(INPUT_LIMIT + 1)
        elif any("\udc80" <= sign <= "\udcff" for sign in text):
            data = os.fsencode(text)  # bytes that are no text in this locale: judged as a file's
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        from rotifer_engine import remedy_of

        raise UsageError(
            f"cannot read {what}: {why}",
            help=remedy_of(error) if isinstance(error, OSError) else _INPUT_EXAMPLE,
        ) from None
    if len(data) > INPUT_LIMIT:
        raise UsageError(f"{what} is over {INPUT_LIMIT:,} bytes")
    try:
        return parse_json(data)
    except NotJSON as error:
        raise UsageError(
            f"{what} {error.told}",
            help=_INPUT_EXAMPLE,
        ) from None


def parse_time_limit(text: str) -> float:
    """The seconds of ``--time-limit``.

    Raises:
        UsageError: it is no number of seconds, or too many.
    """
    from rotifer_bridge._agent import TIME_LIMIT_MAX

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= TIME_LIMIT_MAX:
        return seconds
    raise UsageError(
        f"--time-limit is {text!r}; it takes seconds, more than 0 and at most {TIME_LIMIT_MAX:,.0f}"
    )


def parse_inspection(gene: str | None, port: str | None) -> int | None:
    """Where the debugger comes to; None if no gene is debugged.

    Raises:
        UsageError: it is no port, or no gene is debugged.
    """
    if gene is None and port is not None:
        raise UsageError(
            f"--inspect-port {port}: no gene is debugged", help="say which with --inspect-brk"
        )
    if gene is None:
        return None
    from rotifer_bridge._inspect import DEFAULT_PORT, parse_port

    return DEFAULT_PORT if port is None else parse_port(port)


def announce(gene: str, port: int) -> None:
    """Say what the user is to do now."""
    note(
        f"gene '{gene}' waits for a debugger on 127.0.0.1:{port}: "
        "open chrome://inspect, or attach an editor to Node"
    )


def log_line(gene: str, line: str) -> None:
    """A line that a gene printed, under its name."""
    note(f"[{gene}] {line}")


def _show(result: RunResult, options: RunOptions) -> None:
    if options.verbose:
        _show_steps(result.steps)
    if options.json:
        say(dumps(result.to_json()))
        return
    say_json(result.output)
    if options.verbose:
        note(f"done in {result.duration_ms:.1f} ms")


def _show_steps(steps: Sequence[Step], told: str | None = None) -> None:
    """The steps for ``--verbose``; ``told`` is the error that is shown in any case."""
    for number, step in enumerate(steps, 1):
        what = spent(step.engine, step.duration_ms, step.fuel)
        note(f"[{number}/{len(steps)}] {step.gene}: {step.status} ({what})")
        if step.error is not None and step.error != told:
            note(f"      {step.error}")
        if step.network is not None:
            _show_traffic(step.gene, step.network)


def spent(engine: str, duration_ms: float, fuel: int | None) -> str:
    """What ran a gene and what it took, for ``--verbose``."""
    used = "" if fuel is None else f", {fuel:,} fuel"
    return f"{engine}, {duration_ms:.1f} ms{used}"


def _show_traffic(gene: str, traffic: Traffic) -> None:
    failed = [f"{count:,} {code}" for code, count in traffic.failed.items()]
    what = ", ".join([f"{traffic.received:,} bytes received", *failed])
    note(f"      {gene}: network requests: {traffic.requests:,}; {what}")
