"""The root command and its groups. A command's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from rotifer_bridge._names import did_you_mean, shown
from rotifer_bridge.errors import UsageError

__all__ = ["invoke", "root"]

# name -> where the command is, as `module:attribute`; an attribute in parentheses is called.
_AGENT_MEMORY = {
    "list": "_agent_memory:list_command",
    "delete": "_agent_memory:delete_command",
    "export": "_agent_memory_transfer:export_command",
    "import": "_agent_memory_transfer:import_command",
    "check": "_agent_memory_check:command",
    "audit": "_agent_memory_audit:command",
}
_MEMORY = {
    "migrate": "_memory_migrate:command",
    "move": "_memory_move:command",
}
_AGENT = {
    "create": "_agent_create:command",
    "set": "_agent_set:command",
    "list": "_agent_list:command",
    "run": "_agent_run:click_command()",
    "delete": "_agent_delete:command",
    "memory": "_app:agent_memory",
}
_NODE = {"install": "_node_install:command"}
_TOKEN = {
    "create": "_token:create_command",
    "list": "_token:list_command",
    "revoke": "_token:revoke_command",
}
_ROOT = {
    "init": "_init:command",
    "wrap": "_wrap:command",
    "list": "_list:command",
    "info": "_info:command",
    "run": "_run:command",
    "test": "_test:command",
    "compile": "_compile:command",
    "agent": "_app:agent",
    "memory": "_app:memory",
    "token": "_app:token",
    "node": "_app:node",
    "serve": "_serve:command",
    "doctor": "_doctor:command",
    "conformance": "_conformance:command",
}


class _Lazy(click.Group):
    """A group that knows its commands by name and imports one when it is used."""

    def __init__(self, places: dict[str, str], **settings: Any) -> None:
        super().__init__(**settings)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.places)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word in self.places or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = did_you_mean(word, self.places)
        look = f"see '{ctx.command_path} --help'"
        raise UsageError(f"no such command {shown(word)}", help=f"{near} {look}" if near else look)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = self.places.get(cmd_name)
        if place is None:
            return None
        module_name, _, attribute = place.partition(":")
        module = import_module(f"rotifer_bridge._cli.{module_name}")
        found = getattr(module, attribute.removesuffix("()"))
        command: click.Command = found() if attribute.endswith("()") else found
        return command


def _group(name: str, places: dict[str, str], text: str) -> _Lazy:
    return _Lazy(places, name=name, help=text)


agent_memory = _group(
    "memory", _AGENT_MEMORY, "Look at what an agent remembers, check, move and clear it."
)
agent = _group("agent", _AGENT, "Create, run, change and delete agents.")
memory = _group("memory", _MEMORY, "Where the memories of agents are kept.")
node = _group("node", _NODE, "The Node that runs the genes.")
token = _group("token", _TOKEN, "Make, list and revoke the tokens of the HTTP service.")


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"rotifer {version('rotifer-bridge')}")
    except PackageNotFoundError:
        click.echo("rotifer (not installed: run from its sources)")
    ctx.exit()


root = _Lazy(
    _ROOT,
    name="rotifer",
    help="Run Rotifer agents: TypeScript genes in Node, with a memory hosted in Python.",
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and exit.",
        )
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def invoke(argv: list[str]) -> int:
    """Run the command in ``argv`` and give its exit code.

    Raises:
        UsageError: click cannot make sense of the arguments.
        BrokenPipeError: whoever read stdout has closed it.
        KeyboardInterrupt: the person wants out.
    """
    try:
        code = root.main(argv, prog_name="rotifer", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        # A group without a command: its help is the message, and it is no success.
        click.echo(error.format_message(), err=True)
        return 1
    except click.UsageError as error:
        raise UsageError(_message(error), help=_help(error, argv)) from None
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    except click.Abort as error:
        word = error.__cause__  # click raises this in the place of an interrupt
        raise (word if isinstance(word, KeyboardInterrupt) else KeyboardInterrupt()) from None
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit:
        raise BrokenPipeError from None  # click's own way with a closed stdout
    return code if isinstance(code, int) else 0


def _message(error: click.UsageError) -> str:
    message = error.format_message().strip().rstrip(".")
    return message[:1].lower() + message[1:]


def _help(error: click.UsageError, argv: list[str]) -> str:
    path = error.ctx.command_path if error.ctx else _command_path(argv)
    return f"see '{path} --help'"


def _command_path(argv: list[str]) -> str:
    """The words that call the command; click does not say whose option lacks a value."""
    path, command = ["rotifer"], root
    for word in argv:
        found = command.get_command(click.Context(command), word)
        if found is None:
            break
        path.append(word)
        if not isinstance(found, _Lazy):
            break
        command = found
    return " ".join(path)
