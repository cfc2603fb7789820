"""Node's debugger on one gene: ``--inspect-brk`` (docs/genes.md, "Debugging").

The process waits until a debugger has come, and stops at the gene's first line. Node's inspector
listens on this machine only; whoever reaches it can do what the gene can, so it is asked for by
name, for one run.
"""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING, NamedTuple

from rotifer_bridge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rotifer_bridge._node import Node
    from rotifer_bridge._transform import ReadyFile

__all__ = ["DEFAULT_PORT", "Inspection", "parse_port"]

DEFAULT_PORT = 9229
"""Where editors and browsers look for a Node to debug."""

_HOST = "127.0.0.1"
_PROLOGUE = re.compile(rb"""\A(?:#![^\n]*\n)?(?:\s*(?:'use strict'|"use strict");?)?""")


class Inspection(NamedTuple):
    """Which gene is debugged, and where.

    Args:
        gene: its name.
        port: the TCP port that the debugger comes to.
    """

    gene: str
    port: int = DEFAULT_PORT

    def refuse_compiled(self, *, compiled: bool, source: bool) -> None:
        """Raise UsageError for a gene that runs as WASM; ``source``: Node could run it instead."""
        if compiled:
            raise UsageError(
                f"gene '{self.gene}' is compiled; Node's debugger needs its source",
                help="add --no-sandbox to run the source under Node"
                if source
                else "it is WASM alone: what it logs is shown, and 'rotifer test --verbose' helps",
            )

    def flags(self, node: Node) -> tuple[str, ...]:
        """What Node is told, to wait for the debugger.

        Args:
            node: the Node that will run the gene.

        Raises:
            UsageError: the port is taken: Node would go on without a debugger.
        """
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Node does
            try:
                probe.bind((_HOST, self.port))
            except OSError as error:
                raise UsageError(
                    f"no debugger can come to port {self.port}: {error.strerror}",
                    help="end what listens there, or choose another with --inspect-port PORT",
                ) from None
        # Newer permission models shut the inspector out, silently; older do not know the flag.
        allowing = ("--allow-inspector",) if _knows(node.path, "--allow-inspector") else ()
        return (*allowing, f"--inspect-wait={_HOST}:{self.port}")

    def stopping(self, files: Sequence[ReadyFile], entry: str) -> list[ReadyFile]:
        """The gene's files, so that a debugger stops where the gene begins.

        Args:
            files: the files, ready to run.
            entry: the URL of the one that is imported.
        """
        return [
            file._replace(source=_stop(file.source))
            if file.url == entry and file.format in {"module", "commonjs"}
            else file
            for file in files
        ]


def parse_port(text: str) -> int:
    """The port of ``--inspect-port``.

    Raises:
        UsageError: it is none.
    """
    if text.isascii() and text.isdigit() and 1024 <= int(text[:9]) <= 65_535:
        return int(text)
    raise UsageError(f"--inspect-port is {text!r}; it takes a port from 1024 to 65535")


def _stop(source: bytes) -> bytes:
    """On the first line, so that every line keeps its number; behind a 'use strict'."""
    found = _PROLOGUE.match(source)
    end = 0 if found is None else found.end()
    return source[:end] + b";debugger;" + source[end:]


def _knows(node: str, flag: str) -> bool:
    from subprocess import DEVNULL, SubprocessError, run

    try:
        asked = run(  # noqa: S603 - the very Node that is to run the gene
            [node, flag, "--version"],
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            env={"PATH": os.defpath},
            timeout=10,
            check=False,
        )
    except (OSError, SubprocessError):
        return False
    return asked.returncode == 0
