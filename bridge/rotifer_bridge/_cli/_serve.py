"""``rotifer serve``: the HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rotifer_bridge._cli._file_name import FILE_NAME
from rotifer_bridge._cli._output import flush, note, say, warn
from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from rotifer_bridge._project import Project

__all__ = ["command"]


def _serve(*, host: str, port: int, token_file: str | None, verbose: bool) -> int:
    from rotifer_bridge._cli._token import opened_tokens
    from rotifer_bridge._project import Project

    project = Project.find()
    tokens = opened_tokens(project, token_file)
    if not tokens.tokens():
        warn(
            f"there are no tokens in {tokens.path}, so nobody is let in; "
            "make one: rotifer token create --help"
        )
    try:
        from rotifer_bridge._service_app import make_app
        from rotifer_bridge._service_server import address_of, is_loopback, open_socket, serve
    except ImportError as error:
        raise UsageError(
            f"'rotifer serve' needs the package {(error.name or '').partition('.')[0]}, which is "
            "not installed",
            help="pip install 'rotifer-bridge[server]'",
        ) from None
    from rotifer_bridge._service_log import Log
    from rotifer_bridge._service_protocol import Limits
    from rotifer_bridge._service_state import State

    listener = open_socket(host, port)
    loopback = is_loopback(listener)
    address = address_of(listener)
    if not loopback:
        warn(
            f"{address} is not the loopback: anyone who can reach it can try tokens, and plain "
            "HTTP shows tokens and memory to everyone on the way; put TLS in front of it"
        )
    _sense(project)
    log = Log(note, requests=verbose)
    state = State(project, tokens)
    app = make_app(state, log, loopback=loopback)

    def started() -> None:
        say(f"listening on {address}")
        flush()

    return serve(app, state, listener, log, limits=Limits(), on_started=started)


def _sense(project: Project) -> None:
    """Make the layer ``environment`` what the host is now."""
    from rotifer_engine import AgentMemoryError

    try:
        project.refresh_environment()
    except AgentMemoryError as error:  # its calls will say so too; others may do
        warn(f"the layer environment is as it was: {error.message}")


command = click.Command(
    "serve",
    callback=_serve,
    help=(
        "Offer the project's agents, their memory and the layers over HTTP.\n\n"
        "Once it accepts connections it prints 'listening on http://HOST:PORT', the one line on "
        "stdout; its log is on stderr. SIGTERM or Ctrl-C ends it within 5 seconds. Needs "
        "pip install 'rotifer-bridge[server]'."
    ),
    short_help="Offer agents, memory and layers over HTTP.",
    params=[
        click.Option(
            ["--host"],
            default="127.0.0.1",
            show_default=True,
            help="Where to listen. Any other than the loopback is open to other machines.",
        ),
        click.Option(
            ["--port"],
            type=click.IntRange(0, 65_535),
            default=0,
            show_default=True,
            help="The port; 0 takes one that is free.",
        ),
        click.Option(
            ["--token-file"],
            type=FILE_NAME,
            metavar="FILE",
            help="The tokens file to use.  [default: the project's .rotifer/tokens.json]",
        ),
        click.Option(["--verbose"], is_flag=True, help="Log a line for each request."),
    ],
)
